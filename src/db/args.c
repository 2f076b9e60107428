/* Parameters in binary format. All bytes lie in one buffer, so pointers to them are only made when
 * libpq wants them. */
#include "db/args.h"

#include <endian.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/mem.h"

#define MAX_ARGS 32

struct db_args {
    struct buf bytes;
    int count;
    unsigned types[MAX_ARGS];
    size_t starts[MAX_ARGS];
    int lengths[MAX_ARGS]; /* -1: null */
    int formats[MAX_ARGS]; /* always 1, binary */
    const char *values[MAX_ARGS];
    enum db_type element; /* of the array that is being built */
    int elements;
    bool has_null;
};

struct db_args *db_args_new(void)
{
    struct db_args *args = mem_alloc(sizeof(*args));

    buf_init(&args->bytes, BUF_NO_CAP);
    for (size_t i = 0; i < MAX_ARGS; i++)
        args->formats[i] = 1;
    return args;
}

void db_args_free(struct db_args *args)
{
    if (!args)
        return;
    buf_release(&args->bytes);
    free(args);
}

void db_args_clear(struct db_args *args)
{
    buf_clear(&args->bytes);
    args->count = 0;
}

static void begin(struct db_args *args, unsigned type)
{
    if (args->count >= MAX_ARGS)
        abort();
    args->types[args->count] = type;
    args->starts[args->count] = args->bytes.len;
    args->lengths[args->count] = 0;
}

static void end(struct db_args *args)
{
    args->lengths[args->count] = (int)(args->bytes.len - args->starts[args->count]);
    args->count++;
}

static void put16(struct db_args *args, uint16_t value)
{
    uint16_t wire = htobe16(value);

    buf_put(&args->bytes, &wire, sizeof(wire));
}

static void put32(struct db_args *args, uint32_t value)
{
    uint32_t wire = htobe32(value);

    buf_put(&args->bytes, &wire, sizeof(wire));
}

static void put64(struct db_args *args, uint64_t value)
{
    uint64_t wire = htobe64(value);

    buf_put(&args->bytes, &wire, sizeof(wire));
}

static void put_float(struct db_args *args, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put64(args, bits);
}

void db_args_null(struct db_args *args, enum db_type type)
{
    begin(args, type);
    args->lengths[args->count++] = -1;
}

static void bytes_argument(struct db_args *args, enum db_type type, struct str value)
{
    if (!value.ptr) {
        db_args_null(args, type);
        return;
    }
    begin(args, type);
    buf_put_str(&args->bytes, value);
    end(args);
}

void db_args_text(struct db_args *args, struct str value)
{
    bytes_argument(args, DB_TEXT, value);
}

void db_args_bytea(struct db_args *args, struct str value)
{
    bytes_argument(args, DB_BYTEA, value);
}

void db_args_int8(struct db_args *args, int64_t value)
{
    begin(args, DB_INT8);
    put64(args, (uint64_t)value);
    end(args);
}

void db_args_int4(struct db_args *args, int32_t value)
{
    begin(args, DB_INT4);
    put32(args, (uint32_t)value);
    end(args);
}

void db_args_float8(struct db_args *args, double value)
{
    begin(args, DB_FLOAT8);
    put_float(args, value);
    end(args);
}

void db_args_bool(struct db_args *args, bool value)
{
    begin(args, DB_BOOL);
    buf_put_char(&args->bytes, value ? 1 : 0);
    end(args);
}

void db_args_time(struct db_args *args, int64_t us_since_2000)
{
    begin(args, DB_TIMESTAMPTZ);
    put64(args, (uint64_t)us_since_2000);
    end(args);
}

/* The OID of the array type, from pg_type.dat. */
static unsigned array_type(enum db_type element)
{
    switch (element) {
    case DB_BOOL:
        return 1000;
    case DB_BYTEA:
        return 1001;
    case DB_INT8:
        return 1016;
    case DB_INT2:
        return 1005;
    case DB_INT4:
        return 1007;
    case DB_TEXT:
        return 1009;
    case DB_FLOAT8:
        return 1022;
    case DB_TIMESTAMPTZ:
        return 1185;
    }
    abort();
}

void db_args_null_array(struct db_args *args, enum db_type element)
{
    begin(args, array_type(element));
    args->lengths[args->count++] = -1;
}

/* array_recv in PostgreSQL's source: dimensions, "has nulls", element type, then length and lower
 * bound of each dimension. */
void db_args_array_begin(struct db_args *args, enum db_type element)
{
    begin(args, array_type(element));
    args->element = element;
    args->elements = 0;
    args->has_null = false;
    put32(args, 1);
    put32(args, 0);
    put32(args, element);
    put32(args, 0);
    put32(args, 1);
}

void db_args_array_end(struct db_args *args)
{
    char *header = args->bytes.data + args->starts[args->count];
    uint32_t has_null = htobe32(args->has_null), elements = htobe32((uint32_t)args->elements);

    memcpy(header + 4, &has_null, 4);
    memcpy(header + 12, &elements, 4);
    end(args);
}

static void element(struct db_args *args, enum db_type type, uint32_t len)
{
    if (args->element != type)
        abort();
    args->elements++;
    put32(args, len);
}

void db_args_element(struct db_args *args, struct str value)
{
    if (args->element != DB_TEXT && args->element != DB_BYTEA)
        abort();
    args->elements++;
    if (!value.ptr) {
        args->has_null = true;
        put32(args, UINT32_MAX);
        return;
    }
    put32(args, (uint32_t)value.len);
    buf_put_str(&args->bytes, value);
}

void db_args_element_int8(struct db_args *args, int64_t value)
{
    element(args, DB_INT8, 8);
    put64(args, (uint64_t)value);
}

void db_args_element_int4(struct db_args *args, int32_t value)
{
    element(args, DB_INT4, 4);
    put32(args, (uint32_t)value);
}

void db_args_element_int2(struct db_args *args, int16_t value)
{
    element(args, DB_INT2, 2);
    put16(args, (uint16_t)value);
}

void db_args_element_float8(struct db_args *args, double value)
{
    element(args, DB_FLOAT8, 8);
    put_float(args, value);
}

void db_args_element_bool(struct db_args *args, bool value)
{
    element(args, DB_BOOL, 1);
    buf_put_char(&args->bytes, value ? 1 : 0);
}

void db_args_element_time(struct db_args *args, int64_t us_since_2000)
{
    element(args, DB_TIMESTAMPTZ, 8);
    put64(args, (uint64_t)us_since_2000);
}

void db_args_element_null(struct db_args *args)
{
    args->elements++;
    args->has_null = true;
    put32(args, UINT32_MAX);
}

struct db_args_view db_args_view(struct db_args *args)
{
    for (int i = 0; i < args->count; i++)
        args->values[i] = args->lengths[i] < 0 ? NULL : buf_str(&args->bytes).ptr + args->starts[i];
    return (struct db_args_view){args->count, args->types, args->values, args->lengths,
                                 args->formats};
}

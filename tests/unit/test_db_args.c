/* Parameters have PostgreSQL's binary layout; SQLSTATEs have the meaning that callers act on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "db/args.h"
#include "db/sqlstate.h"

static void test_array_layout(void **state)
{
    static const unsigned char expected[] = {0, 0,  0, 1, 0,   0,   0,    1,    0,    0,
                                             0, 25, 0, 0, 0,   2,   0,    0,    0,    1,
                                             0, 0,  0, 2, 'h', 'i', 0xff, 0xff, 0xff, 0xff};
    struct db_args *args = db_args_new();
    struct db_args_view view;

    (void)state;
    db_args_int8(args, -2);
    db_args_array_begin(args, DB_TEXT);
    db_args_element(args, STR("hi"));
    db_args_element(args, STR_NONE);
    db_args_array_end(args);
    db_args_text(args, STR_NONE);
    view = db_args_view(args);
    assert_int_equal(view.count, 3);
    assert_int_equal(view.types[0], 20);
    assert_memory_equal(view.values[0], "\xff\xff\xff\xff\xff\xff\xff\xfe", 8);
    assert_int_equal(view.types[1], 1009);
    assert_int_equal(view.lengths[1], sizeof(expected));
    assert_memory_equal(view.values[1], expected, sizeof(expected));
    assert_null(view.values[2]);
    db_args_clear(args);
    assert_int_equal(db_args_view(args).count, 0);
    db_args_free(args);
}

static void test_faults(void **state)
{
    static const struct {
        const char *sqlstate, *message;
        enum db_fault fault;
        enum err_kind kind;
    } cases[] = {
        {"", "", DB_FAULT_LOST, ERR_AGAIN},
        {"25006", "cannot execute INSERT in a read-only transaction", DB_FAULT_UNAVAILABLE,
         ERR_AGAIN},
        {"53300", "too many clients", DB_FAULT_UNAVAILABLE, ERR_AGAIN},
        {"57P03", "starting up", DB_FAULT_UNAVAILABLE, ERR_AGAIN},
        {"57014", "statement timeout", DB_FAULT_CANCELED, ERR_AGAIN},
        {"55P03", "lock timeout", DB_FAULT_LOCKED, ERR_AGAIN},
        {"40P01", "deadlock detected", DB_FAULT_CONFLICT, ERR_AGAIN},
        {"XX000", "cache lookup failed for function 16865", DB_FAULT_STALE_PLAN, ERR_AGAIN},
        {"XX000", "tuple concurrently updated", DB_FAULT_OTHER, ERR_NEVER},
        {"0A000", "cached plan must not change result type", DB_FAULT_STALE_PLAN, ERR_AGAIN},
        {"0A000", "something else is not supported", DB_FAULT_OTHER, ERR_NEVER},
        {"23514", "no partition of relation \"event_store\" found for row", DB_FAULT_NO_PARTITION,
         ERR_AGAIN},
        {"23514", "violates check constraint", DB_FAULT_DATA, ERR_INPUT},
        {"22P05", "unsupported Unicode escape sequence", DB_FAULT_DATA, ERR_INPUT},
        {"42883", "function does not exist", DB_FAULT_SCHEMA, ERR_NEVER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum db_fault fault = sqlstate_fault(cases[i].sqlstate, NULL, cases[i].message);

        assert_int_equal(fault, cases[i].fault);
        assert_int_equal(sqlstate_kind(fault), cases[i].kind);
    }
}

/* A server with another lc_messages. */
static void test_faults_are_told_apart_in_any_language(void **state)
{
    static const struct {
        const char *sqlstate, *source, *message;
        enum db_fault fault;
    } cases[] = {
        {"0A000", "RevalidateCachedQuery",
         "gecachter Plan darf den Ergebnistyp nicht \303\244ndern", DB_FAULT_STALE_PLAN},
        {"0A000", "transformStmt", "cached plan: so does a user say", DB_FAULT_OTHER},
        {"23514", "ExecFindPartition",
         "keine Partition von Relation \302\273event_store\302\253 f\303\274r die Zeile gefunden",
         DB_FAULT_NO_PARTITION},
        {"23514", "ExecConstraints", "neue Zeile verletzt Check-Constraint", DB_FAULT_DATA},
        {"23514", "exec_stmt_raise", "no partition of relation", DB_FAULT_DATA},
        {"XX000", "fmgr_info_cxt_security", "cache lookup failed for function 16865",
         DB_FAULT_STALE_PLAN},
        {"26000", "FetchPreparedStatement", "vorbereitete Anweisung existiert nicht",
         DB_FAULT_STALE_PLAN},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(sqlstate_fault(cases[i].sqlstate, cases[i].source, cases[i].message),
                         cases[i].fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_layout),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_faults_are_told_apart_in_any_language),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Batches: sorted by identity in bytes, copies folded into the first to arrive; rows aside: when
 * they are due and who joins them; and a writer that finds no database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "inbox/aside.h"
#include "inbox/batch.h"

static struct store_item item_of(const char *provider, const char *id)
{
    return (struct store_item){
        .event = {.provider = str_from(provider), .id = str_from(id)},
    };
}

static void link_items(struct store_item *items, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        items[i].next = &items[i + 1];
}

static void rows_are_sorted_by_bytes(void **state)
{
    struct store_item items[] = {item_of("b", "1"), item_of("a", "z"),  item_of("a", "\xc3\xa4"),
                                 item_of("a", "Z"), item_of("a", "za"), item_of("a-b", "1"),
                                 item_of("a", "zz")};
    static const char *const expected[] = {"Z", "z", "za", "zz", "\xc3\xa4", "1", "1"};
    struct batch batch;

    (void)state;
    batch_init(&batch);
    link_items(items, ARRAY_LEN(items));
    batch_fill(&batch, items);
    assert_int_equal(batch.count, ARRAY_LEN(items));
    for (size_t i = 0; i < batch.count; i++) {
        assert_true(str_is(batch.rows[i].item->event.id, expected[i]));
        assert_null(batch.rows[i].repeats);
    }
    assert_true(str_is(batch.rows[5].item->event.provider, "a-b"));
    batch_release(&batch);
}

static void copies_are_folded_into_the_first_to_arrive(void **state)
{
    struct store_item items[] = {item_of("p", "x"), item_of("p", "a"), item_of("p", "x"),
                                 item_of("q", "x"), item_of("p", "x")};
    struct batch batch;
    size_t repeats = 0;

    (void)state;
    batch_init(&batch);
    link_items(items, ARRAY_LEN(items));
    batch_fill(&batch, items);
    assert_int_equal(batch.count, 3);
    assert_ptr_equal(batch.rows[0].item, &items[1]);
    assert_ptr_equal(batch.rows[1].item, &items[0]);
    assert_ptr_equal(batch.rows[2].item, &items[3]);
    for (struct store_item *item = batch.rows[1].repeats; item; item = item->next) {
        assert_true(item == &items[2] || item == &items[4]);
        repeats++;
    }
    assert_int_equal(repeats, 2);
    assert_null(batch.rows[2].repeats);
    batch_release(&batch);
}

static void what_was_taken_comes_back_in_its_order(void **state)
{
    struct store_item items[] = {item_of("p", "x"), item_of("p", "a"), item_of("p", "x"),
                                 item_of("q", "x"), item_of("p", "x"), item_of("a", "x")};
    struct batch batch;
    size_t count = 0;

    (void)state;
    batch_init(&batch);
    link_items(items, ARRAY_LEN(items));
    batch_fill(&batch, items);
    for (struct store_item *item = batch_take(&batch); item; item = item->next)
        assert_ptr_equal(item, &items[count++]);
    assert_int_equal(count, ARRAY_LEN(items));
    assert_int_equal(batch.count, 0);
    assert_null(batch_take(&batch));
    batch_release(&batch);
}

static void a_batch_is_filled_again(void **state)
{
    struct store_item many[200], one = item_of("p", "last");
    char ids[200][4];
    struct batch batch;

    (void)state;
    batch_init(&batch);
    for (size_t i = 0; i < 200; i++) {
        ids[i][0] = (char)('0' + (199 - i) / 100);
        ids[i][1] = (char)('0' + (199 - i) / 10 % 10);
        ids[i][2] = (char)('0' + (199 - i) % 10);
        ids[i][3] = '\0';
        many[i] = item_of("p", ids[i]);
    }
    link_items(many, 200);
    batch_fill(&batch, many);
    assert_int_equal(batch.count, 200);
    for (size_t i = 0; i < 200; i++)
        assert_ptr_equal(batch.rows[i].item, &many[199 - i]);
    batch.rows[0].item = batch.rows[7].item = batch.rows[199].item = NULL;
    batch_compact(&batch);
    assert_int_equal(batch.count, 197);
    assert_ptr_equal(batch.rows[0].item, &many[198]);
    assert_ptr_equal(batch.rows[6].item, &many[191]);
    assert_ptr_equal(batch.rows[196].item, &many[1]);
    batch_fill(&batch, &one);
    assert_int_equal(batch.count, 1);
    assert_ptr_equal(batch.rows[0].item, &one);
    batch_release(&batch);
}

static void rows_aside_come_back_when_they_are_due(void **state)
{
    struct aside *aside = aside_new();
    struct store_item a = item_of("p", "a"), b = item_of("p", "b"), copy = item_of("p", "a");
    struct batch_row row_a = {.item = &a}, row_b = {.item = &b}, row_copy = {.item = &copy}, out;
    int64_t since;

    (void)state;
    assert_int_equal(aside_next_us(aside), INT64_MAX);
    assert_false(aside_join(aside, &row_a));
    assert_true(aside_put(aside, &row_a, 1000000));
    assert_true(aside_put(aside, &row_b, 1500000));
    assert_true(aside_join(aside, &row_copy));
    assert_false(aside_take_due(aside, 1000000, &out, &since));
    assert_int_equal(aside_next_us(aside), 1020000);
    assert_true(aside_take_due(aside, 1020000, &out, &since));
    assert_ptr_equal(out.item, &a);
    assert_ptr_equal(out.repeats, &copy);
    assert_int_equal(since, 1000000);
    aside_put_back(aside, &out, since, 1100000); /* as long again as it waited */
    assert_int_equal(aside_next_us(aside), 1200000);
    assert_true(aside_take_due(aside, 1200000, &out, &since));
    aside_put_back(aside, &out, since, 9000000); /* at most 200 ms */
    assert_true(aside_take_due(aside, 1600000, &out, &since));
    assert_ptr_equal(out.item, &b);
    assert_int_equal(aside_next_us(aside), 9200000);
    assert_true(aside_take(aside, &out));
    assert_ptr_equal(out.item, &a);
    assert_false(aside_take(aside, &out));
    aside_free(aside);
}

static void rows_aside_are_bounded(void **state)
{
    struct aside *aside = aside_new();
    struct store_item item = item_of("p", "a");
    struct batch_row row = {.item = &item}, out;
    size_t taken = 0;

    (void)state;
    while (taken < 100000 && aside_put(aside, &row, 0))
        taken++;
    assert_in_range(taken, 100, 1000);
    assert_int_equal(aside_count(aside), taken);
    while (aside_take(aside, &out))
        taken--;
    assert_int_equal(taken, 0);
    aside_free(aside);
}

/* ---- a writer without a database ---- */

struct run {
    struct loop *loop;
    struct writer *writer;
    int answers, stored;
};

static void on_ended(void *argument)
{
    struct run *run = argument;

    loop_stop(run->loop);
}

static void on_done(struct store_item *item)
{
    struct run *run = item->owner;

    assert_int_equal(item->result, STORE_UNAVAILABLE);
    if (++run->answers == run->stored)
        writer_drain(run->writer, on_ended, run);
}

static void without_a_database_every_item_is_answered_once(void **state)
{
    struct run run = {.loop = loop_new()};
    struct store_item items[50];
    const struct writer_options options = {
        .conninfo = "host=/nonexistent dbname=none",
        .threads = 3,
        .queue_max = 40,
        .queue_max_bytes = 1 << 20,
        .ack_timeout_ms = 1000,
        .loop = run.loop,
    };
    static char ids[50][2];

    (void)state;
    run.writer = writer_new(&options);
    for (int i = 0; i < 50; i++) {
        ids[i][0] = (char)('0' + i);
        items[i] = item_of("p", ids[i]);
        items[i].owner = &run;
        items[i].done = on_done;
        /* Full, or a thread knows by now that there is no database. */
        run.stored += writer_put(run.writer, &items[i]);
    }
    assert_in_range(run.stored, 0, 40);
    if (run.stored == 0)
        writer_drain(run.writer, on_ended, &run);
    loop_run(run.loop);
    assert_int_equal(run.answers, run.stored);
    assert_false(writer_available(run.writer));
    assert_false(writer_put(run.writer, &items[0]));
    writer_free(run.writer);
    loop_free(run.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_by_bytes),
        cmocka_unit_test(copies_are_folded_into_the_first_to_arrive),
        cmocka_unit_test(what_was_taken_comes_back_in_its_order),
        cmocka_unit_test(a_batch_is_filled_again),
        cmocka_unit_test(rows_aside_come_back_when_they_are_due),
        cmocka_unit_test(rows_aside_are_bounded),
        cmocka_unit_test(without_a_database_every_item_is_answered_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The claim cursor: it goes on, it goes back to what it was told of, and nothing that was told
 * while a claim was under way is passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "work/feed.h"

static struct position at(int64_t run_at, int64_t id)
{
    return (struct position){run_at, id};
}

static void assert_cursor(const struct feed *feed, int64_t run_at, int64_t id)
{
    assert_int_equal(feed->cursor.run_at, run_at);
    assert_int_equal(feed->cursor.id, id);
}

static void test_claims_go_on_behind_their_last_row(void **state)
{
    struct feed feed;
    struct feed_claim a, b;

    (void)state;
    feed_init(&feed);
    assert_cursor(&feed, INT64_MIN, 0);
    feed_claim_begin(&feed, &a);
    feed_claim_begin(&feed, &b);
    feed_claim_end(&feed, &b, 4, at(200, 8));
    assert_cursor(&feed, 200, 8);
    feed_claim_end(&feed, &a, 4, at(100, 4));
    assert_cursor(&feed, 200, 8);
}

static void test_it_is_lowered_never_raised_by_a_notification(void **state)
{
    struct feed feed;
    struct feed_claim claim;

    (void)state;
    feed_init(&feed);
    feed_claim_begin(&feed, &claim);
    feed_claim_end(&feed, &claim, 4, at(100, 4));
    feed_lower(&feed, at(300, 0));
    assert_cursor(&feed, 100, 4);
    feed_lower(&feed, at(50, 0));
    assert_cursor(&feed, 50, 0);
    assert_true(feed.ready);
}

static void test_a_claim_under_way_does_not_pass_over_what_it_may_not_have_seen(void **state)
{
    struct feed feed;
    struct feed_claim early, late;

    (void)state;
    feed_init(&feed);
    feed_claim_begin(&feed, &early);
    feed_lower(&feed, at(50, 0)); /* committed after the claim's snapshot */
    feed_claim_end(&feed, &early, 4, at(100, 4));
    assert_cursor(&feed, 50, 0); /* not raised over it */

    feed_claim_begin(&feed, &early);
    feed_claim_end(&feed, &early, 4, at(100, 4));
    assert_cursor(&feed, 100, 4);

    feed_claim_begin(&feed, &early);
    feed_lower(&feed, at(60, 0));
    feed_claim_begin(&feed, &late); /* sees all of it */
    feed_claim_end(&feed, &late, 4, at(120, 9));
    assert_cursor(&feed, 120, 9);
    feed_claim_end(&feed, &early, 4, at(110, 5));
    assert_cursor(&feed, 120, 9);
}

static void test_a_short_claim_means_that_nothing_is_left_unless_something_came(void **state)
{
    struct feed feed;
    struct feed_claim claim;

    (void)state;
    feed_init(&feed);
    assert_false(feed_wants(&feed, 0));
    feed_lower(&feed, at(10, 0));
    assert_true(feed_wants(&feed, 0));
    feed_claim_begin(&feed, &claim);
    feed_claim_end(&feed, &claim, (size_t)claim.limit, at(20, 4));
    assert_true(feed.ready);
    feed_claim_begin(&feed, &claim);
    feed_lower(&feed, at(30, 0));
    feed_claim_end(&feed, &claim, 1, at(25, 5));
    assert_true(feed.ready);
    feed_claim_begin(&feed, &claim);
    feed_claim_end(&feed, &claim, 1, at(30, 6));
    assert_false(feed.ready);
    feed_claim_begin(&feed, &claim);
    feed.ready = true;
    feed_claim_failed(&feed, &claim);
    assert_true(feed.ready);
    assert_cursor(&feed, 30, 6);
}

static void test_a_retry_in_the_future_does_not_make_it_ready(void **state)
{
    struct feed feed;
    struct feed_claim claim;

    (void)state;
    feed_init(&feed);
    feed_claim_begin(&feed, &claim);
    feed_claim_end(&feed, &claim, 1, at(100, 1));
    feed_expect(&feed, at(500, 0));
    assert_false(feed.ready);
    assert_cursor(&feed, 100, 1);
    feed_expect(&feed, at(90, 0));
    assert_true(feed.ready);
    assert_cursor(&feed, 90, 0);
}

static void test_debts_hold_it_back(void **state)
{
    struct feed feed;

    (void)state;
    feed_init(&feed);
    feed.ready = true;
    assert_true(feed_wants(&feed, 0));
    feed.shut = 1;
    feed.shut_until = 1000;
    assert_false(feed_wants(&feed, 999));
    assert_true(feed_wants(&feed, 1000)); /* not for ever */
    feed.ready = false;
    assert_false(feed_wants(&feed, 1000));
    feed.alone_due = true;
    assert_true(feed_wants(&feed, 1000));
}

static void test_batches_aim_at_a_tenth_of_a_second(void **state)
{
    struct feed feed;
    struct feed_claim claim;

    (void)state;
    feed_init(&feed);
    for (int i = 0; i < 10; i++)
        feed_took(&feed, (size_t)feed.limit, 1000);
    assert_int_equal(feed.limit, CLAIM_MAX);
    assert_int_equal(feed.fitting, CLAIM_MAX * CLAIM_MAX);
    feed_took(&feed, 50, 10000);
    assert_int_equal(feed.limit, CLAIM_MAX);
    assert_int_equal(feed.fitting, 500);
    feed_took(&feed, 50, 5000000);
    assert_int_equal(feed.limit, 1);
    assert_int_equal(feed.fitting, 1);
    feed_took(&feed, 1, 10000);
    assert_int_equal(feed.limit, 2);
    feed_took(&feed, 2, 20000);
    assert_int_equal(feed.limit, 4);
    feed_took(&feed, 4, 100000);
    assert_int_equal(feed.limit, 4);
    feed_took(&feed, 0, 100000);
    feed_careful(&feed, 4);
    feed_claim_begin(&feed, &claim);
    assert_int_equal(claim.limit, 1);
    feed_claim_failed(&feed, &claim);
    for (int i = 0; i < 4 + CLAIM_MAX; i++)
        feed_took(&feed, 1, 1000);
    feed_claim_begin(&feed, &claim);
    assert_true(claim.limit > 1);
    feed_claim_failed(&feed, &claim);
}

/* Against a model: rows appear by commits that are told of, claims see what was committed when they
 * began, and nothing may stay behind for good. */
static void test_random_interleavings_lose_nothing(void **state)
{
    enum { ROWS = 400, CLAIMERS = 3 };
    static int64_t seen_at[ROWS]; /* step of the commit; INT64_MAX: not yet */
    static int owner[ROWS];       /* 0: free, -1: done */
    struct feed_claim claims[CLAIMERS];
    int64_t began[CLAIMERS] = {0};
    struct feed feed;
    uint64_t x = 2463534242u;
    int committed = 0, done = 0;

    (void)state;
    feed_init(&feed);
    for (int i = 0; i < ROWS; i++) {
        seen_at[i] = INT64_MAX;
        owner[i] = 0;
    }
    for (int64_t step = 1; done < ROWS; step++) {
        int who;

        assert_true(step < 1000000);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        who = (int)(x % (CLAIMERS + 1));
        if (who == CLAIMERS) {
            /* A commit whose rows' time lies a little before the newest. */
            int row = (int)((x >> 8) % 8) + committed - 4;

            while (row < 0 || (row < ROWS && seen_at[row] != INT64_MAX))
                row++;
            if (row >= ROWS)
                for (row = 0; row < ROWS && seen_at[row] != INT64_MAX;)
                    row++;
            if (row < ROWS) {
                seen_at[row] = step;
                committed++;
                feed_lower(&feed, at(row, 0));
            }
        } else if (began[who] == 0) {
            if (feed_wants(&feed, 0)) {
                feed_claim_begin(&feed, &claims[who]);
                began[who] = step;
            }
        } else {
            size_t n = 0;
            struct position last = POSITION_START;

            for (int row = 0; row < ROWS && n < (size_t)claims[who].limit; row++) {
                if (position_compare(at(row, row + 1), claims[who].after) <= 0 ||
                    seen_at[row] > began[who] || owner[row] != 0)
                    continue;
                owner[row] = -1;
                last = at(row, row + 1);
                n++;
                done++;
            }
            feed_claim_end(&feed, &claims[who], n, last);
            began[who] = 0;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_go_on_behind_their_last_row),
        cmocka_unit_test(test_it_is_lowered_never_raised_by_a_notification),
        cmocka_unit_test(test_a_claim_under_way_does_not_pass_over_what_it_may_not_have_seen),
        cmocka_unit_test(test_a_short_claim_means_that_nothing_is_left_unless_something_came),
        cmocka_unit_test(test_a_retry_in_the_future_does_not_make_it_ready),
        cmocka_unit_test(test_debts_hold_it_back),
        cmocka_unit_test(test_batches_aim_at_a_tenth_of_a_second),
        cmocka_unit_test(test_random_interleavings_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Cursors and batch sizes. Invariant: whatever is committed, claimable and behind no claim under
 * way lies above the cursor, or a look-up will find it (pool.c). */
#include "work/feed.h"

#define AIM_US (100 * 1000)
#define FITTING_MAX (CLAIM_MAX * CLAIM_MAX)

void feed_init(struct feed *feed)
{
    *feed = (struct feed){
        .cursor = POSITION_START, .limit = FEED_BATCH_FIRST, .fitting = FEED_BATCH_FIRST};
}

bool feed_wants(const struct feed *feed, int64_t now_us)
{
    if (feed->shut > 0 && now_us < feed->shut_until)
        return false;
    return feed->ready || feed->alone_due;
}

static struct position lower_of(struct position a, struct position b)
{
    return position_compare(a, b) < 0 ? a : b;
}

static void lower(struct feed *feed, struct position position)
{
    feed->cursor = lower_of(feed->cursor, position);
    for (struct feed_claim *claim = feed->claims; claim; claim = claim->next)
        claim->floor = lower_of(claim->floor, position);
}

void feed_expect(struct feed *feed, struct position position)
{
    if (position_compare(position, feed->cursor) < 0)
        feed_lower(feed, position);
    else
        lower(feed, position);
}

void feed_lower(struct feed *feed, struct position position)
{
    lower(feed, position);
    feed->ready = true;
    feed->news++;
}

void feed_claim_begin(struct feed *feed, struct feed_claim *claim)
{
    *claim = (struct feed_claim){.after = feed->cursor,
                                 .limit = feed->careful > 0 ? 1 : feed->limit,
                                 .fitting = feed->careful > 0 ? 1 : feed->fitting,
                                 .floor = {INT64_MAX, INT64_MAX},
                                 .news = feed->news,
                                 .next = feed->claims};
    feed->claims = claim;
}

void feed_claim_end(struct feed *feed, struct feed_claim *claim, size_t count, struct position last)
{
    struct feed_claim **link = &feed->claims;
    struct position reached = lower_of(last, claim->floor);

    while (*link != claim)
        link = &(*link)->next;
    *link = claim->next;
    if (count > 0 && position_compare(reached, feed->cursor) > 0)
        feed->cursor = reached;
    if (count < (size_t)claim->limit && feed->news == claim->news)
        feed->ready = false;
}

void feed_claim_failed(struct feed *feed, struct feed_claim *claim)
{
    feed_claim_end(feed, claim, (size_t)claim->limit, claim->after);
}

static int between(int64_t n, int64_t least, int64_t most)
{
    return (int)(n < least ? least : n > most ? most : n);
}

void feed_took(struct feed *feed, size_t count, int64_t took_us)
{
    int64_t each = count > 0 ? took_us / (int64_t)count : 0;
    int64_t fitting = each > 0 ? AIM_US / each : FITTING_MAX;
    int64_t most = 2 * (int64_t)feed->limit;

    if (feed->careful > 0) {
        feed->careful -= (int)count < feed->careful ? (int)count : feed->careful;
        return;
    }
    feed->fitting = between(fitting, 1, FITTING_MAX);
    if (most > CLAIM_MAX)
        most = CLAIM_MAX;
    feed->limit = between(fitting, 1, most);
}

void feed_careful(struct feed *feed, size_t count)
{
    feed->careful = (int)count + CLAIM_MAX;
}

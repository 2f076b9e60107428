/* Values of settings: from what was written to what it means, and back for people. The error says
 * what is wrong with the text and what would be right, without the key's name: `"many" is not a
 * count; write a number from 0 to 256`. Pure functions, any thread. */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "config/keys.h"

/* KEY_COUNT, KEY_SIZE and KEY_DURATION; in bytes or milliseconds, within the key's range. */
int value_number(const struct key *key, struct str text, int64_t *value,
                 struct err *err) MUST_CHECK;

/* KEY_WORD. */
int value_word(const struct key *key, struct str text, int *value, struct err *err) MUST_CHECK;

/* KEY_BACKOFF: "exponential BASE CAP", or durations separated by commas. */
int value_backoff(const struct key *key, struct str text, struct backoff *backoff,
                  struct err *err) MUST_CHECK;

/* KEY_BOUNDS: "ROWS BYTES [PER-MINUTE]". */
int value_bounds(struct str text, struct quarantine_bounds *bounds, struct err *err) MUST_CHECK;

/* KEY_TOLERANCE: a duration for both ways, or "past DURATION future DURATION". */
int value_tolerance(const struct key *key, struct str text, struct tolerance *tolerance,
                    struct err *err) MUST_CHECK;

#define VALUE_TEXT_SIZE 32

/* A number as one would write it: "1M", "5s", "12". */
void value_format(enum key_type type, int64_t value, char text[static VALUE_TEXT_SIZE]);

#define VALUE_SHOWN_SIZE 96

/* The text in quotes, cut where it is long, for messages. */
void value_show(struct str text, char shown[static VALUE_SHOWN_SIZE]);

/* Whether a list of handshakes, as written, has one that hands the provider's secret over:
 * token-capture, or header-echo without a name for the answer. */
bool value_captures(struct str handshakes);

#endif

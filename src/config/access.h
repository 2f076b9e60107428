/* Values of the settings that say who may send and how often. Errors as in config/value.h. Pure
 * functions, any thread. */
#ifndef CONFIG_ACCESS_H
#define CONFIG_ACCESS_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "config/keys.h"

/* KEY_NETWORKS: addresses and networks separated by commas, and the word "unix" where the key takes
 * it. The list is copied into `arena`. */
int value_networks(const struct key *key, struct str text, struct arena *arena,
                   struct network_list *networks, struct err *err) MUST_CHECK;

/* KEY_RATE: COUNT/UNIT, the unit one of s, min and h. */
int value_rate(struct str text, struct rate *rate, struct err *err) MUST_CHECK;

#endif

/* Values of `listen`: an address, and words that say how its socket is made. Errors as in
 * config/value.h. */
#ifndef CONFIG_LISTEN_H
#define CONFIG_LISTEN_H

#include "base/err.h"
#include "base/mem.h"
#include "config/config.h"

/* KEY_ADDRESS: ADDRESS [proxy-protocol] [mode OCTAL] [owner NAME] [group NAME]; the last three are
 * for Unix sockets. The texts are copied into `arena`. Looks the names up in the system's database
 * of users and groups: one thread at a time. */
int value_address(struct str text, struct arena *arena, struct listen_address *address,
                  struct err *err) MUST_CHECK;

#endif

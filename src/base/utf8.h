/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure
 * functions, any thread. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

/* Bytes of the well-formed sequence at the start of s; 0 where there is none (or s is empty). */
size_t utf8_sequence(struct str s);

/* Whether all of s is well-formed. */
bool utf8_valid(struct str s);

/* The longest prefix of s that has at most `max` bytes and ends at a character boundary. */
struct str utf8_cut(struct str s, size_t max);

#endif

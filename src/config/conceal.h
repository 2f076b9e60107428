/* Messages without what may be a secret. A secret pasted into the wrong line is part of the mistake
 * that the line is, and mistakes are logged. Pure, any thread. */
#ifndef CONFIG_CONCEAL_H
#define CONFIG_CONCEAL_H

/* Replaces, in place, whatever looks like key material by "...": what follows a known beginning of
 * keys (whsec_, text:), and long runs that mix digits with letters as base64 and hexadecimal do,
 * and credentials in a URL. Paths and ordinary words stay. */
void conceal(char *text);

#endif

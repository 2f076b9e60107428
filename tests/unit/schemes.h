/* Schemes for the tests of verification: made from a spec, with all that is said about it. */
#ifndef TESTS_SCHEMES_H
#define TESTS_SCHEMES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/mem.h"
#include "verify/verify.h"

/* Configuration's name of a field. */
UNUSED static const char *scheme_field(enum verify_field field)
{
    static const char *const names[] = {
        [VERIFY_ALGORITHM] = "verify",
        [VERIFY_SIGNATURE] = "signature",
        [VERIFY_TIMESTAMP] = "timestamp",
        [VERIFY_SIGNED] = "signed",
        [VERIFY_SECRET] = "secret",
        [VERIFY_SECRET_ENCODING] = "secret_encoding",
        [VERIFY_PUBLIC_URL] = "public_url",
        [VERIFY_VARS] = "vars",
        [VERIFY_BODY_UNAUTHENTICATED] = "body_unauthenticated",
        [VERIFY_ALGORITHMS] = "algorithms",
        [VERIFY_CLAIMS] = "claims",
    };

    return names[field];
}

UNUSED static void scheme_note(void *argument, enum verify_field field, size_t index,
                               const char *text)
{
    if (index)
        buf_printf(argument, "%s %zu: %s\n", scheme_field(field), index, text);
    else
        buf_printf(argument, "%s: %s\n", scheme_field(field), text);
}

/* Everything that is said about a spec, a line each; "" where it is right. */
UNUSED static void assert_said(const struct verify_spec *spec, const char *want)
{
    struct buf said;
    struct verify_scheme *scheme;

    buf_init(&said, BUF_NO_CAP);
    scheme = verify_scheme_new(spec, scheme_note, &said);
    buf_put_char(&said, '\0');
    assert_string_equal(said.data, want);
    assert_int_equal(scheme == NULL, want[0] != '\0');
    verify_scheme_free(scheme);
    buf_release(&said);
}

/* A scheme that has to be right. */
UNUSED static struct verify_scheme *scheme_new(const struct verify_spec *spec)
{
    struct buf said;
    struct verify_scheme *scheme;

    buf_init(&said, BUF_NO_CAP);
    scheme = verify_scheme_new(spec, scheme_note, &said);
    if (!scheme)
        fail_msg("%.*s", STR_ARG(buf_str(&said)));
    buf_release(&said);
    return scheme;
}

#endif

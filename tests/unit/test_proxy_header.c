/* The header of the PROXY protocol: both versions as their specification has them, in parts, and
 * what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "base/attr.h"
#include "http/proxy_header.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"

/* "ADDRESS PORT +REST", "nobody +REST", "part" or "bad"; REST is how many bytes follow. */
static const char *seen(const char *bytes, size_t len)
{
    static char text[96];
    struct proxied proxied;
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in *in = (const void *)&proxied.address;
    const struct sockaddr_in6 *in6 = (const void *)&proxied.address;

    switch (proxy_header_read((struct str){bytes, len}, &proxied)) {
    case PROXY_HEADER_BAD:
        return "bad";
    case PROXY_HEADER_PART:
        return "part";
    case PROXY_HEADER_WHOLE:
        break;
    }
    if (!proxied.known)
        snprintf(text, sizeof(text), "nobody +%zu", len - proxied.len);
    else if (proxied.address.ss_family == AF_INET)
        snprintf(text, sizeof(text), "%s %d +%zu",
                 inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host)), ntohs(in->sin_port),
                 len - proxied.len);
    else
        snprintf(text, sizeof(text), "%s %d +%zu",
                 inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host)), ntohs(in6->sin6_port),
                 len - proxied.len);
    return text;
}

static void check(const char *bytes, size_t len, const char *expected)
{
    assert_string_equal(seen(bytes, len), expected);
}

#define CHECK(literal, expected) check("" literal, sizeof(literal) - 1, expected)

static void test_version_1(void **state)
{
    (void)state;
    CHECK("PROXY TCP4 192.0.2.1 198.51.100.1 5000 443\r\nPOST /", "192.0.2.1 5000 +6");
    CHECK("PROXY TCP6 2001:db8::1 2001:db8::2 5000 443\r\n", "2001:db8::1 5000 +0");
    CHECK("PROXY UNKNOWN\r\n", "nobody +0");
    CHECK("PROXY UNKNOWN ffff:f...f ffff:f...f 65535 65535\r\nx", "nobody +1");
}

static void test_version_1_that_is_none(void **state)
{
    static const char *const lines[] = {
        "PROXY TCP4 192.0.2.1 198.51.100.1 5000\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 5000 443 1\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 5000 65536\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 05000 443\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 -1 443\r\n",
        "PROXY TCP4  192.0.2.1 198.51.100.1 5000 443\r\n",
        "PROXY TCP4 2001:db8::1 198.51.100.1 5000 443\r\n",
        "PROXY TCP6 192.0.2.1 198.51.100.1 5000 443\r\n",
        "PROXY TCP4 unknown 198.51.100.1 5000 443\r\n",
        "PROXY UDP4 192.0.2.1 198.51.100.1 5000 443\r\n",
        "PROXY UNKNOWNS\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 5000 443\n",
        "PROXY \n",
        "PROXY \r\n",
        "POST /webhooks/n HTTP/1.1\r\n",
        "proxy TCP4 192.0.2.1 198.51.100.1 5000 443\r\n",
    };
    char endless[200] = "PROXY UNKNOWN ";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        check(lines[i], strlen(lines[i]), "bad");
    memset(endless + 14, 'x', sizeof(endless) - 14);
    check(endless, 106, "part");
    check(endless, sizeof(endless), "bad");
}

static void test_version_2(void **state)
{
    (void)state;
    CHECK(SIGNATURE "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\x13\x88\x01\xbbPOST",
          "192.0.2.1 5000 +4");
    /* with more behind the addresses (TLV) */
    CHECK(SIGNATURE
          "\x21\x11\x00\x10\xc0\x00\x02\x01\xc6\x33\x64\x01\x13\x88\x01\xbb\x04\x00\x01\x00",
          "192.0.2.1 5000 +0");
    CHECK(SIGNATURE "\x21\x21\x00\x24\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
                    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\x13\x88\x01\xbb",
          "2001:db8::1 5000 +0");
    CHECK(SIGNATURE "\x20\x00\x00\x00G", "nobody +1");
    CHECK(SIGNATURE "\x20\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\x13\x88\x01\xbb",
          "nobody +0");
    CHECK(SIGNATURE "\x21\x00\x00\x00", "nobody +0");
}

static void test_version_2_that_is_none(void **state)
{
    (void)state;
    CHECK(SIGNATURE "\x11\x11\x00\x00", "bad"); /* version 1 */
    CHECK(SIGNATURE "\x22\x11\x00\x00", "bad"); /* no such command */
    CHECK(SIGNATURE "\x21\x12\x00\x00", "bad"); /* UDP */
    CHECK(SIGNATURE "\x21\x11\xff\xff", "bad"); /* too long */
    CHECK(SIGNATURE "\x21\x11\x00\x0b\xc0\x00\x02\x01\xc6\x33\x64\x01\x13\x88\x01", "bad");
    CHECK("\r\n\r\nPOST / HTTP/1.1\r\n", "bad");
}

static void test_every_part_of_a_header_is_a_part(void **state)
{
    static const char v1[] = "PROXY TCP4 192.0.2.1 198.51.100.1 5000 443\r\n";
    static const char v2[] =
        SIGNATURE "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\x13\x88\x01\xbb";

    (void)state;
    for (size_t len = 0; len < sizeof(v1) - 1; len++)
        check(v1, len, "part");
    for (size_t len = 0; len < sizeof(v2) - 1; len++)
        check(v2, len, "part");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_version_1_that_is_none),
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_version_2_that_is_none),
        cmocka_unit_test(test_every_part_of_a_header_is_a_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

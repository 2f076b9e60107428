/* Addresses and who sent a request (field report A25): inputs with the answers that they have to
 * have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "core/address.h"
#include "core/forwarded.h"

static const char *written(const char *text, bool node)
{
    static char out[ADDRESS_TEXT_SIZE];
    struct address address;

    if (node ? !address_read_node(str_from(text), &address)
             : !address_read(str_from(text), &address))
        return "none";
    address_write(&address, out);
    return out;
}

static void test_addresses_are_read_strictly_and_written_one_way(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"::ffff:c000:201", "192.0.2.1"},
        {"2001:DB8:0:0::1", "2001:db8::1"},
        {"::1", "::1"},
        {"::", "::"},
        {"1.2.3", "none"},
        {"1.2.3.4.5", "none"},
        {"01.2.3.4", "none"},
        {"256.1.1.1", "none"},
        {" 1.2.3.4", "none"},
        {"fe80::1%eth0", "none"},
        {"[::1]", "none"},
        {"1.2.3.4:80", "none"},
        {"unknown", "none"},
        {"", "none"},
        {"2001:db8:0000:0000:0000:0000:0000:0001:0000:0000:0000", "none"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(written(cases[i].text, false), cases[i].expected);
}

static void test_nodes_may_have_brackets_and_ports(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1"},
        {"192.0.2.1:443", "192.0.2.1"},
        {"192.0.2.1:", "none"},
        {"192.0.2.1:http", "none"},
        {"192.0.2.1:123456", "none"},
        {"[2001:db8::1]:443", "2001:db8::1"},
        {"[2001:db8::1]", "2001:db8::1"},
        {"2001:DB8:0:0::1", "2001:db8::1"},
        {"[2001:db8::1", "none"},
        {"[2001:db8::1]x", "none"},
        {"[192.0.2.1]:80", "none"},
        {"[]", "none"},
        {"unknown", "none"},
        {"_hidden", "none"},
        {"", "none"},
        {"\"192.0.2.1\"", "none"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(written(cases[i].text, true), cases[i].expected);
}

static bool has(const char *network_text, const char *address_text)
{
    struct network network;
    struct address address;
    struct err err = {0};

    assert_int_equal(network_read(str_from(network_text), &network, &err), 0);
    assert_true(address_read(str_from(address_text), &address));
    return network_has(&network, &address);
}

static void test_networks_have_their_addresses_and_no_others(void **state)
{
    (void)state;
    assert_true(has("10.0.0.0/8", "10.255.1.2"));
    assert_false(has("10.0.0.0/8", "11.0.0.0"));
    assert_true(has("10.0.0.0/8", "::ffff:10.1.1.1"));
    assert_true(has("192.0.2.128/25", "192.0.2.129"));
    assert_false(has("192.0.2.128/25", "192.0.2.127"));
    assert_true(has("192.0.2.1", "192.0.2.1"));
    assert_false(has("192.0.2.1", "192.0.2.2"));
    assert_true(has("0.0.0.0/0", "192.0.2.2"));
    assert_false(has("0.0.0.0/0", "2001:db8::1"));
    assert_true(has("::/0", "2001:db8::1"));
    assert_true(has("::/0", "192.0.2.2"));
    assert_true(has("2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(has("2001:db8::/33", "2001:db8:8000::1"));
}

static void test_networks_that_mean_something_else_are_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"10.0.0.1/8", "\"10.0.0.1/8\" has bits set behind its first 8; write the network's first "
                       "address, or a longer prefix"},
        {"10.0.0.0/33", "\"10.0.0.0/33\" is no network; after the / comes a number from 0 to 32"},
        {"::/129", "\"::/129\" is no network; after the / comes a number from 0 to 128"},
        {"10.0.0.0/", "\"10.0.0.0/\" is no network; after the / comes a number from 0 to 32"},
        {"10.0.0.0/-1", "\"10.0.0.0/-1\" is no network; after the / comes a number from 0 to 32"},
        {"hooks.example.com",
         "\"hooks.example.com\" is no network; write an address such as 192.0.2.1 or 2001:db8::1, "
         "or a network such as 10.0.0.0/8"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct network network;
        struct err err = {0};

        assert_int_equal(network_read(str_from(cases[i].text), &network, &err), -1);
        assert_string_equal(err.text, cases[i].error);
    }
}

/* ---- who sent it ---- */

#define LINES_MAX 4

/* The sender as text, "unknown" or "unreadable". Proxies 10.0.0.0/8 and 2001:db8:1::/48 are
 * trusted. `peer` NULL: a Unix socket. */
static const char *sender_of(const char *peer, const char *const *lines)
{
    static char out[ADDRESS_TEXT_SIZE];
    struct network trusted[2];
    struct forwarding forwarding = {trusted, 2, true};
    struct header headers[LINES_MAX];
    struct request request = {.headers = headers};
    struct address address, sender;
    struct err err = {0};

    assert_int_equal(network_read(STR("10.0.0.0/8"), &trusted[0], &err), 0);
    assert_int_equal(network_read(STR("2001:db8:1::/48"), &trusted[1], &err), 0);
    for (; lines && *lines; lines++) {
        const char *colon = strstr(*lines, ": ");

        headers[request.header_count++] =
            (struct header){{*lines, (size_t)(colon - *lines)}, str_from(colon + 2)};
    }
    if (peer)
        assert_true(address_read(str_from(peer), &address));
    switch (forwarded_sender(&forwarding, peer ? &address : NULL, &request, &sender)) {
    case FORWARDED_KNOWN:
        address_write(&sender, out);
        return out;
    case FORWARDED_UNKNOWN:
        return "unknown";
    case FORWARDED_UNREADABLE:
        break;
    }
    return "unreadable";
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define XFF "X-Forwarded-For: "
#define FWD "Forwarded: "

static void test_a25_only_what_trusted_proxies_write_counts(void **state)
{
    (void)state;
    assert_string_equal(sender_of("203.0.113.9", NULL), "203.0.113.9");
    /* forged, from somebody whom we do not trust */
    assert_string_equal(sender_of("203.0.113.9", LINES(XFF "192.0.2.1")), "203.0.113.9");
    assert_string_equal(sender_of("203.0.113.9", LINES(FWD "for=192.0.2.1")), "203.0.113.9");
    /* through a trusted proxy: forged, real */
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1, 203.0.113.9")), "203.0.113.9");
    /* two trusted hops */
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1, 203.0.113.9, 10.0.0.2")),
                        "203.0.113.9");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "203.0.113.9, 2001:db8:1::2")),
                        "203.0.113.9");
    /* all of them trusted: the first of the chain sent it itself */
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "10.0.0.3, 10.0.0.2")), "10.0.0.3");
    assert_string_equal(sender_of("10.0.0.1", NULL), "10.0.0.1");
}

static void test_a25_forms_of_addresses(void **state)
{
    (void)state;
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "[2001:db8::1]:443")), "2001:db8::1");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "2001:DB8:0:0::1")), "2001:db8::1");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "::ffff:192.0.2.1")), "192.0.2.1");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "::ffff:10.0.0.7, 192.0.2.1")),
                        "192.0.2.1");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1,::ffff:10.0.0.7")), "192.0.2.1");
    assert_string_equal(sender_of("::ffff:10.0.0.1", LINES(XFF "192.0.2.1")), "192.0.2.1");
}

static void test_a25_what_cannot_be_read_is_nobody(void **state)
{
    (void)state;
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1, unknown")), "unreadable");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1, _hidden")), "unreadable");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1, ")), "unreadable");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1,, 10.0.0.2")), "unreadable");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "")), "unreadable");
    assert_string_equal(sender_of("10.0.0.1", LINES(FWD "for=unknown")), "unreadable");
    assert_string_equal(sender_of("10.0.0.1", LINES(FWD "proto=https")), "unreadable");
    /* further left than the sender: nobody's business */
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "unknown, 192.0.2.1")), "192.0.2.1");
}

static void test_a25_two_lines_are_one_list(void **state)
{
    (void)state;
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1", XFF "203.0.113.9")),
                        "203.0.113.9");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "203.0.113.9", XFF "10.0.0.2")),
                        "203.0.113.9");
}

static void test_a25_the_header_forwarded(void **state)
{
    (void)state;
    assert_string_equal(sender_of("10.0.0.1", LINES(FWD "for=192.0.2.1;proto=https;by=10.0.0.1")),
                        "192.0.2.1");
    assert_string_equal(sender_of("10.0.0.1", LINES(FWD "For=\"[2001:db8::1]:80\"")),
                        "2001:db8::1");
    assert_string_equal(sender_of("10.0.0.1", LINES(FWD "for=192.0.2.1, for=\"10.0.0.2\"")),
                        "192.0.2.1");
    /* a separator within quotes, and a parameter that comes twice */
    assert_string_equal(
        sender_of("10.0.0.1", LINES(FWD "for=192.0.2.1;host=\"a,for=203.0.113.9\"")), "192.0.2.1");
    assert_string_equal(sender_of("10.0.0.1", LINES(FWD "for=192.0.2.1;for=203.0.113.9")),
                        "unreadable");
    /* the proxy sets one of the two, and the sender the other */
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "203.0.113.9", FWD "for=192.0.2.1")),
                        "unreadable");
    assert_string_equal(sender_of("10.0.0.1", LINES(XFF "192.0.2.1", FWD "for=192.0.2.1")),
                        "192.0.2.1");
}

static void test_a_unix_socket_has_no_address_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(sender_of(NULL, NULL), "unknown");
    assert_string_equal(sender_of(NULL, LINES(XFF "192.0.2.1")), "192.0.2.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_are_read_strictly_and_written_one_way),
        cmocka_unit_test(test_nodes_may_have_brackets_and_ports),
        cmocka_unit_test(test_networks_have_their_addresses_and_no_others),
        cmocka_unit_test(test_networks_that_mean_something_else_are_refused),
        cmocka_unit_test(test_a25_only_what_trusted_proxies_write_counts),
        cmocka_unit_test(test_a25_forms_of_addresses),
        cmocka_unit_test(test_a25_what_cannot_be_read_is_nobody),
        cmocka_unit_test(test_a25_two_lines_are_one_list),
        cmocka_unit_test(test_a25_the_header_forwarded),
        cmocka_unit_test(test_a_unix_socket_has_no_address_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The texts that bytes become: UTF-8, base64 and hexadecimal digits, against the published examples. */
#include "base/base64.h"
#include "base/hex.h"
#include "base/utf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* RFC 4648, section 10. */
static void base64_vectors(void **state)
{
	(void)state;
	static const char *const v[][2] = {{"", ""},
	                                   {"f", "Zg=="},
	                                   {"fo", "Zm8="},
	                                   {"foo", "Zm9v"},
	                                   {"foob", "Zm9vYg=="},
	                                   {"fooba", "Zm9vYmE="},
	                                   {"foobar", "Zm9vYmFy"}};
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct buf b = {0};
		char back[8];
		base64_append(&b, str_of(v[i][0]));
		assert_string_equal(buf_cstr(&b), v[i][1]);
		assert_int_equal(base64_decode(buf_view(&b), back), strlen(v[i][0]));
		assert_memory_equal(back, v[i][0], strlen(v[i][0]));
		buf_release(&b);
	}
}

static void base64_all_bytes(void **state)
{
	(void)state;
	unsigned char bytes[256], back[256];
	for (unsigned i = 0; i < 256; i++)
		bytes[i] = (unsigned char)(i * 7);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct buf b = {0};
		base64_append(&b, str_n((const char *)bytes, n));
		assert_int_equal(b.n, (n + 2) / 3 * 4);
		assert_int_equal(base64_decode(buf_view(&b), (char *)back), n);
		assert_memory_equal(back, bytes, n);
		buf_release(&b);
	}
}

static void base64_none(void **state)
{
	(void)state;
	char back[8];
	assert_int_equal(base64_decode(str_of("Zg"), back), 1); /* without its padding */
	assert_int_equal(base64_decode(str_of("Zm9v!"), back), -EINVAL);
	assert_int_equal(base64_decode(str_of("Zg==Zg=="), back), -EINVAL);
	assert_int_equal(base64_decode(str_n("Zm\0v", 4), back), -EINVAL);
}

/* Every character, and what RFC 3629 forbids. */
static void utf8_characters(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		char p[4];
		uint32_t back;
		if (c == 0xd800)
			c = 0xe000;
		size_t n = utf8_encode(c, p);
		assert_int_equal(utf8_char(p, n, &back), n);
		assert_int_equal(back, c);
		assert_int_equal(utf8_char(p, n - 1, &back), 0);
		assert_false(utf8_is_middle(p[0]));
		for (size_t i = 1; i < n; i++)
			assert_true(utf8_is_middle(p[i]));
	}
	static const char *const none[] = {"\x80",     "\xc0\x80",         "\xc1\xbf",         "\xc3",
	                                   "\xc3\x28", "\xe0\x9f\xbf",     "\xed\xa0\x80",     "\xed\xbf\xbf",
	                                   "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
	                                   "\xff"};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_false(utf8_is_valid(str_of(none[i])));
	assert_true(utf8_is_valid(str_of("")));
	assert_true(utf8_is_valid(str_of("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\xb1z")));
	assert_false(utf8_is_valid(str_of("a\xc3\xa4\xe2\x82z")));
}

static void hex_digits(void **state)
{
	(void)state;
	unsigned char bytes[256], back[256];
	char text[2 * 256 + 1];
	struct buf b = {0};
	for (unsigned i = 0; i < 256; i++)
		bytes[i] = (unsigned char)i;
	hex_text(bytes, sizeof(bytes), text);
	assert_int_equal(strlen(text), 512);
	assert_memory_equal(text, "000102", 6);
	assert_string_equal(text + 508, "feff");
	buf_hex(&b, bytes, sizeof(bytes));
	assert_string_equal(buf_cstr(&b), text);
	buf_release(&b);
	assert_true(hex_parse(str_of(text), back, sizeof(back)));
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_true(hex_parse(str_of("aB0F"), back, 2));
	assert_memory_equal(back, "\xab\x0f", 2);
	assert_true(hex_parse(str_of(""), back, 0));
	static const char *const none[] = {"", "a", "abc", "abcdef", "0x12", "g000", "00 1", "-123"};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_false(hex_parse(str_of(none[i]), back, 2));
	assert_string_equal(hex_text("", 0, text), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(base64_vectors),  cmocka_unit_test(base64_all_bytes), cmocka_unit_test(base64_none),
	    cmocka_unit_test(utf8_characters), cmocka_unit_test(hex_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

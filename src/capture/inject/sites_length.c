#include "capture/inject/sites_int.h"

#include <string.h>

/* The lengths of x86-64 instructions, as compilers and C libraries use them: enough to know where one begins, not what
 * it does. */

/* Bits of what follows an opcode. */
enum {
	M = 1,
	B = 2,
	W = 4,
	Z = 8,
	BAD = 16
}; /* ModRM, one byte, two, four (two with 0x66); no instruction, or a prefix */

static unsigned one_byte(unsigned op)
{
	if (op < 0x40) {
		static const uint8_t arithmetic[8] = {M, M, M, M, B, Z, BAD, BAD};
		return arithmetic[op & 7];
	}
	if ((op >= 0x50 && op < 0x60) || (op >= 0x6c && op < 0x70) || (op >= 0x90 && op < 0xa0 && op != 0x9a))
		return 0;
	if ((op & 0xf0) == 0x70 || (op & 0xf8) == 0xb0)
		return B;
	if (op >= 0x84 && op < 0x90)
		return M;
	switch (op) {
	case 0x63:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return M;
	case 0x68:
	case 0xa9:
	case 0xe8:
	case 0xe9:
		return Z;
	case 0x69:
	case 0x81:
	case 0xc7:
		return M | Z;
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
		return M | B;
	case 0x6a:
	case 0xa8:
	case 0xcd:
	case 0xeb:
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return B;
	case 0xc2:
		return W;
	case 0xa4:
	case 0xa5:
	case 0xa6:
	case 0xa7:
	case 0xaa:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xae:
	case 0xaf:
	case 0xc3:
	case 0xc9:
	case 0xcc:
	case 0xf4:
	case 0xf5:
	case 0xf8:
	case 0xf9:
	case 0xfc:
	case 0xfd:
		return 0;
	default:
		return op >= 0xd8 && op < 0xe0 ? M : BAD;
	}
}

static unsigned two_bytes(unsigned op)
{
	switch (op) {
	case 0x05:
	case 0x0b:
	case 0x0e:
	case 0x31:
	case 0x77:
	case 0xa2:
	case 0xaa:
		return 0;
	case 0x0f:
	case 0x70:
	case 0x71:
	case 0x72:
	case 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4:
	case 0xc5:
	case 0xc6:
		return M | B;
	default:
		if ((op & 0xf0) == 0x80)
			return Z;
		if ((op & 0xf8) == 0xc8)
			return 0;
		if ((op >= 0x04 && op < 0x0d) || (op & 0xf8) == 0x30 || (op & 0xf8) == 0x20 || (op & 0xf6) == 0xa0)
			return BAD;
		return M;
	}
}

/* ModRM, and what it says that follows. 0: it does not fit. */
static size_t operand_length(const unsigned char *c, size_t n)
{
	if (!n)
		return 0;
	const unsigned mod = c[0] >> 6, rm = c[0] & 7;
	size_t length = 1;
	if (mod != 3 && rm == 4) {
		if (n < 2)
			return 0;
		length += 1 + (mod == 0 && (c[1] & 7) == 5 ? 4 : 0);
	}
	length += mod == 1 ? 1 : mod == 2 || (mod == 0 && rm == 5) ? 4 : 0;
	return length <= n ? length : 0;
}

size_t sites_length(const unsigned char *c, size_t n)
{
	enum { LONGEST = 15 };
	size_t at = 0;
	bool half = false, wide = false;
	unsigned follows;
	n = n > LONGEST ? LONGEST : n;
	while (at < n && memchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", c[at], 11))
		half |= c[at++] == 0x66;
	if (at < n && (c[at] & 0xf0) == 0x40)
		wide = c[at++] & 8;
	half &= !wide;
	if (at + 1 >= n)
		return at < n && one_byte(c[at]) == 0 ? at + 1 : 0;
	unsigned op = c[at++], map = 0;
	if (op == 0x0f) {
		map = 1;
		op = c[at++];
		if (op == 0x38 || op == 0x3a) {
			map = op == 0x38 ? 2 : 3;
			at++;
		}
	} else if (op == 0xc5) {
		map = 1;
		op = at + 1 < n ? c[at + 1] : 0;
		at += 2;
	} else if (op == 0xc4 || op == 0x62) {
		const size_t head = op == 0xc4 ? 2 : 3;
		map = c[at] & (op == 0xc4 ? 31 : 7);
		op = at + head < n ? c[at + head] : 0;
		at += head + 1;
		if (!map || map > 3)
			return 0;
	}
	if (at > n)
		return 0;
	follows = map == 0 ? one_byte(op) : map == 1 ? two_bytes(op) : map == 2 ? M : M | B;
	if (map == 0 && (op & 0xf8) == 0xb8) {
		at += wide ? 8 : half ? 2 : 4;
		return at <= n ? at : 0;
	}
	if (follows & BAD || (map == 0 && op == 0x8f && at < n && c[at] & 0x38)) /* XOP */
		return 0;
	if (map == 0 && (op & 0xfe) == 0xf6 && at < n && !(c[at] & 0x30)) /* test */
		follows |= op & 1 ? Z : B;
	if (follows & M) {
		const size_t length = operand_length(c + at, n - at);
		if (!length)
			return 0;
		at += length;
	}
	const bool jump = (map == 0 && (op & 0xfe) == 0xe8) || (map == 1 && (op & 0xf0) == 0x80);
	at += follows & B ? 1 : follows & W ? 2 : follows & Z ? half && !jump ? 2 : 4 : 0;
	return at <= n ? at : 0;
}

#include "capture/inject/sites_int.h"

#include <string.h>

/* The lengths of x86-64 instructions, as compilers and C libraries use them: enough to know where one begins, not what
 * it does. */

/* Bits of what follows an opcode. */
enum {
	M = 1,      /* ModRM, and what that says */
	B = 2,      /* one byte */
	W = 4,      /* two */
	Z = 8,      /* four; two with 0x66 */
	X = 16,     /* it is no instruction, or a prefix */
	MB = M | B, /* both */
	MZ = M | Z
};

/* By opcode, 16 in a row. b8 to bf, which have an operand of the size of a register, are not read from here. */
/* clang-format off */
static const uint8_t one_byte[256] = {
    /* 00 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
    /* 10 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
    /* 20 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
    /* 30 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
    /* 40 */ X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
    /* 50 */ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* 60 */ X, X, X, M, X, X, X, X, Z, MZ, B, MB, 0, 0, 0, 0,
    /* 70 */ B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B,
    /* 80 */ MB, MZ, X, MB, M, M, M, M, M, M, M, M, M, M, M, M,
    /* 90 */ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, X, 0, 0, 0, 0, 0,
    /* a0 */ X, X, X, X, 0, 0, 0, 0, B, Z, 0, 0, 0, 0, 0, 0,
    /* b0 */ B, B, B, B, B, B, B, B, X, X, X, X, X, X, X, X,
    /* c0 */ MB, MB, W, 0, X, X, MB, MZ, X, 0, X, X, 0, B, X, X,
    /* d0 */ M, M, M, M, X, X, X, X, M, M, M, M, M, M, M, M,
    /* e0 */ B, B, B, B, X, X, X, X, Z, Z, X, B, X, X, X, X,
    /* f0 */ X, X, X, X, 0, 0, M, M, 0, 0, X, X, 0, 0, M, M,
};

/* By what comes behind 0f. */
static const uint8_t two_bytes[256] = {
    /* 00 */ M, M, M, M, X, 0, X, X, X, X, X, 0, X, M, 0, MB,
    /* 10 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    /* 20 */ X, X, X, X, X, X, X, X, M, M, M, M, M, M, M, M,
    /* 30 */ X, 0, X, X, X, X, X, X, M, M, M, M, M, M, M, M,
    /* 40 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    /* 50 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    /* 60 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    /* 70 */ MB, MB, MB, MB, M, M, M, 0, M, M, M, M, M, M, M, M,
    /* 80 */ Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z,
    /* 90 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    /* a0 */ X, X, 0, M, MB, M, M, M, X, X, 0, M, MB, M, M, M,
    /* b0 */ M, M, M, M, M, M, M, M, M, M, MB, M, M, M, M, M,
    /* c0 */ M, M, MB, M, MB, MB, MB, M, 0, 0, 0, 0, 0, 0, 0, 0,
    /* d0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    /* e0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
    /* f0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
};
/* clang-format on */

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

/* An instruction, as far as it has been read. */
struct decoded {
	size_t at;        /* bytes */
	unsigned map, op; /* map: 0 one byte, 1 behind 0f, 2 behind 0f38, 3 behind 0f3a */
	bool half, wide;  /* 0x66; REX.W */
};

/* 0x66 does not count beside REX.W. */
static void read_prefixes(const unsigned char *c, size_t n, struct decoded *d)
{
	while (d->at < n && memchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", c[d->at], 11))
		d->half |= c[d->at++] == 0x66;
	if (d->at < n && (c[d->at] & 0xf0) == 0x40)
		d->wide = c[d->at++] & 8;
	d->half &= !d->wide;
}

/* The opcode, of which two bytes are there, with what says its map: 0f, or VEX or EVEX, c5, c4 and 62. False: there is
 * no such map, or it is longer than n. */
static bool read_opcode(const unsigned char *c, size_t n, struct decoded *d)
{
	d->op = c[d->at++];
	if (d->op == 0x0f) {
		d->map = 1;
		d->op = c[d->at++];
		if (d->op == 0x38 || d->op == 0x3a) {
			d->map = d->op == 0x38 ? 2 : 3;
			d->at++;
		}
	} else if (d->op == 0xc5) {
		d->map = 1;
		d->op = d->at + 1 < n ? c[d->at + 1] : 0;
		d->at += 2;
	} else if (d->op == 0xc4 || d->op == 0x62) {
		const size_t head = d->op == 0xc4 ? 2 : 3;
		d->map = c[d->at] & (d->op == 0xc4 ? 31 : 7);
		d->op = d->at + head < n ? c[d->at + head] : 0;
		d->at += head + 1;
		if (!d->map || d->map > 3)
			return false;
	}
	return d->at <= n;
}

/* The bits of what follows the opcode of map 0; modrm: the byte behind it, 0 if there is none. */
static unsigned follows_one_byte(unsigned op, unsigned char modrm)
{
	if (op == 0x8f && modrm & 0x38) /* XOP */
		return X;
	if ((op & 0xfe) == 0xf6 && !(modrm & 0x30)) /* test */
		return one_byte[op] | (op & 1 ? Z : B);
	return one_byte[op];
}

/* How many bytes an operand has that is in the instruction. */
static size_t immediate_length(const struct decoded *d, unsigned follows)
{
	const bool jump = (d->map == 0 && (d->op & 0xfe) == 0xe8) || (d->map == 1 && (d->op & 0xf0) == 0x80);
	if (follows & B)
		return 1;
	if (follows & W)
		return 2;
	return follows & Z ? (d->half && !jump ? 2 : 4) : 0;
}

size_t sites_length(const unsigned char *c, size_t n)
{
	enum { LONGEST = 15 };
	struct decoded d = {0};
	unsigned follows;
	n = n > LONGEST ? LONGEST : n;
	read_prefixes(c, n, &d);
	if (d.at + 1 >= n)
		return d.at < n && one_byte[c[d.at]] == 0 ? d.at + 1 : 0;
	if (!read_opcode(c, n, &d))
		return 0;
	if (d.map == 0 && (d.op & 0xf8) == 0xb8) {
		d.at += d.wide ? 8 : d.half ? 2 : 4;
		return d.at <= n ? d.at : 0;
	}
	if (d.map == 0)
		follows = follows_one_byte(d.op, d.at < n ? c[d.at] : 0);
	else
		follows = d.map == 1 ? two_bytes[d.op] : d.map == 2 ? M : MB;
	if (follows & X)
		return 0;
	if (follows & M) {
		const size_t length = operand_length(c + d.at, n - d.at);
		if (!length)
			return 0;
		d.at += length;
	}
	d.at += immediate_length(&d, follows);
	return d.at <= n ? d.at : 0;
}

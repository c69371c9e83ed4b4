/* ident.c - public ids: hashes of identities (doc/format/store.md). */
#include "store/store_int.h"

#include <xxhash.h>

/* Appends a number of 8 bytes. Little-endian. */
static void put64(struct buf *b, uint64_t v)
{
	unsigned char p[8];
	for (int i = 0; i < 8; i++)
		p[i] = (unsigned char)(v >> (8 * i));
	buf_add(b, p, 8);
}

void identity_file(struct buf *b, struct str domain, uint64_t ino, uint64_t gen)
{
	buf_char(b, 'f');
	put64(b, domain.n);
	buf_str(b, domain);
	put64(b, ino);
	put64(b, gen);
}

/* Of a file that was not there. */
void identity_absent(struct buf *b, struct str path)
{
	buf_char(b, 'a');
	put64(b, path.n);
	buf_str(b, path);
}

/* Of a version that was seen being made: session and number of the event. */
void identity_version(struct buf *b, uint64_t session, uint64_t seq)
{
	buf_char(b, 'v');
	put64(b, session);
	put64(b, seq);
}

/* Of a version that was found; has_fp: with its size and time. k: which of several. */
void identity_unobserved(struct buf *b, bool has_fp, uint64_t size, int64_t mtime, uint64_t k)
{
	buf_char(b, has_fp ? 'u' : 'n');
	if (has_fp) {
		put64(b, size);
		put64(b, (uint64_t)mtime);
	}
	put64(b, k);
}

void identity_exec(struct buf *b, struct str boot, uint64_t pidns, uint64_t pid, int64_t started, uint64_t n)
{
	buf_char(b, 'x');
	put64(b, boot.n);
	buf_str(b, boot);
	put64(b, pidns);
	put64(b, pid);
	put64(b, (uint64_t)started);
	put64(b, n);
}

/* What a build is identified by: session and number of its event. */
void identity_build(struct buf *b, uint64_t session, uint64_t seq)
{
	buf_char(b, 'b');
	put64(b, session);
	put64(b, seq);
}

/* 128 bits, the same on any machine: it is stored. */
struct id_hash identity_hash(const struct buf *b)
{
	XXH128_hash_t h = XXH3_128bits(b->p, b->n);
	return (struct id_hash){h.high64, h.low64};
}

void identity_text(char kind, struct id_hash h, struct pubid *ret)
{
	static const char digit[] = "0123456789abcdef";
	ret->text[0] = kind;
	for (unsigned i = 0; i < 16; i++)
		ret->text[1 + i] = digit[h.hi >> (60 - 4 * i) & 15];
	for (unsigned i = 0; i < 8; i++)
		ret->text[17 + i] = digit[h.lo >> (60 - 4 * i) & 15];
	ret->text[25] = '\0';
}

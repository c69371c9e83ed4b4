/* source.h - an index that lies elsewhere, as pages of files: the index itself, and the segments of its adjacency.
 *
 * store_copy gives all pages of a store, of one state; store_open_source asks a store of what was kept of them. Between
 * the two they may lie wherever rows can be found by a name and a number: src/site keeps them in PostgreSQL. A store
 * that was opened so answers as the one that was copied, for it is read by the same code. Each page of the index has a
 * checksum (pages.h), segments have their own (adjacency.h): so what a source gives is checked as a file is, which
 * somebody else made. */
#ifndef STEMMA_STORE_SOURCE_H
#define STEMMA_STORE_SOURCE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

#define SOURCE_PAGE 16384     /* bytes; the last page of a file may have fewer */
#define SOURCE_INDEX "index"  /* the name of the index; segments have names that begin with SOURCE_EDGES */
#define SOURCE_EDGES "edges/" /* and then as adj_file_name says */
#define SOURCE_NAME 128       /* the longest name of a file, with its NUL */

struct store_source {
	const char *name; /* for people; valid as long as the source */
	/* Bytes of a file, all n of them. 0; -ENOENT: there is no such file; -EBADMSG: it has not so many; -errno. What
	 * failed stays told in `failed`. */
	int (*read)(struct store_source *s, const char *file, uint64_t at, void *to, size_t n);
	/* How long the file is. 0, -ENOENT. */
	int (*size)(struct store_source *s, const char *file, uint64_t *ret);
	/* The end of a question: no state is kept for it any more. */
	void (*rest)(struct store_source *s);
	/* Before the next one: 0: what is read is as before; 1: there is another state now, and whoever has read of the old
	 * one opens anew; -errno with a sentence. */
	int (*renew)(struct store_source *s, struct err *err);
	void (*close)(struct store_source *s);
	struct err failed;
};

/* Takes over the source, and closes it with the store, or if it fails. Only to be asked. -errno with a sentence. */
int store_open_source(struct store_source *source, struct err *err, struct store **ret);
/* The source of a store that was opened so; NULL: it has none. */
struct store_source *store_source_of(const struct store *s);

/* What takes a copy. */
struct store_copy {
	/* 0; -errno ends the copy, with a sentence. Pages of a file come together, in any order. */
	int (*page)(void *arg, const char *file, uint64_t n, const void *page, size_t size);
	void *arg;
};
/* All pages of the store, as it is in the view or transaction that is open (store_view_begin); without one, as it is
 * now. A segment that is no longer there is left out: the index answers in its place. Memory: 2 MiB. 0; -EPROTO: the
 * index has no checksums; -errno; with a sentence. */
int store_copy(struct store *s, const struct store_copy *to, struct err *err);

#endif

/* ix_open.h - what is kept of sessions without an end (doc/format/store.md, "Open sessions"): between ix_open.c, which
 * writes it, and ix_earlier.c, which goes by it. */
#ifndef STEMMA_STORE_INDEX_IX_OPEN_H
#define STEMMA_STORE_INDEX_IX_OPEN_H

#include "store/index/index.h"

/* The kinds of rows. OPEN_MARK: the session can be gone on with; the others by the session's number of the thing, but
 * OPEN_STATE by the file's row. */
enum open_kind { OPEN_MARK, OPEN_DOMAIN, OPEN_FILE, OPEN_PROCESS, OPEN_ACCESS, OPEN_STATE };

/* Bits of a kept access: what follows of it. */
enum {
	KEPT_FP = 1,    /* what it found when it began */
	KEPT_FPE = 2,   /* what it left */
	KEPT_TOLD = 4,  /* its key is another log's */
	KEPT_TIMES = 8, /* when its bytes moved */
	KEPT_SURE = 16,
};
#define KEPT_FLAGS                                                                                                     \
	(GACCESS_UNTIL | GACCESS_READ_BYTES | GACCESS_WRITTEN_BYTES | GACCESS_ENDED | GACCESS_TOLD | GACCESS_EXACT |       \
	 GACCESS_IO | GACCESS_EARLY)

/* The first error is kept in x->open.rc, with a sentence. */
void ix_open_failed(struct ix *x, int rc);
/* What is kept of the number in the session x->open.session, valid until another block is read. 1, 0, -errno. */
int ix_open_find(struct ix *x, enum open_kind kind, uint64_t number, struct cur *ret);
/* Of struct collect_sessions: where the session is gone on with, f is told of its earlier events. */
int ix_open_session(void *arg, struct facts *f, uint64_t number);

#endif

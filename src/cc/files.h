/* files.h - the files of a command, from what was seen of it: each with its role, digest and build-id. Internal to
 * record.c and its parts. */
#ifndef STEMMA_CC_FILES_H
#define STEMMA_CC_FILES_H

#include "cc/build.h"
#include "cc/observed.h"
#include "cc/record.h"

struct files {
	struct build_files list; /* tools, inputs, outputs, in this order; each in that of first use */
	struct buf gaps;         /* strings with their NULs */
	size_t ngaps;
	char *first_source; /* path, NULL none */
	bool linked;        /* it made a program or a library */
};

/* Fills ret, which files_release releases in any case. 0 or -ENOMEM. */
int files_collect(const struct record *r, const struct observed *s, struct digest_cache *cache, struct files *ret);
void files_free_all(struct files *f);
void files_gap(struct files *f, const char *word, const char *of);

#endif

/* software.h - the software that executions were made of: programs, scripts, libraries and modules, and the packages
 * that these files are of.
 *
 * The record has the files; which package a file is of is asked of this machine's package managers, and only of a file
 * that still is the recorded one (recorded.h), for then it was of that package when it was used, too. Of every other
 * file it is said that its package is not known, and why.
 *
 * Cost: the uses of the executions, about 2 us each, and what packages.h says. Memory: 100 bytes and the path of each
 * file. */
#ifndef STEMMA_SOFTWARE_SOFTWARE_H
#define STEMMA_SOFTWARE_SOFTWARE_H

#include "base/digest.h"
#include "software/packages.h"
#include "store/store.h"

enum software_kind { SOFTWARE_PROGRAM, SOFTWARE_SCRIPT, SOFTWARE_LIBRARY, SOFTWARE_MODULE, SOFTWARE_KINDS };
/* "program", ... */
extern const char *const software_kind_name[SOFTWARE_KINDS];

/* What is known of the package of a file. */
enum software_state {
	SOFTWARE_IN_PACKAGE,
	SOFTWARE_IN_NONE, /* it is as recorded, and no package manager knows it */
	SOFTWARE_CHANGED, /* it is not there as it was recorded, so nobody can say */
};

struct software_file {
	enum software_kind kind;
	enum software_state state;
	store_id file, version; /* version: 0 it is not known which */
	const char *path;
	uint32_t package; /* in packages.v; VEC_NONE none */
	bool sure;        /* it was used with certainty */
	bool has_digest;
	struct digest
	    digest; /* recorded, or that of the file that still is as recorded if software_read_digests was called */
};

/* What is wanted: programs and scripts that were started, or also what these loaded. */
enum software_want { SOFTWARE_STARTED, SOFTWARE_LOADED };

struct software {
	VEC(struct software_file) files; /* by path, then version; each once */
	struct packages packages;
	struct arena texts;
};

/* The software of n executions. 0, and *ret is to be released; -errno of the store, -ENOMEM, and there is nothing to
 * release. */
int software_find(struct store *s, const store_id *execs, size_t n, enum software_want want, struct software *ret);
/* Reads the files whose digest is not recorded and that still are as recorded. 0 or -errno of the store. */
int software_read_digests(struct store *s, struct software *w);
void software_release(struct software *w);
/* The file that an execution ran as its program (or script) among w's. NULL: it is not known. */
const struct software_file *software_of(const struct software *w, store_id file, store_id version);
/* The version of a file that the execution used, from its edges; 0: it is not known, or there were several. -errno. */
int software_version_used(struct store *s, store_id exec, store_id file, store_id *ret);

#endif

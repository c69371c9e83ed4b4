/* diff.h - what differs between two sides of the record: two runs, two executions with all they started, or the
 * lineages of two versions.
 *
 * Executions are paired by role (diff_pair.c), never by pid; files by name, below the side's working directory relative
 * to it, with what is random in temporary names masked. Every difference is an item of one category; an item that can
 * be a cause says how many outputs of its side it reaches, forward along the edges, time obeyed (B9).
 *
 * Cost: one pass over the executions and accesses of both sides, sorting by hashes: O((E + A) log E). About 4 us an
 * execution; all of both sides is held in memory, some 900 bytes an execution with its accesses. */
#ifndef STEMMA_QUERY_DIFF_H
#define STEMMA_QUERY_DIFF_H

#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

enum diff_category {
#define CATEGORY(name, cause, meaning) DIFF_##name,
#include "query/diff_categories.def"
#undef CATEGORY
	DIFF_CATEGORIES
};
extern const struct diff_category_words {
	const char *name, *meaning;
	bool cause;
} diff_category_words[DIFF_CATEGORIES];

enum diff_kind {
	DIFF_CHANGED,
	DIFF_REWRITTEN, /* made anew with the same size, or touched; see `content` */
	DIFF_ADDED,     /* on side B only */
	DIFF_REMOVED,   /* on side A only */
};

/* Of two versions; the store itself does not know. */
enum diff_content { CONTENT_UNKNOWN, CONTENT_SAME, CONTENT_DIFFERS };

/* Whether a difference has to do with a program that failed on one side only. */
enum diff_failure {
	DIFF_FAILURE_NONE,
	DIFF_FAILURE_EXPLAINED, /* it reached the program, which may have failed for it */
	DIFF_FAILURE_ITSELF,    /* how the program ended */
};

/* One difference. Strings belong to the struct diff. */
struct diff_item {
	enum diff_category category;
	enum diff_kind kind;
	struct str subject;        /* a path, a variable, a program, a key of the machine's description */
	struct str part, name;     /* build: what of it (flags, source, ...) and which of them; else empty */
	struct str before, after;  /* tokens, values; empty for files */
	store_id a, b;             /* versions of a file; 0 none */
	enum diff_content content; /* of files; see diff_content_known */
	bool absent_before;        /* ADDED: side A looked for it and it was not there; REMOVED: side B did */
	store_id exec_a, exec_b;   /* the first executions concerned, 0 none */
	uint32_t count;            /* how many pairs, or executions */
	store_id changed_by;       /* execution that made the later version, 0: nobody who was seen */
	int64_t when;              /* of that change; TIME_NONE unknown */
	uint64_t changes;          /* versions the later one is ahead of the earlier, where they are of one file */
	bool unseen;               /* the change was found and not seen */
	bool possible;             /* an output that one side perhaps made: it was open for writing there */
	bool reused;               /* ADDED, REMOVED: the other side used what was made with it, and so has it, too */
	bool lonely;               /* a file that only executions without a partner read */
	enum diff_failure failure;
	bool rooted;                /* nothing else that differs explains it */
	uint32_t reaches;           /* outputs of its side that it leads to */
	uint32_t reaches_differing; /* those of them that are known to differ */
	double amount;              /* resources: how much it weighs, for the order; ns or bytes */
};

enum diff_what { DIFF_RUN, DIFF_EXEC, DIFF_VERSION };
struct diff_side_info {
	enum diff_what what;
	store_id id;
	size_t executions;
	size_t only;   /* of them without a partner */
	uint64_t gaps; /* bits of term gap, over all of them */
	size_t outputs;
	uint64_t cpu; /* ns, over those whose figures are known */
	int64_t start, end;
};

/* Two executions that have the same role. */
struct diff_pair_ids {
	store_id exec[2];
};

struct diff {
	struct diff_side_info side[2];
	struct diff_pair_ids *pairs; /* in the start order of side A */
	size_t paired;
	struct diff_item *items; /* by category, then as they matter */
	size_t n_items;
	size_t first; /* of items: the first cause; SIZE_MAX none */
	size_t files_compared, same_files;
	struct diff_text *text; /* owns the strings */
};

struct diff_options {
	const char *system_extra; /* see system_path */
	int64_t skew;             /* as for lineage_walk */
	/* For who knows more than the store: are these two versions, which have one size and different times, the same
	 * bytes? NULL: that is asked of nobody. */
	enum diff_content (*content)(void *arg, store_id a, store_id b);
	void *content_arg;
};

/* Compares the two; sides are of one kind. 0; -EINVAL with a sentence; -errno. */
int diff_make(struct store *s, enum diff_what what, const store_id ids[2], const struct diff_options *o,
              struct err *err, struct diff *ret);
/* Adds a copy of the item, strings and all, behind those of its category: for who knows more than the store. NULL
 * without memory. What it gave before is no longer valid. */
struct diff_item *diff_add(struct diff *d, const struct diff_item *like);
/* What the content of both versions of an item is, from digests of others; the first cause is picked anew: what is the
 * same leads nowhere. */
void diff_content_known(struct diff *d, size_t item, enum diff_content content);
void diff_release(struct diff *d);

#endif

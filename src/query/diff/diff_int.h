/* diff_int.h - the two sides of a diff in memory. Private to diff*.c. */
#ifndef STEMMA_QUERY_DIFF_INT_H
#define STEMMA_QUERY_DIFF_INT_H

#include "base/vec.h"
#include "query/diff.h"
#include "query/idmap.h"

#define NONE UINT32_MAX

/* Strings, given back all at once; equal ones may be stored twice. */
struct diff_text {
	struct arena bytes;
	bool failed;
};
struct str diff_keep_text(struct diff_text *t, struct str s);

/* An execution of a side. */
struct dexec {
	store_id id, parent_id;
	uint32_t at;      /* its place in the side */
	uint32_t parent;  /* its parent's, NONE */
	uint32_t partner; /* in the other side, NONE */
	uint32_t place;   /* among its parent's children of the same program, in start order */
	store_id exe, script;
	struct str program;                                    /* base name of the script, else of the program */
	struct str cwd;                                        /* relative to the side's where it is below it */
	struct strlist argv, env;                              /* raw is kept */
	uint64_t number;                                       /* in its process; 0 a fork that has run nothing yet */
	uint64_t key_program, key_argv, key_outputs, key_name; /* hashes; argv masked */
	uint64_t key_rank;                                     /* of MPI; 0 none */
	int64_t start, end;
	int64_t begun; /* by then it had begun: the start of a fork is known to a tick only */
	uint64_t cpu, rss, rchar, wchar_, known, gaps, ending, code;
	uint32_t first_use, n_uses, first_gen, n_gens; /* in the side's uses, gens */
};
struct duse {
	uint32_t exec, version;
	uint16_t mode;
	bool sure;
	int64_t lo, hi;
};
/* A version and one made of it by writing on to it. */
struct dderived {
	uint32_t from, to; /* in the side's versions */
};
/* A version that the side used or made. */
struct dversion {
	store_id id, file;
	uint64_t n;
	enum origin origin;
	bool has_size, made, absent, stream, system, named;
	bool shared; /* an execution that has a partner used it */
	bool sure;   /* one of those that made it surely wrote */
	uint64_t size;
	int64_t mtime, start, end;
	uint32_t path;       /* in the side's paths, NONE for streams */
	uint16_t mode;       /* of the uses, or-ed */
	uint32_t first_user; /* execution that used it first, NONE */
	uint64_t mask;       /* causes that reach it, 64 at a time */
};
/* A name within a side: the masked key, and the version that counts for it. */
struct dpath {
	struct str key, path;
	uint64_t hash;
	uint32_t input, output, absent; /* versions, NONE */
	uint32_t made;                  /* the last that was made, named or not */
	uint16_t mode;
	bool system;
};
struct side {
	struct diff_side_info info;
	struct str cwd;
	struct strlist host;
	struct str user, hostname, ulid;
	struct dexec *execs;
	size_t n_execs, cap_execs;
	struct duse *uses, *gens;
	size_t n_uses, cap_uses, n_gens, cap_gens;
	struct dderived *derived;
	size_t n_derived, cap_derived;
	struct dversion *versions;
	size_t n_versions, cap_versions;
	struct dpath *paths; /* sorted by key once it is loaded */
	size_t n_paths, cap_paths;
	struct idmap by_exec, by_version, by_path;
	uint64_t ending, code;
};

/* diff_side.c */
int side_load(struct store *s, enum diff_what what, store_id id, const struct diff_options *o, struct diff_text *text,
              struct err *err, struct side *ret);
void side_release(struct side *s);

/* diff_names.c */
/* What stays of a path or an argument when what is random in it is masked; and below the side's cwd, relative. */
void diff_mask_path(const struct side *s, struct str path, struct buf *out);
/* Masks what differs from run to run in the path from `at` on, component by component: of all of them, or of those
 * that call themselves temporary. */
void diff_mask_components(struct str path, size_t at, bool all, struct buf *out);

/* diff_pair.c: gives the executions of both sides their partners. 0 or -ENOMEM. */
int diff_pair(struct side side[2], size_t *ret_paired);

/* diff_items.c */
/* An execution that an item concerns. */
struct concern {
	uint32_t item, exec[2]; /* places in the sides, NONE */
};
struct items {
	struct diff_item *v;
	size_t n, cap;
	struct concern *concerns;
	size_t n_concerns, cap_concerns;
	struct concern *users; /* of files that only unpaired executions read */
	size_t n_users, cap_users;
	struct diff_text *text;
	const struct diff_options *o;
};
/* Appends a difference. */
struct diff_item *diff_items_append(struct items *it, enum diff_category category, enum diff_kind kind,
                                    struct str subject);
int items_files(struct store *s, struct side side[2], struct items *it, struct diff *d);
int items_sides(struct side side[2], struct items *it);
/* diff_pair_items.c */
int items_pairs(struct store *s, struct side side[2], struct items *it);
/* "signal 9", "exit 0" or the word for the ending, in place of what is in b. */
void diff_format_ending(struct buf *b, uint64_t ending, uint64_t code);
/* diff_failure.c: sets `failure`, and takes `rooted` from what only failing kept from being read or run. 0 or -ENOMEM.
 */
int diff_failures(struct side side[2], struct items *it);
/* diff_reuse.c: sets `reused`, and takes `rooted` from it: what one side used or ran to make what the other side took
 * over. 0 or -ENOMEM.
 */
int diff_reuse(struct side side[2], struct items *it);
/* diff_cause.c: how far each item reaches, their order, and which is the first. */
int diff_causes(struct side side[2], struct items *it, struct diff *d);
/* Of items in their order. SIZE_MAX none. */
size_t diff_first_cause(const struct diff *d, const struct diff_item *v, size_t n);

/* NAME and VALUE of an entry NAME=VALUE, in entry; false: it has no =. */
bool diff_split_variable(struct str entry, struct str *ret_name, struct str *ret_value);
/* The value of a variable in a list of such entries. */
bool diff_find_variable(const struct strlist *l, struct str name, struct str *ret);

#define diff_room(v, n, cap) ((n) < (cap) || vec_grow((void **)&(v), &(cap), (n) + 1, sizeof *(v)))

#endif

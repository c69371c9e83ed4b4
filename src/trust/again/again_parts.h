/* again_parts.h - the planning of again.h as its files share it: again_load.c reads the executions of a run,
 * again_differs.c finds which of them differ, again_steps.c makes steps of them, again.c puts it together. Not for
 * others: they include again.h.
 *
 * Functions that return int: 0 or -errno with a sentence in p->err, unless something else is said. */
#ifndef STEMMA_TRUST_AGAIN_PARTS_H
#define STEMMA_TRUST_AGAIN_PARTS_H

#include "base/vec.h"
#include "trust/again/again.h"

/* An execution of the run, with all of its edges. */
struct again_exec {
	store_id id;
	size_t parent; /* AGAIN_NONE */
	uint64_t pid, n, ending, code;
	int64_t start;
	char *exe, *script, *cwd;
	char **argv, **env;
	struct edges uses, gens;
	size_t pair;
	bool differs;
};
/* Who made a version. */
struct again_maker {
	store_id version;
	size_t at;
	bool inherited;
};
/* A run, and what is planned for it. */
struct again_loaded {
	struct again_side *out;
	struct again_exec *v;
	size_t n;
	VEC(struct again_maker) makers; /* sorted by version */
	bool redacted;
};
struct again_planning {
	struct store *s;
	const struct witness_options *o;
	const char *home, *dir;
	char *traces; /* folder of the record that traces are kept in, as the kernel names it; NULL none */
	struct err *err;
	struct again *a;
	struct again_loaded side[2];
	size_t fetched;
};

/* What a version held, as far as the record knows. Release it, also after an error. */
struct again_content {
	bool regular, named;
	struct version_info v;
	char *path, *digest;
};

/* Reports that there is no memory. -ENOMEM with a sentence. */
int again_oom(struct again_planning *p);
char *again_text(struct str s);                /* malloc'ed; NULL: no memory */
const char *again_last_part(const char *path); /* what follows the last slash */
/* Not of "/" itself. */
bool again_is_below(const char *path, const char *folder); /* never below the root */
/* Is it a kind of file through which one program feeds another? */
bool again_is_stream(uint64_t kind);
/* Puts the three texts together, unless there is a reason already. */
int again_set_reason(struct again_planning *p, char **ret, const char *one, const char *words, const char *other);

/* Reads the executions of a run into side k. 0, -errno with a sentence. */
int again_load(struct again_planning *p, int k, store_id run);
/* The first who made it; NULL: it is not of the run. */
const struct again_maker *again_maker_of(const struct again_loaded *s, store_id version);
/* Is the execution at, or one that it descends from, the one at top? Both are places in s->v. */
bool again_has_ancestor(const struct again_loaded *s, size_t at, size_t top);
struct again_exec *again_find_exec(struct again_loaded *s, store_id exec); /* NULL: it is not of the run */
/* Reads which file and version something was, to bring it back. 0, -errno with a sentence;
 * again_content_release(ret) in any case. */
int again_read_content(struct again_planning *p, store_id version, struct again_content *ret);

void again_content_release(struct again_content *x);

/* Numbers the pairs that differ and can be traced, and counts the others in p->a. 0, -errno with a sentence. */
int again_find_pairs(struct again_planning *p, const struct diff *d);

/* The steps of a side: its executions that differ, with those that make what they lack. s->out->whole: why that is not
 * enough. */
int again_plan_alone(struct again_planning *p, struct again_loaded *s);
/* The steps of a side: the whole command. A side that cannot be run again gets its reason: 0. -errno with a sentence.
 * */
int again_plan_whole(struct again_planning *p, struct again_loaded *s);
/* Releases the steps. They may be planned anew then. */
void again_drop_steps(struct again_side *o);

#endif

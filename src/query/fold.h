/* fold.h - to which execution another one counts, in what people read (B10; doc/graph.md, "Folding").
 *
 * A view and no more: the graph and its JSON have every execution. The table is fold.def. Strings that store_exec and
 * store_file returned before do not outlive these calls. */
#ifndef STEMMA_QUERY_FOLD_H
#define STEMMA_QUERY_FOLD_H

#include "base/buf.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "store/store.h"

enum fold_class {
	FOLD_program,
	FOLD_shell,   /* one that reads a script, or commands typed to it */
	FOLD_command, /* a shell that was given its commands as an argument, -c */
	FOLD_wrapper, /* the rest as in fold.def */
	FOLD_launcher,
	FOLD_driver
};

/* Of a shell, whatever it was given. */
bool fold_is_shell(enum fold_class c);
/* Of one that is of no interest beside what it starts: a shell with commands as its argument, a wrapper. */
bool fold_is_starter(enum fold_class c);
/* The class of the program that an execution runs: shell, driver, tool ... 1, 0 (there is no such execution),
 * -errno. */
int fold_class(struct store *s, store_id exec, enum fold_class *ret);
/* The execution to which it counts: the highest driver above it; else, of a fork of a program that is not in fold.def,
 * the program; else itself. 1, 0, -errno. */
int fold_representative(struct store *s, store_id exec, store_id *ret);
/* What was found out of programs and executions, for who asks of each execution of a run, in one view: zero it. */
struct fold_memo {
	struct idmap programs, places; /* file -> what its name says; execution -> place in above */
	VEC(struct fold_above {
		store_id driver; /* the highest one to which a program below counts; 0 none */
		store_id shim;   /* the next program above is one; 0: it is none */
		uint32_t steps;  /* executions up to the last that was looked at */
	})
	above;
	struct buf called; /* the name that was looked up last, and what it is */
	enum fold_class called_class;
};
void fold_memo_release(struct fold_memo *m);
/* Does it count to itself, is no starter, and was not started by a shim to find out about interpreters? What show has a
 * line for. Each is looked at once, but for chains of more than 64 forks and execs. 1, 0 (or there is no such
 * execution), -errno. */
int fold_stands_alone(struct store *s, struct fold_memo *m, store_id exec);
/* As fold_representative. m may be NULL. */
int fold_representative_of(struct store *s, struct fold_memo *m, store_id exec, store_id *ret);
/* Is a version of no interest but to those that count to `rep`: a pipe, or a file that had no name any more when
 * `rep` had ended, made and used by none but them? 1, 0, -errno. */
int fold_private(struct store *s, store_id version, store_id rep);

#endif

/* trace_set.h - which traces a word means, what they are of, and in which order they stand (doc/traces.md). */
#ifndef STEMMA_ANSWER_TRACE_TRACE_SET_H
#define STEMMA_ANSWER_TRACE_TRACE_SET_H

#include "base/err.h"
#include "spec/align/align_traces.h"
#include "spec/path/path.h"
#include "store/store.h"

#include <sys/types.h>

/* How the process of a trace ended, as far as something other than the trace tells. */
struct trace_exit_status {
	enum { EXIT_STATUS_UNKNOWN, EXIT_STATUS_EXITED, EXIT_STATUS_SIGNALED, EXIT_STATUS_EXEC } kind;
	bool has_code;    /* of EXITED; else another of its threads went through exit */
	uint64_t code;    /* its status, or the signal */
	char program[64]; /* EXEC: last part of the path of what it became; "" not known */
};
#define TRACE_FIRST 16
struct trace_file {
	char *path;
	struct trace_info info;
	bool calls;              /* of calls (spec/trace/calls.h): their functions, if any, are their own */
	bool functions;          /* names of functions only: ProvScope's .ftr, or by probes (spec/trace/entered.h) */
	bool probes;             /* the latter: it says of itself what it is of */
	const struct spec *spec; /* of the program; NULL: not known */
	/* Libraries that are in the trace, and their specifications, NULL not known; owned. */
	struct trace_set_library {
		struct trace_library told;
		const struct spec *spec;
	} * libraries;
	uint32_t n_libraries;
	size_t process; /* its number in the set, in the order of beginnings */
	size_t place;   /* of its process among those of the same program in the group */
	size_t group;   /* only traces of one group are compared */
	uint64_t process_began;
	/* Functions that are entered first, each in the one before; then which of them the thread is for: the first that is
	 * no library's. SPEC_NONE: none, not known. */
	uint32_t entered[TRACE_FIRST], first;
	store_id exec;   /* of the record, 0 not known */
	bool exec_named; /* and its program is known to be this one */
	store_id became; /* the execution that took its place, 0 */
	struct trace_exit_status exit_status;
	uint64_t size; /* of the program's file, where it is a trace of calls or by probes, and its time of change */
	int64_t time;
};
struct trace_set {
	struct trace_file *v; /* in the order of processes, then threads */
	size_t n;
	struct spec **specs;     /* owned */
	size_t n_specs, n_named; /* the first of them were named by the user */
	const char *home;        /* of the record that it is of, NULL */
	store_id run;            /* that was asked for, 0 */
	store_id exec;           /* that was asked for, with all that it started: of `run`; 0 */
	size_t group;            /* of the traces that are added */
};

/* The traces of a file, or of a folder; specs: files that the user named. 1; 0: there is no such file, with a sentence;
 * -errno with a sentence: a trace or a specification is none. Release in any case. */
int trace_set_find_files(const char *operand, char *const *specs, size_t n_specs, struct err *err,
                         struct trace_set *ret);
/* Adds the traces that were recorded with a run or execution. The same of a word that means a run or execution,
 * whose traces may be none: adds to ret. 1; 0 with a sentence: it means none; -errno with a sentence. */
int trace_set_find_recorded(struct store *s, const char *word, struct err *err, struct trace_set *ret);
/* The traces of a run, which may be none; exec != 0: those of that execution and of what it started. 0 or -errno. */
int trace_set_of_run(struct store *s, store_id run, store_id exec, struct err *err, struct trace_set *ret);
/* Leaves those of one rank of MPI. */
void trace_set_of_rank(struct trace_set *s, uint32_t rank);
/* Last part of the path of its program. */
const char *trace_program(const struct trace_file *f);
/* Name of the function that it begins in, of those that are no library's; NULL: not known. */
const char *trace_first_name(const struct trace_file *f);
/* Adds what lies in a folder; then, when all is there, brings the traces into their order, with their specifications. 0
 * or -errno. A specification that is not found is no error, but of a trace that has names alone (-EINVAL). */
int trace_set_add_folder(struct trace_set *s, const char *path, struct err *err);
int trace_set_settle(struct trace_set *s, struct err *err);
void trace_set_release(struct trace_set *s);
/* The first bytes of a file; how many, or -errno. Only regular files are looked into. */
ssize_t trace_first_bytes(const char *path, char *p, size_t n);
/* Traces that hold functions only: the paths that they took are searched in the specifications (spec/path/path.h).
 * ret_searched: what could not be decided, in words, or NULL; free it, and release what was found. */
int compare_function_traces(const struct atlas *m, const char *const path[2], const struct compare_options *o,
                            struct err *err, struct compared *ret, struct path_found *ret_found, char **ret_searched);

#endif

/* trace_answer.h - where two traces part: the data, its JSON, and the sentences of every form. */
#ifndef STEMMA_ANSWER_TRACE_TRACE_ANSWER_H
#define STEMMA_ANSWER_TRACE_TRACE_ANSWER_H

#include "answer/fmt.h"
#include "answer/js.h"
#include "spec/align/align_traces.h"
#include "store/store.h"

struct pair_calls;
struct trace_exit_status;
struct trace_set_library;
struct trace_noise;
struct trace_proof;

/* Of a line of trace_outputs.words. */
struct trace_output_line {
	char *name;   /* of a file; "": of all bytes that were written */
	int64_t more; /* bytes that B has more than A, 0 also: not known */
};
/* What the record knows of what both wrote (trace_outputs.h). */
struct trace_outputs {
	bool known;       /* the record was asked */
	bool differ;      /* ... and knows of something that is not the same; `words` says what, a line each */
	bool bytes_known; /* how many bytes both wrote in all; `bytes`, of A */
	uint64_t bytes;
	bool given_differ; /* they read something else, or had other arguments or variables */
	uint64_t in_files; /* bytes of the files that A made, which are compared */
	size_t n_open;     /* files that were made anew with the same size; whether they are the same is not known */
	char *words;       /* owned; NULL */
	struct trace_output_line *lines; /* owned: what each line of `words` is of */
	size_t n_lines;
	size_t n_noise;   /* lines that were taken out, as they differ between runs of A, too */
	char **libraries; /* owned: names of those that A's program used, ascending */
	size_t n_libraries;
};

/* One trace, or what stands for it, on one side. */
struct trace_side {
	const char *name; /* as the user sees it */
	const char *exe, *thread;
	const char *first; /* function that the thread enters first, NULL not known */
	const struct trace_exit_status *exit_status;
	store_id exec;                             /* of the record, 0 not known */
	size_t n_threads;                          /* of its process, that have traces */
	const struct trace_set_library *libraries; /* that are traced with it */
	uint32_t n_libraries;
	/* Others could have been its partner as well, of so many on either side. */
	bool uncertain;
	size_t alike[2];
	size_t steps;
	bool noise; /* of one without a partner: in some runs of A it is not there either */
};
/* Two threads that were compared. */
struct trace_pair {
	struct trace_side side[2];
	const struct atlas *atlas;
	struct compared c;
	/* Where the trace was only of functions: what the search for its path could not decide, in words; NULL. */
	char *searched;
	bool functions; /* they were */
	/* Where a message may be why they part: the rank that it came from, whose process parts, too. NULL: there is none.
	 */
	const struct trace_pair *sender;
	char **names; /* of functions that are not in the specification, by their numbers behind its own; some NULL */
	uint32_t n_names;
	struct pair_calls *calls; /* they are traces of calls (trace_calls_words.h); NULL */
	const struct trace_noise
	    *noise; /* what differs between runs of A is left out (trace_noise.h); NULL: that is not known */
	/* Where the first difference, or datum, was taken back: the same threads, run again and recorded more closely
	 * there, and how many of its differences stand for the first one. NULL. */
	const struct trace_pair *closer;
	size_t n_closer;
	const char *closer_why; /* why there is none, in words; NULL: nobody looked */
	bool noise_hides;       /* without that they differ */
	struct trace_outputs outputs;
};
struct trace_view {
	const char *what[2]; /* what the sides are called on the command line */
	struct trace_pair *v;
	size_t n;
	struct trace_side *only; /* without a partner */
	int *only_side;
	size_t n_only;
	bool greedy;
	/* Where the traces were made by running again: what was run, and what did not go as in the run. */
	bool again;
	char *const *ran, *const *note;
	size_t n_ran, n_notes;
	const struct trace_proof *proof; /* of the first pair that differs (trace_proof.h); NULL: none was asked for */
	const struct trace_noise *noise; /* NULL */
	struct trace_outputs outputs;    /* what differs, and no program of a pair is known to have made */
};

enum trace_verdict {
	TRACE_SAME,       /* no control difference, and none in data, or data was not recorded; nor in what they wrote */
	TRACE_DATA,       /* no control difference, data or a message differs */
	TRACE_CONTROL,    /* it took another way */
	TRACE_ITERATIONS, /* a loop made another number of turns, and that is all */
	TRACE_OUTPUT,     /* no control difference, but they wrote something else */
	TRACE_UNKNOWN,    /* no control difference as far as both traces go, and that is not to the end */
	TRACE_NOISE,      /* what differs also differs between runs of A */
};
/* Equal as far as was compared may still be TRACE_UNKNOWN. TRACE_ITERATIONS: they differ in how often loops ran alone.
 * */
enum trace_verdict trace_verdict(const struct trace_pair *p);

const char *trace_verdict_word(enum trace_verdict v);

/* How many differences are told, and number i of them with the pair that it is of: p, or the closer one. */
size_t trace_differences(const struct trace_pair *p);
const struct trace_pair *trace_difference(const struct trace_pair *p, size_t i, const struct difference **ret);
/* ... and the one whose first datum is told. */
const struct trace_pair *trace_of_datum(const struct trace_pair *p);

/* The name of a function of that side's specification. NULL: it has none that is known. */
const char *trace_function_name(const struct trace_pair *p, int side, uint32_t function);
/* The specification of that side, or the other's where it has none; NULL if neither has. */
const struct spec *trace_pair_spec(const struct trace_pair *p, int side);

/* A side that knows the function: 0, or 1 where only B does. */
int trace_pair_knows(const struct trace_pair *p, uint32_t function);
/* "integrate()", or its number. */
void trace_words_function_at(const struct trace_pair *p, int side, uint32_t function, struct buf *b);

/* "true", "case 3"; "" where it is not known what the outcome is in the source. */
const char *trace_outcome_label(const struct trace_pair *p, int side, const struct spot *s);
/* "integrate() at integ.c:88" */
void trace_words_place(const struct trace_pair *p, int side, uint32_t function, uint32_t node, struct buf *b);
/* "integrate() at integ.c:88: A took true, B false" */
void trace_words_divergence(const struct trace_pair *p, const struct difference *d, struct buf *b);
/* Did they part in what was computed without a system call, and so taken back? Then no line is known. */
bool trace_is_silent(const struct difference *d);
/* "integrate() at integ.c:88", and what a side did there: "took true (d < tol: 0.00097 < 0.001)". */
void trace_words_at(const struct trace_pair *p, const struct difference *d, struct buf *b);
void trace_words_side_operands(const struct trace_pair *p, const struct difference *d, int side, struct buf *b);
/* "d < tol: 0.00097 < 0.001 | 0.00097 < 1e-09": the source's words, if the specification has them, and the operands, if
 * the traces do. */
void trace_words_operands(const struct trace_pair *p, const struct spot at[2], struct buf *b);
/* "rank 2 receives from 0 tag 7 | from 1 tag 7, of any source: worker() at w.c:38", the first message that differs. */
void trace_words_message(const struct trace_pair *p, struct buf *b);
/* "0.1", or "0.1 | 0.2"; ", rank 3", ", rank 3 | rank 4", nothing. */
void trace_words_thread(const struct trace_pair *p, struct buf *b);
void trace_words_rank(const struct trace_pair *p, struct buf *b);
/* "rank 1: main() at w.c:30: A took true, B false", of the sender; nothing. Did the message itself differ, or is it
 * only the last one before? */
void trace_words_sender(const struct trace_pair *p, struct buf *b);
/* "receive", "Bcast" */
const char *trace_message_name(unsigned kind);
/* No difference at all, as far as was recorded, and all of both traces is there. */
bool trace_is_same(const struct trace_pair *p);
/* No difference beyond what differs between runs of A, and such a one. */
bool trace_is_noise(const struct trace_pair *p);
/* "not noise: the same in 3 repetitions of A", and what was left out, a line each; nothing where noise is not known. */
void trace_words_noise(const struct trace_pair *p, struct buf *b);
/* They took another way, or came upon other data or messages. */
bool trace_parts(const struct trace_pair *p);
/* Is something of a side's trace missing: its end, or what a gap or damage stands for? */
bool trace_is_incomplete(const struct trace_pair *p, int side);
/* What no trace tells, where both are the same: functions and branches of the program, libraries. */
void trace_words_unexamined(const struct trace_pair *p, struct buf *b);
uint64_t trace_unexamined_functions(const struct spec *s);
uint64_t trace_unexamined_branches(const struct spec *s);
/* What the record knows of what both wrote. */
void trace_words_outputs(const struct trace_pair *p, struct buf *b);
/* Are they of two builds whose graphs are alike? */
bool trace_built_anew(const struct trace_pair *p);
/* Where threads took part, so that what differs may be their order. */
void trace_words_threads(const struct trace_pair *p, struct buf *b);
/* "main() main.c:40 > run() run.c:12", the callers, outermost first. */
void trace_words_stack(const struct trace_pair *p, const struct difference *d, int side, struct buf *b);
/* "12 turns | 31 turns of the loop at integ.c:80"; nothing if it is not about turns. */
void trace_words_iterations(const struct trace_pair *p, const struct difference *d, struct buf *b);
/* The first thing that was done alike with other data: what, and where. */
void trace_words_datum(const struct trace_pair *p, struct buf *b);
/* Where they meet again. */
void trace_words_meet(const struct trace_pair *p, const struct difference *d, struct buf *b);
/* "is killed by SIGKILL", "exits with status 3"; false: nothing is known that the trace does not say itself. */
bool trace_words_exit(const struct trace_exit_status *f, bool cut, struct buf *b);
/* How the two sides ended, where that is not the same or was no ordinary end: "A is killed by SIGKILL after main() at
 * w.c:38 | B exits with status 0". */
void trace_words_ends(const struct trace_pair *p, struct buf *b);
/* Where others of its kind could have been the partner as well: that, and how it was chosen. */
void trace_words_uncertain(const struct trace_side *s, struct buf *b);
/* "a::f(int)" of what C++ calls _ZN1a1fEi (answer/trace/demangle.h); what has its arguments in the name is a call as it
 * is; else "()" follows. */
void trace_words_function(const char *name, struct buf *b);
/* Each reason why the answer is partial, or the programs are not the same: a line each. */
void trace_words_notes(const struct trace_pair *p, struct buf *b);
/* The verdict in a sentence, where there is no divergence. */
void trace_words_same(const struct trace_pair *p, struct buf *b);

/* Lines around a place of a source. `first` is the number of the first one. */
struct source_lines {
	char *text; /* lines, each ended by \n */
	unsigned first, n;
};
/* Reads the lines of source around where the sides differ; ret_line: that line. 1; 0: no line is known, or the
 * source is not there; -ENOMEM. ret->text is the caller's. */
int source_of_difference(const struct trace_pair *p, const struct difference *d, unsigned around,
                         struct source_lines *ret, unsigned *ret_line);

/* The answer of `stemma diff --trace --json`, a new reference. */
json_t *trace_json(const struct trace_view *v);

#endif

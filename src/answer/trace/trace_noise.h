/* trace_noise.h - what differs between runs of one command with the same inputs: addresses, times, process ids, the
 * order of threads. It is found by comparing such runs with each other, and two other runs are then compared without
 * it (spec/align/align_noise.h).
 *
 *     struct trace_noise n = {0};
 *     trace_noise_learn(&n, source, &a, &repetition, &err);     ... for each repetition
 *     trace_compare_beyond(source, &options, &n, &err, &comparison);
 *     ...
 *     trace_noise_release(&n);
 *
 * Traces of calls, and of functions alone, are not looked at. Strings belong to the struct. */
#ifndef STEMMA_ANSWER_TRACE_TRACE_NOISE_H
#define STEMMA_ANSWER_TRACE_TRACE_NOISE_H

#include "answer/trace/trace_compare.h"

struct align_noise;

struct noise_site {
	uint64_t spec; /* the specification that the numbers are of */
	uint32_t function, node;
	unsigned kinds; /* NOISE_*, of align_noise.h */
	char *words;    /* "stamp() at noisy.c:11" */
};
struct trace_noise {
	struct noise_site *v;
	size_t n, cap;
	char **files; /* that the runs made, and that differ */
	size_t n_files;
	char **threads; /* that are in some of the runs only, each as its program and first function */
	size_t n_threads;
	unsigned recorded, again; /* repetitions of A that the record had, and that were run for this */
	bool unsettled;           /* without all this two of the runs still differ */
	char *strayed; /* where A, as it is recorded, went another way than when it was run again; NULL: nowhere */
};

/* Adds what differs between the two, runs of one command. 0 or -errno with a sentence. */
int trace_noise_learn(struct trace_noise *n, const struct answer_source *a, const struct trace_set *x,
                      const struct trace_set *y, struct err *err);
/* A file that two of the runs made, and that differs. 0 or -ENOMEM. */
int trace_noise_add_file(struct trace_noise *n, const char *name);
/* The recorded run, and one that was made again: does it differ beyond what was learnt? Sets strayed. 0, -errno with a
 * sentence. */
int trace_noise_look_for_strays(struct trace_noise *n, const struct answer_source *a, const struct trace_set *recorded,
                                const struct trace_set *again, struct err *err);
/* Compares what has been compared once more, without the noise. 0 or -errno. n must outlive j. */
int trace_compare_beyond(const struct answer_source *a, const struct compare_options *o, const struct trace_noise *n,
                         struct err *err, struct trace_comparison *j);
void trace_noise_release(struct trace_noise *n);

/* For trace_compare: what was learnt of this specification, in ret. 0 or -ENOMEM. */
int trace_noise_of_spec(const struct trace_noise *n, uint64_t spec, struct align_noise *ret);
/* ... and takes out of a view what is left: files, threads, and differences without a decision of their own. */
void trace_noise_take_out(const struct trace_noise *n, struct trace_view *v);

#endif

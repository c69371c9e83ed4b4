/* bench_once.h - one repetition of a benchmark: recorded in a child process, its standard output kept for the
 * extractors. */
#ifndef STEMMA_CMD_BENCH_BENCH_ONCE_H
#define STEMMA_CMD_BENCH_BENCH_ONCE_H

#include "cmd/run/run_trust.h"

struct bench_once {
	int status;            /* as from waitpid */
	double wall, cpu;      /* s; of the command by the record, else of all with the recorder */
	double others, stolen; /* shares of a processor that went elsewhere meanwhile; negative: not known */
	struct trust_results *results;
	size_t n_results;
	char run[27]; /* "" it was not recorded */
	/* Where its record lies, and what was kept beside it. */
	struct run_place places[2];
	size_t n_places;
	bool has_printed;
	int printed; /* what it printed on its standard output: an open file, where has_printed */
};

/* Runs t->argv once. labels as in struct run_options. record: keep a record. show: what it prints goes to our standard
 * output, too. t is begun and released inside; its benchmark file stays. 0 or -errno with a sentence.
 * bench_once_release: closes what it printed, too. */
int bench_once(struct run_trust *t, const char *home, const char *index, const char *no_home, const char *const *labels,
               bool record, bool show, struct err *err, struct bench_once *ret);
void bench_once_release(struct bench_once *o);

/* Between the two a signal that is to end us (SIGINT, SIGTERM, SIGHUP) goes to the command of the run at hand, if it
 * has not got it already, and is remembered: which, or 0. */
void bench_stop_begin(void);
int bench_stopped(void);  /* the signal, 0 */
int bench_stop_end(void); /* the signal, 0 */

#endif

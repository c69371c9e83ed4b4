/* sizing.h - how much to ask for, from what tasks before needed.
 *
 * A task needs r of a resource for a time t. It is asked for a; if r > a it fails, and is asked for a_m, the most ever
 * seen. What a failed attempt used up is taken as a for the whole of t: the worst case. The methods (Tovar et al., "A
 * job sizing strategy for high-throughput scientific workflows", IEEE Transactions on Parallel and Distributed Systems
 * 29(2), 2018), with E the mean over the tasks, [x] 1 where x holds, else 0:
 *
 *   maximum     1.2 a_m: what people do
 *   quantile    the least a with P(r <= a) >= q
 *   waste       the a that makes  a E(t) + a_m E(t [r > a])  least: what is allocated over time, of which E(r t) is
 * used and does not depend on a throughput  the a that makes  (a_m / a P(r <= a) + P(r > a)) / (E(t) + E(t [r > a]))
 * greatest: so many tasks run side by side where one with a_m has room, per time that a task takes with its second
 * attempt regression  c + b input + e: least squares of r on the bytes of input, and e such that the share q of the
 * tasks lies below; where b is not above 0 or inputs do not differ it gives no answer
 *
 *   regression97, regression95  the same line, and e such that 0.97 or 0.95 of the tasks lie below: where few tasks
 * need much more than the line says, failing first costs less than asking all for as much. A back-test tells
 *
 * P is 1/n for each task where all of them ended by themselves. Of a task that was killed it is only known that r is at
 * least what it had: it is censored, and P is the estimate of Kaplan and Meier ("Nonparametric estimation from
 * incomplete observations", JASA 53, 1958). What P then leaves beyond the last of the others stands at twice the
 * largest value, which is what a next attempt would ask for.
 *
 * Cost: adding is O(1); a fit is O(n), with a sort of the residuals where some are censored. No threads. */
#ifndef STEMMA_ARCHIVE_SIZING_H
#define STEMMA_ARCHIVE_SIZING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum method {
#define METHOD(name, meaning) METHOD_##name,
#include "archive/methods.def"
	METHODS
};
const char *method_name(enum method m);
/* The method of that name, or -1. */
int method_by_name(const char *name);

#define SIZING_NO_INPUT (-1.0)
struct sizing_task {
	double need, time; /* the need of a censored one: at least so much. time > 0 */
	double input;      /* bytes, or SIZING_NO_INPUT */
	bool censored;
};

struct sizing; /* what is known of the tasks so far */
/* Begins to learn what tasks need from what past ones used. quantile: 0..1 of the tasks that are to fit. NULL: no
 * memory. */
struct sizing *sizing_new(double quantile);

void sizing_free(struct sizing *s);
/* Adds a past task. 0 or -ENOMEM. It counts from the next fit on. Nothing to do where no task came since the last
 * fit. */
int sizing_add(struct sizing *s, const struct sizing_task *t);
int sizing_fit(struct sizing *s);
size_t sizing_tasks(const struct sizing *s);    /* that the last fit knew */
size_t sizing_censored(const struct sizing *s); /* of these */
/* The most ever seen. */
double sizing_most(const struct sizing *s);
/* What the method asks for a task with that input. False: it has no answer. ret_open (may be NULL): the answer lies
 * beyond what was ever seen to be enough. */
bool sizing_ask(const struct sizing *s, enum method m, double input, double *ret, bool *ret_open);
/* The line and the share of the variance that it explains; false: there is none. */
bool sizing_line(const struct sizing *s, double *ret_offset, double *ret_slope, double *ret_r2);

/* ---- what each method would have given ---- */

struct backtest {
	size_t tasks;            /* that it had an answer for */
	size_t failed, attempts; /* tasks whose first attempt failed; attempts in all */
	double allocated, used;  /* resource times time */
};
/* Tests the methods of sizing: each task is asked for by what those before it tell, in the order given; the first
 * `warm_up` only teach. Fits anew where the history has grown by 3 %. Censored tasks teach, but what they needed is
 * not known: they are not judged. 0 or -ENOMEM. */
int backtest_run(const struct sizing_task *v, size_t n, size_t warm_up, double quantile, struct backtest ret[METHODS]);

#endif

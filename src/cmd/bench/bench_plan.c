#include "cmd/bench/bench_plan.h"

#include "base/child.h"
#include "base/io.h"
#include "base/os/memfile.h"
#include "keep/write.h"
#include "trust/bench/plan.h"
#include "trust/chain/chain.h"
#include "trust/chain/chain_head.h"
#include "trust/chain/chain_witness.h"
#include "trust/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAITING_MAX 256 /* sessions; more are left to stemma trust --seal */

/* Frees what is noted of the runs that wait. */
static void forget_waiting(struct bench_plan *p)
{
	for (size_t i = 0; i < p->n_waiting; i++)
		free(p->waiting[i].segment);
	free(p->waiting);
	p->waiting = NULL;
	p->n_waiting = 0;
}

/* Keeps those of the places that are not sealed for the next step. */
static void keep_waiting(struct bench_plan *p, const struct run_place *places, const bool *sealed, size_t n)
{
	struct run_place *more = calloc(n + 1, sizeof(*more));
	size_t k = 0;
	for (size_t i = 0; more && i < n && k < WAITING_MAX; i++) {
		if (sealed[i] || !places[i].segment || !(more[k].segment = strdup(places[i].segment)))
			continue;
		more[k].session = places[i].session;
		more[k++].from = places[i].from;
	}
	forget_waiting(p);
	p->waiting = more;
	p->n_waiting = more ? k : 0;
}

/* With what earlier steps left. */
static void seal_step(struct bench_plan *p, struct chain_step step)
{
	struct err err = {0};
	struct chain_seal_result r;
	size_t n = step.n_places + p->n_waiting;
	struct run_place *places = calloc(n + 1, sizeof(*places));
	step.sealed = calloc(n + 1, sizeof(*step.sealed));
	int rc = places && step.sealed ? 0 : err_set(&err, ENOMEM, "cannot seal");
	if (rc == 0) {
		if (step.n_places)
			memcpy(places, step.places, step.n_places * sizeof(*places));
		if (p->n_waiting)
			memcpy(places + step.n_places, p->waiting, p->n_waiting * sizeof(*places));
		step.places = places;
		step.n_places = n;
		rc = chain_step(p->home, &step, &err, &r);
	}
	if (rc == 0) {
		keep_waiting(p, places, step.sealed, n);
	} else {
		p->on = false;
		report("sealing failed, so claims about this benchmark cannot be proved complete: %s", err.text);
	}
	free(places);
	free(step.sealed);
}

/* ---- the witness ---- */

/* Runs the command with the head as its standard input. 0, or -errno with a sentence. */
static int run_witness(const char *command, const struct buf *head, struct buf *said, struct err *err)
{
	char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	int in = memfile_new("head");
	int rc = in < 0 ? in : io_write(in, head->p, head->n, NULL);
	if (rc == 0 && lseek(in, 0, SEEK_SET) < 0)
		rc = -errno;
	if (rc == 0)
		rc = child_read(&(struct child){.argv = argv, .in = in, .err = CHILD_SAME, .most = WITNESS_BYTES}, said);
	if (in >= 0)
		close(in);
	if (rc < 0)
		return err_set(err, -rc, "cannot start the witness command");
	return rc == 0 ? 0 : (err_set(err, 0, "the witness command failed"), -EIO);
}

/* Is what was said one statement on this head? */
static bool is_statement_on(const struct buf *said, const struct chain_head *h, struct err *err)
{
	struct witnessed w;
	size_t at = 0;
	if (witness_next(buf_view(said), &at, err, &w) != 1)
		return err_set(err, 0, "the witness command printed no statement"), false;
	if (w.number == h->number && digest_eq(&w.hash, &h->hash))
		return true;
	err_set(err, 0, "the witness command signed another head than the one that it was given");
	return false;
}

/* Appends it to the host's statements. 0; -errno with a sentence. */
static int keep_statement(const struct bench_plan *p, const char *host, const struct buf *said, struct err *err)
{
	char *path;
	if (asprintf(&path, "%s/seals/%s.statements", p->home, host) < 0)
		return err_set(err, ENOMEM, "cannot store the statement of the witness");
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
	int rc = fd < 0 ? -errno : io_write(fd, said->p, said->n, NULL);
	if (fd >= 0)
		close(fd);
	free(path);
	return rc < 0 ? err_set(err, -rc, "cannot store the statement of the witness") : 0;
}

/* Asks the program that the user named to sign the chain's head. What fails is only reported. */
static void ask_witness(const struct bench_plan *p)
{
	struct err err = {0};
	struct buf head = {0}, said = {0};
	struct chain_head h;
	char host[256];
	if (!p->on || !p->witness)
		return;
	keep_host(host, sizeof(host));
	int rc =
	    chain_head_read(p->home, host, &h) == 1 ? 0 : err_set(&err, EIO, "cannot read the last seal of host %s", host);
	if (rc == 0) {
		witness_put_head(host, h.number, &h.hash, &head);
		rc = run_witness(p->witness, &head, &said, &err);
	}
	if (rc == 0 && is_statement_on(&said, &h, &err))
		rc = keep_statement(p, host, &said, &err);
	if (err.text[0])
		report("no witness signed seal %llu: %s", (unsigned long long)h.number, err.text);
	chain_key_erase(&h.key);
	buf_release(&head);
	buf_release(&said);
}

void bench_plan_begin(struct bench_plan *p, const struct run_trust *t, uint64_t runs, uint64_t warmup,
                      const char *benchfile, const char *index)
{
	struct err err = {0};
	struct elements parameters = {0};
	struct machine machine = {0};
	struct run_place place;
	const char *slash = index ? strrchr(index, '/') : NULL;
	char *dir = slash ? strndup(index, (size_t)(slash - index)) : NULL;
	if (!p->home) {
		free(dir);
		return;
	}
	machine_read(&machine);
	extract_parameters(&t->file, t->argv, &parameters);
	struct plan plan = {.id = p->id,
	                    .runs = runs,
	                    .warmup = warmup,
	                    .argv = t->argv,
	                    .benchfile = benchfile,
	                    .parameters = &parameters,
	                    .invariants = &machine.invariant,
	                    .digest = t->digest,
	                    .cache = dir && t->digest ? digest_cache_open(dir) : NULL};
	p->on = plan_write(p->home, &plan, &err, &place) == 0;
	if (p->on)
		seal_step(p, (struct chain_step){
		                 .kind = CHAIN_STEP_BEGIN, .plan = p->id, .run = "", .places = &place, .n_places = 1});
	else
		report("the plan of this benchmark is not sealed: %s", err.text);
	ask_witness(p);
	digest_cache_close(plan.cache);
	elements_release(&parameters);
	machine_release(&machine);
	free(place.segment);
	free(dir);
}

void bench_plan_repetition(struct bench_plan *p, const struct bench_once *o)
{
	p->made++;
	if (p->on)
		seal_step(p, (struct chain_step){.kind = CHAIN_STEP_REPETITION,
		                                 .plan = p->id,
		                                 .repetition = p->made,
		                                 .run = o->run,
		                                 .places = o->places,
		                                 .n_places = o->n_places});
}

void bench_plan_end(struct bench_plan *p)
{
	if (p->on)
		seal_step(p, (struct chain_step){.kind = CHAIN_STEP_END, .plan = p->id, .run = "", .repetition = p->made});
	ask_witness(p);
	forget_waiting(p);
}

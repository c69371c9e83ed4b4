/* chain.h - evidence of tampering: a chain of hashes over the record (doc/trust.md).
 *
 * A seal is an event in a session of its own. It lists sessions of the log, each with how many bytes of its frames are
 * sealed and their SHA-256, and holds the hash of the seal before it. So whoever changes, removes or swaps something
 * that is sealed must make every later seal anew, and then the last hash is another: who has that (a paper, a
 * signature, another machine) sees it. A chain is a host's: each host seals its own logs, and no host waits for
 * another.
 *
 * What `forget` and `gc` took out whole is told by tombstones; what they took out of a session that stays is sealed
 * again (why = 1), provided that it had matched before. Both are counted.
 *
 * A seal may be a step of a benchmark's plan (chain_step): the plan before its first run, each repetition when it is
 * over, and the end. So how many repetitions there were stays in the chain, whatever is taken out of the record.
 *
 * Not seen: the removal of the newest seals together with all they cover, unless this host (chain_head.h) or somebody
 * (`expect`) knows a later hash; the order in which frames of different sessions lie in a file, which means nothing.
 *
 * Cost: all logs are read once; the reading of checksums, then SHA-256. 60 bytes of memory a frame. No printing. */
#ifndef STEMMA_TRUST_CHAIN_CHAIN_H
#define STEMMA_TRUST_CHAIN_CHAIN_H

#include "base/digest.h"
#include "base/err.h"

#include <stdint.h>

struct run_place;

#define CHAIN_SESSION 48 /* bytes of an entry of a seal: number, bytes sealed (both little-endian), SHA-256 */

struct chain;
/* Reads the logs of home through, and their seals. locked: the caller holds the keepers' lock. 0 or -errno: -ENOENT
 * there are no logs. */
int chain_open(const char *home, bool locked, struct err *err, struct chain **ret);
void chain_close(struct chain *c); /* NULL is fine */

struct chain_report {
	uint64_t seals, hosts;         /* links; chains */
	uint64_t sessions, bytes;      /* sealed, and as they were */
	uint64_t forgotten, rewritten; /* explained by tombstones; sealed again after something was taken out */
	uint64_t unsealed;             /* sessions, or later parts of some, that are not sealed (yet) */
	uint64_t with_signature;       /* seals */
	uint64_t problems;
	bool expected; /* the hash that was asked for is one of the chain's */
	bool cut;      /* a seal that is known to have been made is not there, nor any after it */
	struct chain_plan *plans;
	size_t n_plans;
};
/* What became of a benchmark's plan. */
struct chain_plan {
	char id[27];
	bool known;             /* the plan itself is there, and so is `planned` */
	bool began, over;       /* sealed before its first run; sealed that no more would be made */
	uint64_t planned, made; /* repetitions */
	uint64_t there;         /* of those that were made: whose runs are in the record */
	uint64_t forgotten;     /* ... are told of by tombstones */
};
void chain_report_release(struct chain_report *r);
/* Checks everything. Each problem is said in a sentence. expect: 64 hex digits, NULL none. 0 or -errno. */
int chain_verify(struct chain *c, const char *expect, void (*say)(void *arg, const char *line), void *arg,
                 struct err *err, struct chain_report *ret);

struct chain_seal_result {
	uint64_t seals, sessions, bytes; /* made now */
	uint64_t waiting;                /* sessions that still go on */
	char head[65];                   /* hash of the last link, "" none */
};
/* Seals what is not sealed of the sessions that are over: on a file system that others write, too, of this host's only.
 * sign (may be NULL) signs a hash: its result, malloc'ed, and who (malloc'ed). 0 or -errno. */
int chain_seal(struct chain *c,
               int (*sign)(void *arg, const char *hash, char **ret_signature, char **ret_key, struct err *err),
               void *arg, struct err *err, struct chain_seal_result *ret);

/* From now on the seals of this host have keys that only go forward (chain_key.h); the start key is written to a new
 * file. 0 or -errno with a sentence: -EEXIST. */
int chain_start_key(struct chain *c, const char *path, struct err *err);
struct chain_start;
/* Were the seals from the start key's on made with its keys, each when it was made, and does the chain end where the
 * host's next key stands? Each problem is said and counted. Returns how many seals are right. */
uint64_t chain_verify_key(struct chain *c, const struct chain_start *start, void (*say)(void *arg, const char *line),
                          void *arg, struct chain_report *r);

/* A step of a plan: 1: before its first run, 2: a repetition, 3: no more are made. */
enum chain_step_kind { CHAIN_STEP_NONE, CHAIN_STEP_BEGIN, CHAIN_STEP_REPETITION, CHAIN_STEP_END };
struct chain_step {
	enum chain_step_kind kind;
	const char *plan;               /* ULID */
	uint64_t repetition;            /* of a repetition which, from 1; of the end how many were made */
	const char *run;                /* ULID of the repetition's run; "" it left no record */
	const struct run_place *places; /* of the sessions that are sealed with it */
	size_t n_places;
	bool *sealed; /* of each place: it was sealed, or is not there; false: it goes on. NULL: not asked for */
};
/* Seals a step with what its sessions hold, in some milliseconds: of the record it reads those sessions only, if this
 * host knows the head of its chain. A session that still goes on is left to the next step, or to chain_seal. 0, or
 * -errno with a sentence.
 */
int chain_step(const char *home, const struct chain_step *step, struct err *err, struct chain_seal_result *ret);

/* For those who take something out of the logs: before it, which sealed sessions match; after it, in a chain opened
 * anew, those of them that do not any more and are still there are sealed again. 0, -errno with a sentence. */
int chain_matching(struct chain *c, struct err *err, uint64_t **ret, size_t *ret_n);
/* Seals again what was changed on purpose: sessions that were as sealed before something was taken out. 0, -errno
 * with a sentence. */
int chain_cut(struct chain *c, const uint64_t *matched, size_t n, struct err *err);

/* Each seal with its signature, by chain and number: stops where each does not return 0, and returns that. */
int chain_each(struct chain *c, int (*each)(void *arg, const char *name, const char *hash, const char *signature),
               void *arg);

#endif

/* chain_parts.h - a chain as its files share it: chain.c reads the logs and their seals, chain_verify.c holds the one
 * against the other, chain_seal.c makes new seals. Not for others: they include chain.h. */
#ifndef STEMMA_TRUST_CHAIN_CHAIN_PARTS_H
#define STEMMA_TRUST_CHAIN_CHAIN_PARTS_H

#include "base/digest.h"
#include "base/map.h"
#include "base/vec.h"
#include "graph/collect.h"
#include "trust/chain/chain.h"

#include <stdarg.h>

/* A session of the log. */
struct chain_part {
	uint64_t number; /* session */
	size_t first, n; /* frames */
	uint32_t segment;
	uint64_t offset;
	bool keeping, seals; /* written by a keeper; holds seals */
	int64_t began;       /* time of its first event; TIME_NONE: not known */
};
/* A run that says that a benchmark made it. */
struct chain_labelled {
	char bench[27], run[27];
	size_t part;
};
/* A plan as its event has it. */
struct chain_planned {
	char id[27];
	uint64_t runs;
	int64_t time;
};
/* What a seal says of a session. */
struct chain_entry {
	uint64_t session, bytes;
	struct digest digest;
	size_t seal; /* index, in the order of chains */
};
/* A seal as its event has it; owns its texts. */
struct chain_link {
	char *chain, *key, *signature;
	uint64_t number, why;
	int64_t time;
	unsigned char before[DIGEST_BYTES];
	bool first; /* it has no hash before it */
	struct digest hash;
	bool sound;     /* the hash is that of what it says */
	size_t from, n; /* entries */
	enum chain_step_kind step;
	char plan[27], run[27]; /* of a step; run: of a repetition */
	uint64_t repetition;
	bool keyed; /* it names a start key, and has a mac */
	struct digest start, mac;
};

struct chain {
	char *home;
	int lock;
	bool shared;
	struct collect w;
	VEC(struct chain_part) parts; /* as they lie in the segments */
	struct map by_number;         /* session -> index in parts */
	VEC(struct chain_link) seals; /* by chain and number */
	VEC(struct chain_entry) entries;
	struct map dead;      /* session that a tombstone tells of -> 1 */
	struct map dead_runs; /* hash of the id of a run that one tells of -> 1 */
	VEC(struct chain_labelled) labelled;
	VEC(struct chain_planned) planned;
	/* the window */
	int fd;
	uint32_t segment;
	char *room;
	uint64_t base;
	size_t have;
};

/* Frames of a session that count, one after the other. Begin with {.p = PART}. */
struct chain_frames {
	const struct chain_part *p;
	size_t i;
	uint64_t seq;
};
/* The next one, of the chain: what is met again is passed over. NULL at the end. */
const struct collect_frame *chain_next_frame(struct chain *c, struct chain_frames *f);
/* Calls say for each event of the frame, until it does not return 0; returns that. What a damaged frame says is not
 * known and passed over. -EIO: it cannot be read. */
int chain_each_event(struct chain *c, const struct collect_frame *f, int (*say)(void *arg, const struct event *ev),
                     void *arg);

/* A chain of the sessions at these places only, and without its seals. The caller holds the keepers' lock. 0 or -errno
 * with a sentence. */
int chain_open_places(const char *home, const struct run_place *places, size_t n, struct err *err, struct chain **ret);

/* SHA-256 of what the seal says, as its event has it but for the hash, the key and the signature. time: the event's. */
void chain_hash_seal(const struct event_seal *s, int64_t time, struct digest *ret);

/* Hashes a session's frames; the digest of its first `bytes` where a frame ends there. */
struct chain_hashing {
	struct digest_sum sum;
	struct chain_frames f;
	uint64_t bytes;
};

/* Hashes on, until at least so many bytes of the session are hashed or it ends. 0, -EIO. */
int chain_hash_to(struct chain *c, struct chain_hashing *h, uint64_t bytes);
/* How many bytes of a session a seal that is made now would cover. */
uint64_t chain_length_of(struct chain *c, const struct chain_part *p);

/* What a session is like, beside its seals: as it was, with other bytes, or with fewer. */
enum chain_match { CHAIN_MATCHES, CHAIN_CHANGED, CHAIN_SHORTER };
/* Calls say for each sealed session, in the order in which they lie in the logs: so each segment is read once. p: NULL
 * if it is not there any more; cut: something was taken out of it by forget or gc, and it was sealed again; sealed:
 * bytes. 0 or the first result of say that is not 0, or -errno with a sentence. */
int chain_each_session(struct chain *c,
                       int (*say)(void *arg, const struct chain_part *p, uint64_t session, enum chain_match m, bool cut,
                                  uint64_t sealed),
                       void *arg, struct err *err);

/* Something is wrong with the chain: counts it in r and says it, in 399 bytes at most. */
void chain_problem(struct chain_report *r, void (*say)(void *arg, const char *line), void *arg, const char *fmt,
                   va_list ap) __attribute__((format(printf, 4, 0)));

/* What became of the plans of benchmarks, into r; what is wrong with them is said. 0 or -ENOMEM. */
int chain_check_plans(struct chain *c, void (*say)(void *arg, const char *line), void *arg, struct chain_report *r);

/* The keepers' lock of the record; closing *ret gives it back. 0 or -errno with a sentence. */
int chain_lock(const char *home, struct err *err, int *ret);

/* Reports that there is no memory. -ENOMEM with a sentence. */
int chain_oom(struct err *err);

#endif

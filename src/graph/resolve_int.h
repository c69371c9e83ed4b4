/* resolve_int.h - what resolve.c and resolve_regular.c share. */
#ifndef STEMMA_GRAPH_RESOLVE_INT_H
#define STEMMA_GRAPH_RESOLVE_INT_H

#include "graph/resolve.h"

#define HOST_ANY UINT32_MAX /* of a moment that is compared without skew */

/* A version while it is made: writes (in version order) or one unobserved change. */
struct rversion {
	int64_t start, end;  /* of all its writes */
	uint32_t first, n;   /* in resolver.writes; n = 0: unobserved */
	uint32_t unobserved; /* in resolver.unobserved */
	int64_t later;       /* the least start of the versions after it */
	bool must;           /* its generation is certain */
	bool makes;          /* one of its writes creates or truncates */
};
struct runobserved {
	int64_t t;
	uint32_t access;      /* A of rule 1 */
	const struct gfp *fp; /* NULL none */
	bool external;
	uint32_t k, repeats; /* before it with the same fingerprint; after it, kept by the first */
};
/* Intervals of one host, by start, with the greatest end so far. */
struct rspan {
	int64_t start, end;
};
struct rspans {
	uint32_t host, first, n;
};

/* The fingerprints that one which a write or a change left went on to, by accesses that set times (doc/graph.md, Times
 * set). */
#define CHAIN_CHANGE ((uint64_t)1 << 32)
struct times_chain {
	uint64_t base;                 /* access, or CHAIN_CHANGE and the number of a change; UINT64_MAX none */
	size_t next;                   /* in resolver.times: not looked at */
	VEC(const struct gfp *) found; /* the last of them is what it has now */
	struct table table;            /* of them, by fingerprint */
};

struct resolver {
	struct graph *g;
	uint32_t file;
	int64_t slack;       /* 2c where the file's domain is a network, else 0 */
	const uint32_t *acc; /* its accesses, sorted */
	size_t nacc;
	VEC(uint32_t) writes;
	VEC(uint32_t) reads;   /* by the beginning of their spans */
	VEC(uint32_t) holders; /* accesses that are dropped, of who had a descriptor and wrote nothing, by start */
	size_t holders_seen;   /* of them, the first that no version was asked for yet */
	VEC(uint32_t) holding; /* those before that which count to no version yet */
	VEC(uint32_t) emptied; /* those of the writes that create or truncate, by start */
	VEC(struct runobserved) unobserved;
	struct table unobserved_table; /* by fingerprint: the first with it */
	VEC(uint32_t) times;           /* accesses that set the file's times, by start */
	struct times_chain chain;      /* of rule 1 */
	VEC(struct rversion) versions;
	VEC(uint32_t) starts, active; /* versions by start; those open at the sweep */
	VEC(uint32_t) found;          /* versions that the read at hand uses */
	VEC(struct rspan) spans;
	VEC(struct rspans) groups;
	bool spans_made; /* of this file's reads */
};

/* The host on which the access was recorded. */
static inline uint32_t access_host(const struct graph *g, const struct gaccess *a)
{
	return g->sessions.v[a->session].host;
}
/* The time t later by d, at most the latest that can be told. ns. */
static inline int64_t add_time_slack(int64_t t, int64_t d)
{
	return t > INT64_MAX - d ? INT64_MAX : t + d;
}
/* resolved_before() of doc/graph.md. */
static inline bool resolved_before(const struct resolver *r, int64_t x, uint32_t hx, int64_t y, uint32_t hy)
{
	if (r->slack && hx != hy && hx != HOST_ANY && hy != HOST_ANY)
		x = add_time_slack(x, r->slack);
	return x <= y;
}

/* The access's fingerprints, if they are the file's; NULL where there is none. */
static inline const struct gfp *opening_fp(const struct graph *g, const struct gaccess *a)
{
	return a->fps == VEC_NONE || (a->flags & GACCESS_ALIAS) ? NULL : &g->fps.v[a->fps];
}
/* The fingerprint that the file had when the access ended; NULL: not known. */
static inline const struct gfp *closing_fp(const struct graph *g, const struct gaccess *a)
{
	return a->fpe == VEC_NONE || (a->flags & GACCESS_ALIAS) ? NULL : &g->fps.v[a->fpe];
}

/* Was the access handed a descriptor to write by, and is dropped because it wrote nothing? */
bool resolve_is_holder(const struct gaccess *a);
/* The gens of the version that v becomes: its writers and, where it is empty, those of r->holders that had it open and
 * count to no version before. In version order. 0, -ENOMEM. */
int resolve_made(struct resolver *r, struct gversion *gv, const struct rversion *v, bool empty);
/* One regular file: what changed unobserved, its versions, who wrote and who read them. 0, -ENOMEM. */
int resolve_regular(struct resolver *r);
/* Adds the version, its number set; NULL without memory. */
struct gversion *resolve_version(struct resolver *r);
/* Makes the gens of version n from the given accesses (those with gen == n). Of one execution and part one gen. 0,
 * -ENOMEM. */
int resolve_gens(struct resolver *r, struct gversion *v, const uint32_t *acc, size_t n);

#endif

/* measure.h - the trust T of a claim (Malik et al., "Benchmark provenance", eq. 8) and what beside it one wants to
 * know.
 *
 *     T = (1 - |R_P - R_B| / max(|R_P|, |R_B|)) (1 - |I_P - I_B| / max(|I_P|, |I_B|))
 *
 * P is what provenance saw, B what the claim says, R the results, I the inputs, to which the parameters belong. An
 * element is name:value; a name that only one of the two has, or that has another value there, counts once. Each factor
 * lies within [0,1], and is 1 where both sets are empty. Read by the letter the formula counts "mutually exclusive
 * elements", so a changed value twice: two claims of equal size that have nothing in common come out as (-1)(-1) = 1,
 * and empty ones as 0/0. That value is `literal`, for comparison with the paper only.
 *
 * T_eps: numbers within their tolerance are equal, and lists are equal whatever their order.
 *
 * What provenance cannot tell is no difference and no agreement: T then lies between `low` and `high`, and is not
 * judged. Pure; no allocation but the list of differences, whose strings belong to the sets. */
#ifndef STEMMA_TRUST_MEASURE_H
#define STEMMA_TRUST_MEASURE_H

#include "base/err.h"
#include "trust/elements.h"

enum trust_part { TRUST_INPUTS, TRUST_PARAMETERS, TRUST_RESULTS, TRUST_INVARIANTS, TRUST_PARTS };

/* One side: what the claim says, or what provenance saw. */
struct trust_side {
	struct elements part[TRUST_PARTS];
	char *absent[TRUST_PARTS]; /* why this side can say nothing of a part; NULL: it can */
};
void trust_side_release(struct trust_side *s);

enum trust_kind {
	TRUST_DIFFERS,
	TRUST_NOT_SEEN,    /* claimed, and not in the record */
	TRUST_NOT_CLAIMED, /* in the record, and not claimed */
	TRUST_UNKNOWN,     /* the record cannot tell */
	TRUST_VARIED,      /* invariants: it was not the same in all runs */
};
struct trust_difference {
	enum trust_part part;
	enum trust_kind kind;
	const struct element *claim, *seen; /* NULL: that side has none */
	const char *why;                    /* of TRUST_UNKNOWN */
	bool within;                        /* the tolerance, or another order: no difference for T_eps */
};

struct trust_factor {
	size_t seen, claimed;      /* cardinalities */
	size_t differ, differ_eps; /* names that count */
	size_t unknown;
	size_t exclusive;             /* elements that only one of the sets has */
	double value, value_eps, low; /* low: all unknown ones differ */
	double literal;               /* NAN: 0/0 */
};

struct trust {
	struct trust_factor inputs, results; /* parameters are among the inputs */
	double t, t_eps, literal;
	double low, high; /* bounds of T; one and the same unless something is unknown */
	bool judged;      /* T is known: low == high */
	bool reproducible;
	size_t invariants_differ, invariants_unknown;
	struct trust_difference *v; /* inputs, parameters, results, invariants, each by name */
	size_t n;
};

/* Measures how far a claim agrees with what was seen. tolerance: for results (and parameters that say so) without
 * one of their own; NULL: none. 0, -EINVAL with a sentence for a tolerance that is none, -ENOMEM. Sorts both sides.
 */
int trust_measure(struct trust_side *seen, struct trust_side *claim, const char *tolerance, struct err *err,
                  struct trust *ret);
void trust_release(struct trust *t);

/* "5%" of the greater of two numbers, or "0.01" absolute. False: it is neither, or negative. */
bool tolerance_read(const char *text, double *ret_relative, double *ret_absolute);
/* The median of the values. False: not all are numbers, or there are none. */
bool trust_median(const struct element *x, double *ret);
const char *trust_part_name(enum trust_part p); /* "input", "parameter", "result", "invariant" */
const char *trust_kind_name(enum trust_kind k);

#endif

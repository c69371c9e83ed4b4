/* path_calls.h - the path that a trace of system calls took through its specification (Definition 1 of ProvScope):
 * which functions called them, from where.
 *
 * A library function stands for system calls: read() for one, fopen() for one or none, what is not known for any number
 * of any (library_calls.h). All that may have made the first call is followed at once, then all that may have
 * made the next: a state is a call of the library with the frames around it, so the search obeys calls and returns and
 * never takes an edge that is none. What cannot come to the end is taken away. Where more than one path is left that is
 * said; in the beginning that both traces have in common, one is taken on which they stay together longest.
 *
 * Calls that the C library makes on its own account (locales, character sets, time zones) are no node's, and left out.
 * Where no path qualifies, library functions may make any calls: loosely. What runs before main is not followed.
 * Where there are too many stacks for that, as of deep trees of functions that may pass without a call, a state stands
 * for all that are alike (path_merged.h). Bounds: CALL_PATH_STATES a call, CALL_PATH_WORK in all; frames that are
 * entered without a call in between, CALL_PATH_FRAMES. */
#ifndef STEMMA_SPEC_PATH_PATH_CALLS_H
#define STEMMA_SPEC_PATH_PATH_CALLS_H

#include "spec/align/align_calls.h"

#define CALL_PATH_STATES 10000u
#define CALL_PATH_WORK 2000000u
#define CALL_PATH_WORK_SINGLY 500000u /* of stacks one by one: what has more is found sooner the other way */
#define CALL_PATH_FRAMES 64u
#define CALL_PATH_WAYS 1000000u

struct call_path_found {
	bool found;     /* on both sides; else there are no steps, and one of these is why */
	bool none[2];   /* no path qualifies */
	bool too_large; /* more states than are followed */
	bool loose;     /* only if library functions may make any calls */
	bool merged; /* stacks were too many to be followed one by one: `ways` are at least so many, and the frames between
	              * may be chosen among several */
	bool deep;   /* more than CALL_PATH_FRAMES frames could have been entered between two calls: not followed */
	uint64_t ways[2];
	uint64_t own[2];     /* calls that were left out */
	uint32_t together;   /* calls up to which they can have been together; behind it they part, or end */
	uint32_t apart;      /* and from which on they may have parted already; the same: it is certain */
	bool parts;          /* they do */
	uint32_t function;   /* in which they part; SPEC_NONE not known */
	uint32_t *decisions; /* its decisions of which one went different ways; free */
	uint32_t n_decisions;
};
/* How it is searched: each stack by itself, and then, where these are too many, many at once; or (tests) only one of
 * these. */
enum call_path_by { CALL_PATH_BEST, CALL_PATH_SINGLY, CALL_PATH_MERGED };
/* The steps: functions, their call nodes, and of each system call the node that made it. 0 or -ENOMEM. */
int call_path_search(const struct spec *s, const struct calls c[2], enum call_path_by by, struct called_steps *ret,
                     struct call_path_found *ret_found);

#endif

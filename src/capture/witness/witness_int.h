/* witness_int.h - what is known of the pipes that are watched: their holders and rounds (doc/witness.md). */
#ifndef STEMMA_CAPTURE_WITNESS_WITNESS_INT_H
#define STEMMA_CAPTURE_WITNESS_WITNESS_INT_H

#include "base/vec.h"
#include "capture/witness/witness.h"

#define WITNESS_ASKED 4
#define WITNESS_SLOTS 1024 /* watches are found by their number */

enum way { WAY_READ, WAY_WRITE };

/* An access of a watched pipe, one way; it stays until the pipe is decided. */
struct holder {
	struct access *live; /* NULL: it has ended */
	uint64_t seq;        /* of its access event */
	uint64_t proc, n;    /* the execution: number of the process, number of the exec */
	enum way way;
	int64_t start, end;
	uint64_t base;  /* total of its process, that way, when it began, of an early one when the watch did; UNKNOWN */
	uint64_t mark;  /* the same when the round that goes on began */
	bool early;     /* it held the pipe before that was watched */
	bool untouched; /* ... and its process had moved nothing that way by then */
	bool idle;      /* it moved nothing from base on until it ended */
	bool uncounted; /* that totals do not have all of */
	bool settled;   /* its bytes are known otherwise */
	bool told;      /* as sure */
};

/* From when a watch was set until it was known that it had fired. */
struct round {
	enum way way;
	int64_t began, seen; /* seen 0: it has not */
	uint64_t still;      /* 1 << index of who had moved nothing meanwhile */
};

struct witness {
	struct witness *next; /* made before it */
	struct file *file;    /* NULL: that is forgotten */
	int path;             /* a descriptor that is no end of the pipe (O_PATH) */
	int watch[2];         /* 0: none is set */
	int64_t armed;        /* the first watches were set by then */
	uint64_t met;         /* number of the process that stood at its stop then */
	bool met_moved[2];    /* it may have moved bytes before */
	bool filled;          /* there were bytes in the pipe, or that is not known */
	bool past;            /* somebody had held it and let go */
	bool blind;           /* somebody may hold it that nobody knows of, or events were lost */
	bool busy;
	uint64_t asked[WITNESS_ASKED]; /* numbers of processes that were asked whether they hold it, the last ones */
	unsigned nasked;
	VEC(struct holder) holders;
	VEC(struct round) rounds;
};

struct witnesses {
	int fd[2];             /* of reads, of writes */
	int slot;              /* one of those that the user's runs share; a socket */
	unsigned npipes, most; /* pipes that are watched; at a time at most */
	unsigned waiting;      /* watches that have not fired */
	struct witness *first;
	struct witness *of[2][WITNESS_SLOTS];
};

/* Tells of the holders of a pipe that nobody can use any more what is sure. */
void witness_decide(struct sup *s, struct witness *w);

#endif

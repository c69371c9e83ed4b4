/* helper_int.h - the messages between the daemon and its helper. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_HELPER_INT_H
#define STEMMA_CAPTURE_NODE_TRACER_HELPER_INT_H

#include "capture/node_tracer/helper.h"

#include <stddef.h>
#include <sys/stat.h>

enum helper_op {
	HELPER_OP_WATCH = 1, /* number: targets */
	HELPER_OP_UNWATCH,
	HELPER_OP_LOOK, /* path, number: dev, n: waits */
	HELPER_OP_MARK, /* slot, number: mask */
	HELPER_OP_FORGET,
	HELPER_OP_STATES, /* n, handle[n] */
	HELPER_OP_PATH,   /* handle[1] */
	HELPER_OP_LINK,   /* pid, slot: which, number: fd, n: with its identity */
	HELPER_OP_OPEN,   /* pid, slot: which */
	HELPER_OP_PIDS,   /* n: from the first */
	HELPER_OP_FIND,   /* path, n: what it leads to */
	HELPER_OPS
};

struct helper_question {
	uint32_t op, n, slot;
	int32_t pid;
	uint64_t number;
	union {
		char path[PATH_MAX]; /* NUL-terminated */
		struct helper_handle handle[HELPER_BATCH];
	};
};

struct helper_domain { /* struct fs_domain */
	uint64_t dev;
	int64_t mtime_step;
	bool network, birth_changes, pseudo, known;
	char name[704], type[64];
};

struct helper_id { /* struct fileid */
	int32_t r;
	uint64_t ino, gen;
	struct statx st;
	struct helper_domain domain;
};

struct helper_answer {
	int32_t r;
	uint32_t n;
	union {
		struct {
			struct helper_place place;
			struct helper_domain domain; /* place.domain means nothing */
		} look;
		struct helper_state state[HELPER_BATCH];
		char path[PATH_MAX];
		int32_t pid[HELPER_PIDS];
		struct {
			struct helper_id id;
			char path[PATH_MAX];
		} found;
	};
};

#define HELPER_ANSWER_HEAD offsetof(struct helper_answer, look)
#define HELPER_QUESTION_HEAD offsetof(struct helper_question, path)

/* The size of a question of that kind; 0: there is none such. */
static inline size_t helper_size(uint32_t op, uint32_t n)
{
	switch (op) {
	case HELPER_OP_LOOK:
	case HELPER_OP_FIND:
		return HELPER_QUESTION_HEAD + PATH_MAX;
	case HELPER_OP_STATES:
		return n && n <= HELPER_BATCH ? HELPER_QUESTION_HEAD + n * sizeof(struct helper_handle) : 0;
	case HELPER_OP_PATH:
		return HELPER_QUESTION_HEAD + sizeof(struct helper_handle);
	default:
		return op && op < HELPER_OPS ? HELPER_QUESTION_HEAD : 0;
	}
}

/* What both have. The pipes carry the size of what lies there. */
struct helper_shared {
	struct helper_question q;
	struct helper_answer a;
};
#define HELPER_HAS_FD 0x80000000u /* in the size of an answer: a descriptor waits in the socket */

/* Serves until the asker is gone. */
void helper_serve(struct helper_work *w, struct helper_shared *shared, int from, int to, int sock);

#endif

/* decode.h - the bytes the kernel gives, taken apart: records of the rings, and fanotify's buffers.
 *
 * Nothing is trusted: what does not hold together is refused, whatever is in it. Results point into the bytes. No
 * allocation, no state. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_DECODE_H
#define STEMMA_CAPTURE_NODE_TRACER_DECODE_H

#include "base/str.h"
#include "capture/node_tracer/record.h"

#include <stdint.h>

/* Whether a record is whole: of a known kind, its lengths within its size. */
bool record_is_sound(const void *record, size_t size);
/* Head of a sound record. */
static inline const struct rec_head *record_head(const void *record)
{
	return record;
}

struct exec_strings {
	struct str name, exe, cwd, args, env; /* exe and cwd as recorded: last part first */
};
/* Takes the texts of a sound REC_EXEC. */
void exec_strings(const struct rec_exec *r, struct exec_strings *ret);
/* Writes "/a/b/c" of a path whose parts stand last first, and its length without the NUL into *ret_n; false where it
 * has no room. No part: "/". */
bool path_of_parts(struct str parts, char *to, size_t room, size_t *ret_n);
/* The kernel's own form of a device number, as stemma writes it: major << 32 | minor. */
static inline uint64_t dev_of_kernel(uint32_t dev)
{
	return (uint64_t)(dev >> 20) << 32 | (dev & 0xfffff);
}

#define HANDLE_MAX 128

struct handle {
	uint64_t fsid;
	int32_t type;
	uint32_t bytes; /* 0: there is none */
	const unsigned char *p;
};

/* The inode's number in a handle; 0: not known. */
uint64_t handle_inode(const struct handle *h);

/* One event of fanotify. */
struct notice {
	uint64_t mask;
	int32_t pid;
	int32_t pidfd;              /* -1: none */
	struct handle object;       /* what it is about; its directory where nothing better is told */
	struct handle dir, old_dir; /* where the name is, was */
	struct str name, old_name;  /* "." for a directory itself */
	bool overflow;
};

/* Takes the next event of a buffer at *at; *at moves past it. False at the end, or where the rest cannot be one
 * (*ret_broken says so). An event with parts that are not known is given without these. */
bool notice_next(const unsigned char *p, size_t n, size_t *at, struct notice *ret, bool *ret_broken);

#endif

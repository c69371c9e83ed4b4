/* collect.h - from segments to facts: finds the frames of each session, wherever they lie, and reads each session's
 * events once and in order (facts.h).
 *
 * Segments are scanned frame by frame first (only checksums), then each session is decoded: frames of a session may lie
 * in several segments, be there twice, or be missing: the numbers of a session's frames show the latter
 * (gsession.missing). One segment is open at a time. Damage is counted, never fatal. */
#ifndef STEMMA_GRAPH_COLLECT_H
#define STEMMA_GRAPH_COLLECT_H

#include "event/log_reader.h"
#include "graph/graph.h"

struct collect_frame {
	uint64_t session, seq, offset, end, sum; /* sum: the checksum in its header */
	uint32_t segment, count, number;
};
/* For qsort: by session, in it by seq; the longer of two that begin alike first. */
int collect_compare_frames(const void *a, const void *b);
/* Bytes that are no whole frame of a version that is known, before some later one or (tail) at the end. A tail that is
 * the beginning of a frame (begun) may still be written; which sessions had bytes behind it is not known. */
struct collect_hole {
	uint64_t from, to;
	uint64_t session; /* that the damaged frame's header names, 0: the header is damaged, too */
	uint32_t number, segment;
	bool tail, begun;
};
struct collect_segment {
	char *path; /* NULL: memory */
	const void *p;
	size_t n;
};
struct facts;
/* Called for each session that is read: before its first event, and behind its last. 0 or -errno. */
struct collect_sessions {
	void *arg;
	int (*begin)(void *arg, struct facts *f, uint64_t session);
	int (*end)(void *arg, struct facts *f);
};
struct collect {
	VEC(struct collect_segment) segments;
	VEC(struct collect_frame) frames;
	VEC(struct collect_hole) holes;
	struct log_damage damage;  /* sum over what was scanned */
	struct log_reader *reader; /* of segment `at` */
	uint32_t at;
	uint64_t most;                           /* events that are scanned for, about; 0: all */
	uint64_t scanned;                        /* events of the frames that were found */
	const struct collect_sessions *sessions; /* NULL: all are read from their beginning */
};

/* Names a segment; its index in *ret. 0 or -ENOMEM. */
int collect_path(struct collect *w, const char *path, uint32_t *ret);
int collect_memory(struct collect *w, const void *p, size_t n, uint32_t *ret);
/* Has collect_scan found as much as it is to? */
static inline bool collect_is_full(const struct collect *w)
{
	return w->most && w->scanned >= w->most;
}
/* Adds the whole frames that begin in [from, to) of a segment, until they are enough. *ret_end (may be NULL): where the
 * last whole frame ended, or from. 0 or -errno. */
int collect_scan(struct collect *w, uint32_t segment, uint64_t from, uint64_t to, struct err *err, uint64_t *ret_end);
/* Reads all frames into g, session by session. 0 or -errno. collect_release: closes the segment that is open, too. */
int collect_feed(struct collect *w, struct graph *g, struct err *err);
void collect_release(struct collect *w);

#endif

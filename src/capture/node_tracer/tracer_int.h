/* tracer_int.h - the tracer's parts: tracer.c opens, waits and drains; order.c puts the two sources in one order;
 * emit.c makes events of what they say; access.c counts reads and writes. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_TRACER_INT_H
#define STEMMA_CAPTURE_NODE_TRACER_TRACER_INT_H

#include "base/buf.h"
#include "capture/node_tracer/decode.h"
#include "capture/node_tracer/handles.h"
#include "capture/node_tracer/procs.h"
#include "capture/node_tracer/programs.h"
#include "capture/node_tracer/tracer.h"
#include "capture/node_tracer/watch.h"

#include <limits.h>

#define NOTICES_BUFFER (256 * 1024)
#define IGNORED_MAX 64
#define LOOK_NS 1000000000LL /* after a loss, and between two looks at who may be gone */

/* A record of a ring: where it lies in tracer.records. */
struct held {
	int64_t time; /* ns since 1970 */
	size_t at, size;
	uint32_t order;    /* as it was read: of equal time */
	int32_t next_exec; /* the next exec of the same process, -1 none */
	int32_t notice;    /* an exec: the event of fanotify that opened its program; -1 not seen, -2 in the drain before */
	bool told;
};

struct leaving {     /* an exit that waits for the closes it causes */
	size_t at, size; /* in tracer.leaving_records */
	int64_t time;
	pid_t pid;
	uint64_t start;
	bool told;
};

struct access;

struct tracer {
	struct tracer_options o;
	struct tracer_caps caps;
	struct str ignore[IGNORED_MAX];
	size_t nignore;
	struct programs *programs;
	struct rec_control *control;
	struct places *places;
	struct watch *watch; /* NULL: files are off */
	struct procs *procs;
	struct access *access; /* NULL: nobody asked yet */
	pid_t own, own_helper;
	struct {
		uint32_t uid;
		uint64_t events;
	} passed[TRACER_PASS]; /* tracer_pass */
	size_t npassed;
	int users;                      /* users.h; -1: the kernel does not tell */
	struct helper *helper, *direct; /* direct: no process of its own; the tracer's */
	/* Waiting. */
	int epoll, timer;
	enum { PACE_NONE, PACE_BUSY, PACE_QUIET } pace;
	int64_t busy_until; /* CLOCK_MONOTONIC */
	/* Clocks: ns to add to CLOCK_MONOTONIC for 1970. */
	int64_t offset;
	/* Reading. */
	struct buf records;
	struct held *held;
	size_t nheld, held_cap;
	struct buf leaving_records;
	struct leaving *leaving;
	size_t nleaving, leaving_cap, leaving_before;
	unsigned char *notices;
	int64_t file_lo; /* the queue was empty then */
	uint64_t lost_seen, broken;
	int64_t look_at; /* CLOCK_MONOTONIC: when those are looked for whose end was lost; 0: nothing ever was */
	bool initial;    /* pid namespace */
	struct {
		uint64_t ns;
		int64_t when;
	} namespaces[256]; /* mount namespaces whose mounts were looked at; the first is our own */
	size_t nnamespaces;
	bool alive_told, places_told;
	/* The drain that is going on. */
	tracer_each *each;
	void *arg;
	unsigned told;
	struct tracer_stats stats;
	char path[PATH_MAX + 256], old_path[PATH_MAX + 256];
	char exe[12288], cwd[12288];
};

/* The time */
int64_t tracer_now(const struct tracer *t);
/* The tracer's time for a time of the monotonic clock, both in ns. */
static inline int64_t tracer_time(const struct tracer *t, uint64_t monotonic)
{
	return (int64_t)monotonic + t->offset;
}

/* order.c: tells what a read of fanotify gave (n bytes, between lo and hi) together with the held records up to hi. 0;
 * -ENOMEM with a sentence. What could not be read is told as lost. */
int order_emit(struct tracer *t, const unsigned char *notices, size_t n, int64_t lo, int64_t hi, struct err *err);
/* Exits that have waited for a whole drain. */
void order_leave(struct tracer *t);
/* Where records were lost, ends may be among them: who is not there any more leaves, too. now: CLOCK_MONOTONIC, ns. */
void order_missed(struct tracer *t, int64_t now);

/* emit.c. tracer_emit_of: fills in what is known of the process. tracer_emit_exit: bytes and ns; the process stays
 * known. tracer_emit_record: the record has passed record_is_sound(); a kind that is not known is passed over. */
void tracer_emit(struct tracer *t, struct tracer_event *ev);
void tracer_emit_of(struct tracer *t, struct tracer_event *ev, const struct proc *proc);
void tracer_emit_record(struct tracer *t, const void *record, size_t size, int64_t time);
void tracer_emit_exit(struct tracer *t, const struct rec_exit *r, int64_t time);
/* What a notice says, of a process (NULL: unknown); ev has flags and times already. */
void tracer_emit_notice(struct tracer *t, struct tracer_event *ev, const struct notice *n, const struct proc *proc);
/* Whether it is worth telling at all: not for directories that are only opened. tracer_emit_alive: all that live now.
 * */
bool notice_counts(const struct tracer *t, const struct notice *n);
void tracer_emit_lost(struct tracer *t, int what, uint64_t count, int64_t lo, int64_t hi, const char *text);
void tracer_emit_alive(struct tracer *t);
/* Takes what /proc says of a process that was not told. NULL: it is gone. */
struct proc *tracer_find_proc(struct tracer *t, pid_t pid);

/* access.c. access_drain: now: also what has been counted since the last turn. Tells of what was lost, too. */
void access_release(struct access *a);
void access_drain(struct tracer *t, bool now);
uint64_t access_memory(const struct access *a); /* bytes; 0 of NULL */
/* The BPF programs that count the bytes of reads and writes. NULL: not loaded */
struct access_programs *access_programs_of(const struct access *a);
/* A counted process may have ended or become another program. */
void access_turn(struct access *a);

#endif

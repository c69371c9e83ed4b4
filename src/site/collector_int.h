/* collector_int.h - what the parts of the collector share: what it has of each session (collector_ledger.c), whether a
 * frame may be taken (collector_check.c), and where it goes (collector_write.c). */
#ifndef STEMMA_SITE_COLLECTOR_INT_H
#define STEMMA_SITE_COLLECTOR_INT_H

#include "base/buf.h"
#include "base/map.h"
#include "event/log_place.h"
#include "event/log_reader.h"
#include "import/forgotten.h"
#include "site/collector.h"

/* Numbers that may still come, of one session and of all: what is missing beyond is not taken later. */
enum { LEDGER_HOLES = 1024, LEDGER_HOLES_ALL = 65536 };

/* A number of a session that did not come in its turn, and between which events it belongs. */
struct ledger_hole {
	uint64_t from, to;
	uint32_t number;
};

struct ledger_sender {
	char name[COLLECTOR_NAME + 1];
	uint64_t bytes; /* that it has here */
	VEC(uint32_t) hosts;
	int64_t until;
};
struct ledger_session {
	uint64_t number;
	uint64_t end;        /* seq behind its last event */
	uint64_t last_seq;   /* seq of the first event of the last frame */
	uint32_t next;       /* number behind that of its last frame */
	uint32_t last_count; /* events of that */
	uint32_t sender, host;
	uint32_t missing; /* frames that never came */
	bool ended;
	VEC(struct ledger_hole) holes;
};
struct ledger_host {
	char name[LOG_PLACE_HOST]; /* its folder's */
};

/* A segment that no sender wrote, and how far it was looked through. */
struct elsewhere_segment {
	uint64_t inode, read;
};
struct elsewhere {
	VEC(struct elsewhere_segment) segments;
	struct map by_name;  /* hash of a path -> its place; a clash costs only that a segment is read again */
	struct map sessions; /* that they have */
	bool looked;         /* for the batch at hand */
};
/* What is to be appended for one host. */
struct collector_out {
	uint32_t host;
	struct buf bytes;
};

struct collector {
	char *home;
	char id[COLLECTOR_ID + 1];
	uint64_t floor;
	int lock;
	bool looks; /* it changes nothing */
	bool stale; /* something failed: what is here is read again before more is taken */
	VEC(struct ledger_sender) senders;
	VEC(struct ledger_session) sessions;
	VEC(struct ledger_host) hosts;
	struct table host_names; /* -> their places */
	uint32_t n_holes;        /* of all sessions */
	struct map numbers;      /* session -> its place */
	struct forgotten gone;
	struct elsewhere elsewhere;
	/* of the batch at hand */
	VEC(struct collector_out) out;
	VEC(uint64_t) dead; /* sessions that a tombstone of the batch tells of */
	struct collector_state *states;
};

/* ---- collector_ledger.c ---- */

/* What is here by now, by reading all segments that collectors wrote. -errno, reported. */
int ledger_read(struct collector *c, struct err *err);

void ledger_release(struct collector *c);
/* Places, VEC_NONE without memory; made where missing. */
uint32_t ledger_sender(struct collector *c, const char *name);
struct ledger_session *ledger_session(struct collector *c, uint64_t number); /* NULL: not known */

/* A frame as it is in a batch, and what its events say. */
struct offered {
	struct log_frame_info f;
	const char *p; /* its bytes */
	size_t n;
	bool begins;               /* its first event is the session's */
	char host[LOG_PLACE_HOST]; /* of that: the folder */
	bool ends;                 /* the session */
	const char *bad;           /* why it is not to be taken, or NULL */
	VEC(uint64_t) dead;        /* sessions that its tombstones tell of */
};
enum ledger_step { LEDGER_TAKE, LEDGER_KNOWN, LEDGER_REFUSE };
/* Where the frame stands among those of its session that are here. *ret_why of one that is refused. LEDGER_KNOWN: it is
 * here, or its session was forgotten. */
enum ledger_step ledger_place(const struct collector *c, uint32_t sender, const struct offered *o,
                              const char **ret_why);
/* Of a frame that is to be taken: why its host may not be written to, or NULL. */
const char *ledger_refuses_host(const struct collector *c, const struct collector_sender *s, uint32_t sender,
                                const struct offered *o);
/* It was taken. 0, -ENOMEM. */
int ledger_note(struct collector *c, uint32_t sender, const struct offered *o);

/* ---- collector_check.c ---- */

/* Decodes the frame's events, and says in o->bad what of them this sender may not tell. 0, -errno. */
int offered_check(struct collector *c, const struct collector_sender *s, struct log_reader *r, struct offered *o);

/* ---- collector_write.c ---- */

/* Appends what is in c->out to the sender's segments, durably. 0 or -errno with a sentence. */
int collector_append(struct collector *c, const char *sender, struct err *err);
/* Cuts what is no whole frame off the end of a segment of this host's collector. */
int collector_cut_tail(const struct collector *c, const char *path, const char *host, const char *day, uint64_t whole,
                       struct err *err);
#define COLLECTED_DAY LOG_PLACE_COLLECTED

/* ---- collector_elsewhere.c ---- */

/* Has the record frames of that session which no sender sent? 1, 0, -errno. */
int collector_elsewhere(struct collector *c, uint64_t session);
void elsewhere_release(struct elsewhere *e);

#endif

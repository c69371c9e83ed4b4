/* event.h - events in memory, and their codec. The kinds are the rows of events.def, the words those of terms.def; the
 * bytes are described in doc/format/event-log.md.
 *
 * Decoded strings and lists point into the decoded bytes: they live as long as those do. No allocation, no globals. */
#ifndef STEMMA_EVENT_EVENT_H
#define STEMMA_EVENT_EVENT_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

#define TIME_NONE INT64_MIN  /* not known */
#define TIME_NEVER INT64_MAX /* not yet, or never */

enum access_mode {
	ACCESS_READ = 0x001,
	ACCESS_WRITE = 0x002,
	ACCESS_CREATE = 0x004,
	ACCESS_TRUNC = 0x008,
	ACCESS_APPEND = 0x010,
	ACCESS_MAPPED = 0x020,
	ACCESS_STATE = 0x040,
	ACCESS_PROGRAM = 0x080,
};

/* TERM_kind_regular = 1, TERM_via_data = 0, ...: one constant per row of terms.def. */
enum term_set {
	SET_kind,
	SET_via,
	SET_evidence,
	SET_reading,
	SET_api,
	SET_ioapi,
	SET_nameop,
	SET_ending,
	SET_gap,
	SET_role,
	SET_tree,
	SET_moment,
	SET_usage,
	SET_said,
	SET_mpiop
};
enum term {
#define TERM(set, number, name, meaning) TERM_##set##_##name = number,
#include "event/terms.def"
#undef TERM
};
/* The word for a number of a set, or "?" ; the meaning, or "". */
const char *term_name(enum term_set set, uint64_t number);
const char *term_meaning(enum term_set set, uint64_t number);

/* What a gap makes uncertain; which does what stands in gaps.def. */
enum gap_lack { GAP_NOTHING = 0, GAP_ACCESSES = 1, GAP_MEANWHILE = 2, GAP_WRITERS = 4 };
/* Of a set of gaps, bits 1 << TERM_gap_*, those that lack all of this. A gap that is not known here lacks nothing. */
uint64_t gaps_that_lack(uint64_t gaps, enum gap_lack lack);

/* A list of strings: given as an array to the encoder, as encoded bytes by the decoder (iterate with strlist_next). */
struct strlist {
	const struct str *items; /* encoder */
	size_t count;
	struct str raw; /* decoder: the encoded strings */
};
/* Iterates over a decoded list: *pos starts at 0. False at the end. */
bool strlist_next(const struct strlist *l, size_t *pos, struct str *ret);
/* A copy as programs get it, for strv_free (base/strv.h). NULL without memory; never one that ends too early. */
char **strlist_copy(const struct strlist *l);

enum event_kind {
#define EVENT(number, name, meaning) EVENT_##name = number,
#define FIELD(event, type, name, meaning)
#define END(event)
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
};

/* struct event_session { struct str run; ... }, one per kind. */
#define EVENT_T_u64 uint64_t
#define EVENT_T_i64 int64_t
#define EVENT_T_time int64_t
#define EVENT_T_str struct str
#define EVENT_T_id struct str
#define EVENT_T_list struct strlist
#define EVENT(number, name, meaning) struct event_##name {
#define FIELD(event, type, name, meaning) EVENT_T_##type name;
#define END(event)                                                                                                     \
	}                                                                                                                  \
	;
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END

struct event {
	uint64_t writer; /* the session's random number; with seq the event's identity */
	uint64_t seq;
	int64_t time;  /* ns since 1970 */
	uint64_t proc; /* process number in the session, 0 none */
	uint64_t kind; /* enum event_kind; decoders may also give kinds they do not know, with no fields */
	union {
#define EVENT(number, name, meaning) struct event_##name name;
#define FIELD(event, type, name, meaning)
#define END(event)
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	};
};

/* "?" of a newer version's. Never NULL. */
const char *event_kind_name(uint64_t kind); /* "?" when not known */

/* Appends ev to out, its time relative to `before`. Returns 0, -EINVAL for a kind that is not in the table, -ENOMEM. */
int event_encode(struct buf *out, const struct event *ev, int64_t before);
/* Decodes one event at *p (< end), its time relative to `before`; *p moves past it. writer and seq are the caller's to
 * fill. Returns 0, or -EBADMSG when the bytes do not hold an event. */
int event_decode(const unsigned char **p, const unsigned char *end, int64_t before, struct event *ret);
/* Ids of runs and plans stand as they are on terminals, in documents and in paths, and who wrote the log may be
 * anybody. So one that is no word of at most 26 letters, digits, - and _ becomes EVENT_NO_RUN. event_decode does it
 * with each field of the type `id`; labels that name a plan are the business of who reads them. */
struct str event_plain_id(struct str id);
#define EVENT_NO_RUN "00000000000000000000000000"

#endif

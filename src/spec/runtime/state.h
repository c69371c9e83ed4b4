/* state.h - what a thread's tracing goes by, shared by the code that is put into functions (inline.c) and the library
 * that it calls (runtime.c). doc/spec.md says how.
 *
 * One piece of address space a thread: this struct in its first three pages, then the trace as it is on disk: the
 * header, and the words, of which as many pages can be used as have space on the disk. The first page is empty in a
 * child of fork, whatever way it was forked: its limit is 0 then, and the next look at it goes to the library. */
#ifndef STEMMA_SPEC_RUNTIME_STATE_H
#define STEMMA_SPEC_RUNTIME_STATE_H

#include "spec/trace/trace_format.h"

#define STATE_STACK 1500 /* frames that a child of fork is told of */
#define STATE_PAGE 4096
/* Words that may be written between two looks at the limit: that of one function's way without loops. */
#define STATE_SLACK_WORDS 16384
/* Silent words of a loop that are left as they are: what led to the next thing that happens. */
#define STATE_BATCH_WORDS 256

/* This file's structs and what is done with them; programs and libraries of one number share their threads' states. */
#define STATE_ABI 2
struct module;

/* No decision has so many outcomes. */
#define STATE_NOT_TURNED UINT32_MAX

enum state_zoom { ZOOM_NONE, ZOOM_AHEAD, ZOOM_WITHIN };

struct state {
	/* first page: wiped in a child */
	uint32_t *limit; /* no word at or behind it without a look */
	uint64_t ready;
	char room0[STATE_PAGE - 16];
	/* second and third page */
	uint32_t *mark;       /* behind the last thing that reached; all ones where nothing is taken back */
	uintptr_t keep;       /* all ones: nothing is taken back */
	uint32_t *silent_end; /* behind the silent record that was made last, NULL none */
	uint32_t depth;
	uint32_t sink;                           /* nothing is traced: words go round in a piece of memory */
	uint32_t *end;                           /* of the address space */
	struct state *next;                      /* in the list of all, or of those that are free */
	uint64_t chunk;                          /* bytes that are taken next */
	uint32_t in_use, children, silent_words; /* silent_words: of the silent record that was made last */
	/* Of one thread that is looked at more closely (STEMMA_TRACE_ZOOM): its clock counts the words that it has written,
	 * those that were taken back included. */
	uint64_t clock, clock_next; /* up to clock_at; at clock_next something is to be done */
	uint32_t *clock_at;         /* the next word after the last piece that was taken back */
	uint32_t *room_end;         /* what limit is without the clock */
	uint64_t coarse;            /* no silent record stands for more words; 0: whatever it is */
	uint32_t zoom;              /* enum state_zoom */
	uint32_t n_modules;         /* that came to the thread, libraries but for the one that owns the runtime */
	struct module *modules[TRACE_LIBRARIES_TOLD];
	uint32_t stack[STATE_STACK];
	/* One decision of the thread that is to have another outcome than it has (STEMMA_TRACE_TURN): the first one from
	 * that time of its clock on. */
	uint32_t turn; /* it is still to come */
	uint32_t turn_node, turn_outcome, turn_room;
	uint64_t turn_at;
	char room1[2 * STATE_PAGE - 144 - 8 * TRACE_LIBRARIES_TOLD - 4 * STATE_STACK];
	struct trace_header header;
	uint32_t words[];
};
static_assert(offsetof(struct state, mark) == STATE_PAGE, "wiped alone");
static_assert(offsetof(struct state, header) == 3 * STATE_PAGE, "mapped from its file");

/* What a program or a library says of itself, to the one whose runtime writes the traces of the process. */
struct module {
	uint32_t abi, library; /* library: it is one */
	struct trace_library told;
	struct state *none;
	struct state **(*slot)(void); /* its pointer to the calling thread's state */
	/* Of the one that owns: */
	struct state *(*more)(struct state *s, struct module *m);
	char *(*thread_name)(void);
	uint32_t (*number)(void); /* a library's first function */
	uint32_t (*is_on)(void);  /* something is traced; the same whenever it is asked */
};

extern __thread struct state *__stemma_trace __attribute__((tls_model("initial-exec")));

/* Where there is a clock: the limit is where it says, if that comes before the end of the room. */
static inline void state_set_limit(struct state *s)
{
	uint64_t left = s->clock_next > s->clock ? s->clock_next - s->clock : 0;
	bool before = s->zoom && left < (uint64_t)(s->room_end - s->clock_at);
	s->limit = before ? s->clock_at + left : s->room_end;
}

/* Makes room: of a thread that has none yet, a child of fork, or where the limit is reached. Returns the thread's. */
struct state *__stemma_trace_more(struct state *s);
/* Takes the words from `from` to `to` back, and leaves their hashes; joins: a silent record of so many words ends at
 * from, and is made longer. Returns what is behind it. */
uint32_t *__stemma_trace_silent(struct state *s, uint32_t *from, uint32_t *to, uint64_t joins);
/* What STEMMA_TRACE_TURN says, THREAD:FROM:NODE:OUTCOME; NULL, or malformed: nothing is turned. */
void __stemma_trace_read_turn(const char *text);
/* Before the limit of a new trace is set: for a thread of which a decision is to be turned there is a clock, too. */
void __stemma_trace_set_turn(struct state *s);
/* Before the decision `node` is written at p: the outcome that it is to have instead of its own; STATE_NOT_TURNED:
 * none. */
uint32_t __stemma_trace_turned(struct state *s, const uint32_t *p, uint32_t node);

#endif

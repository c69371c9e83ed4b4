/* turn.c - one decision gets another outcome than it has, for a program that is run again (STEMMA_TRACE_TURN,
 * doc/spec.md). */
#include "spec/runtime/state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

static struct {
	char thread[64];
	uint64_t at;
	uint32_t node, outcome;
	pid_t process; /* not its children */
} turning;

HIDDEN void __stemma_trace_read_turn(const char *text)
{
	size_t n = text ? strcspn(text, ":") : 0;
	char *end;
	if (!n || n >= sizeof(turning.thread) || text[n] != ':')
		return;
	turning.at = strtoull(text + n + 1, &end, 10);
	turning.node = *end == ':' ? (uint32_t)strtoul(end + 1, &end, 10) : 0;
	turning.outcome = *end == ':' ? (uint32_t)strtoul(end + 1, &end, 10) : STATE_NOT_TURNED;
	turning.process = getpid();
	if (!*end && turning.outcome != STATE_NOT_TURNED)
		memcpy(turning.thread, text, n);
}

HIDDEN void __stemma_trace_set_turn(struct state *s)
{
	s->turn = turning.thread[0] && turning.process == getpid() && strcmp(turning.thread, s->header.thread) == 0;
	s->turn_at = turning.at;
	s->turn_node = turning.node;
	s->turn_outcome = turning.outcome;
	if (s->turn && s->zoom == ZOOM_NONE) {
		s->zoom = ZOOM_AHEAD;
		s->clock_next = UINT64_MAX;
	}
}

/* Words that an operand takes may stand between the time and the decision. */
#define TURN_WORDS_BEFORE 8

HIDDEN uint32_t __stemma_trace_turned(struct state *s, const uint32_t *p, uint32_t node)
{
	const uint64_t now = s->clock + (uint64_t)(p - s->clock_at);
	if (now < s->turn_at)
		return STATE_NOT_TURNED;
	s->turn = 0; /* once, or not at all: the thread did something else than before */
	if (now - s->turn_at > TURN_WORDS_BEFORE || node != s->turn_node)
		return STATE_NOT_TURNED;
	s->header.flags |= TRACE_TURNED;
	return s->turn_outcome;
}

/* inline.c - what is put into the functions that are traced, made into bitcode when stemma is built. Every function is
 * inlined; the local then lives in registers.
 *
 * A thread's next word is kept in the local and, behind every word, in the header of its trace: whatever ends the
 * process, the trace is whole. */
#include "spec/runtime/state.h"

#define INLINE __attribute__((always_inline, used))

struct local {
	struct state *s;
	uint32_t *p, *began;
	uint32_t depth;
};

static inline __attribute__((always_inline)) uint32_t *next_of(struct state *s)
{
	return (uint32_t *)(uintptr_t)s->header.next;
}

static inline __attribute__((always_inline)) void put(struct local *l, uint32_t word)
{
	*l->p++ = word;
	l->s->header.next = (uint64_t)(uintptr_t)l->p;
}

static inline __attribute__((always_inline)) void look(struct local *l)
{
	if (__builtin_expect(l->p >= l->s->limit, 0)) {
		l->s = __stemma_trace_more(l->s);
		l->p = next_of(l->s);
	}
}

INLINE void __stemma_in_enter(struct local *l, uint32_t function)
{
	l->s = __stemma_trace;
	l->p = next_of(l->s);
	look(l);
	l->began = l->p;
	l->depth = ++l->s->depth;
	if (l->depth <= STATE_STACK)
		l->s->stack[l->depth - 1] = function;
	put(l, TRACE_WORD(TRACE_W_ENTER, function));
}

INLINE void __stemma_in_leave(struct local *l)
{
	put(l, TRACE_WORD(TRACE_W_LEAVE, 0));
	l->s->depth = l->depth - 1;
	/* The first frame stays: what its thread did is not to be a hash alone. */
	if (l->s->mark <= l->began && l->depth > 1)
		l->p = __stemma_trace_silent(l->s, l->began, l->p);
}

/* Before a function of the program is called. */
INLINE void __stemma_in_call(struct local *l, uint32_t node)
{
	put(l, TRACE_WORD(TRACE_W_CALL, node));
}

/* Before a library function that reaches a system call. */
INLINE void __stemma_in_reach(struct local *l, uint32_t node)
{
	put(l, TRACE_WORD(TRACE_W_CALL, node));
	l->s->mark = (uint32_t *)((uintptr_t)l->p | l->s->keep);
}

/* Behind a call. */
INLINE void __stemma_in_called(struct local *l)
{
	l->p = next_of(l->s);
	look(l);
}

INLINE void __stemma_in_decide(struct local *l, uint32_t word)
{
	put(l, word);
}

INLINE void __stemma_in_look(struct local *l)
{
	look(l);
}

static inline __attribute__((always_inline)) void pair(struct local *l, uint64_t v)
{
	put(l, (uint32_t)v);
	put(l, (uint32_t)(v >> 32));
}

INLINE void __stemma_in_operands(struct local *l, uint32_t type, uint64_t a, uint64_t b)
{
	put(l, TRACE_WORD(TRACE_W_MORE, type << 16 | 4));
	pair(l, a);
	pair(l, b);
}

/* Where an exception is caught, or behind a call that may come back again. */
INLINE void __stemma_in_back(struct local *l)
{
	l->p = next_of(l->s);
	look(l);
	put(l, TRACE_WORD(TRACE_W_BACK, l->depth));
	l->s->depth = l->depth;
}

INLINE void __stemma_in_loop_begin(struct local *l, uint32_t **turn)
{
	*turn = l->p;
}

/* At the head of a loop. */
INLINE void __stemma_in_loop(struct local *l, uint32_t **turn)
{
	look(l);
	if (l->s->mark > *turn)
		*turn = l->p;
	else if (l->p - *turn >= STATE_BATCH_WORDS)
		*turn = l->p = __stemma_trace_silent(l->s, *turn, l->p);
}

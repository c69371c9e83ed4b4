/* inline.c - what is put into the functions that are traced, made into bitcode when stemma is built. Every function is
 * inlined; the local then lives in registers.
 *
 * A thread's next word is kept in the local and, behind every word, in the header of its trace: whatever ends the
 * process, the trace is whole. */
#include "spec/runtime/state.h"

#define INLINE __attribute__((always_inline, used))

struct local {
	struct state *s;
	uint32_t *p, *began; /* began: of the frame, with the call that it answers */
	uint32_t depth;
	uint32_t joins; /* words of the silent record that ends where the frame begins, 0 none */
};

/* Of a loop: where its silent turns began, and how long the silent record is that ends there. What stands before a
 * place is not touched while the place is of use, so that is asked once. */
struct iterations {
	uint32_t *began;
	uint64_t joins;
};

/* Where the next word of the trace goes. */
static inline __attribute__((always_inline)) uint32_t *inline_next(struct state *s)
{
	return (uint32_t *)(uintptr_t)s->header.next;
}

/* There must be room: see inline_check_space. */
static inline __attribute__((always_inline)) void inline_store(struct local *l, uint32_t word)
{
	*l->p++ = word;
	l->s->header.next = (uint64_t)(uintptr_t)l->p;
}

/* Makes room where none is left; l->s may be another one then. */
static inline __attribute__((always_inline)) void inline_check_space(struct local *l)
{
	if (__builtin_expect(l->p >= l->s->limit, 0)) {
		l->s = __stemma_trace_more(l->s);
		l->p = inline_next(l->s);
	}
}

/* How many words the silent record has that ends at `at`; 0: none ends there. */
static inline __attribute__((always_inline)) uint32_t inline_joins(const struct state *s, const uint32_t *at)
{
	return s->silent_end == at ? s->silent_words : 0;
}

/* Called at the begin of a traced function: l is its own. */
INLINE void __stemma_in_enter(struct local *l, uint32_t function)
{
	l->s = __stemma_trace;
	l->p = inline_next(l->s);
	inline_check_space(l);
	l->began = l->p;
	/* There is always a word before: the header's room, at the least. */
	if (l->p[-1] >> TRACE_SHIFT == TRACE_W_CALL && l->s->silent_end != l->p)
		l->began--;
	l->joins = inline_joins(l->s, l->began);
	l->depth = ++l->s->depth;
	if (l->depth <= STATE_STACK)
		l->s->stack[l->depth - 1] = function;
	inline_store(l, TRACE_WORD(TRACE_W_ENTER, function));
}

/* A function is left: its words become a hash where none of them is to stay (mark). */
INLINE void __stemma_in_leave(struct local *l)
{
	inline_store(l, TRACE_WORD(TRACE_W_LEAVE, 0));
	l->s->depth = l->depth - 1;
	/* The first frame stays: what its thread did is not to be a hash alone. */
	if (l->s->mark <= l->began && l->depth > 1)
		l->p = __stemma_trace_silent(l->s, l->began, l->p, l->joins);
}

/* Before a function of the program is called. */
INLINE void __stemma_in_call(struct local *l, uint32_t node)
{
	inline_store(l, TRACE_WORD(TRACE_W_CALL, node));
}

/* Before a library function that reaches a system call. */
INLINE void __stemma_in_reach(struct local *l, uint32_t node)
{
	inline_store(l, TRACE_WORD(TRACE_W_CALL, node));
	l->s->mark = (uint32_t *)((uintptr_t)l->p | l->s->keep);
}

/* Behind a call. */
INLINE void __stemma_in_called(struct local *l)
{
	l->p = inline_next(l->s);
	inline_check_space(l);
}

/* There must be room: see inline_check_space. */
INLINE void __stemma_in_decide(struct local *l, uint32_t word)
{
	inline_store(l, word);
}

/* Before a decision: the outcome that it is to have instead of its own, STATE_NOT_TURNED: none. */
INLINE uint32_t __stemma_in_turn(struct local *l, uint32_t node)
{
	return __builtin_expect(l->s->turn, 0) ? __stemma_trace_turned(l->s, l->p, node) : STATE_NOT_TURNED;
}

/* Makes room in the buffer if too little is left. */
INLINE void __stemma_in_look(struct local *l)
{
	inline_check_space(l);
}

/* The lower half first. */
static inline __attribute__((always_inline)) void inline_store_pair(struct local *l, uint64_t v)
{
	inline_store(l, (uint32_t)v);
	inline_store(l, (uint32_t)(v >> 32));
}

/* Records the operands of a decision. Both as 64 bits; type: TRACE_ of them. */
INLINE void __stemma_in_operands(struct local *l, uint32_t type, uint64_t a, uint64_t b)
{
	inline_store(l, TRACE_WORD(TRACE_W_MORE, type << 16 | 4));
	inline_store_pair(l, a);
	inline_store_pair(l, b);
}

/* Where an exception is caught, or behind a call that may come back again. */
INLINE void __stemma_in_back(struct local *l)
{
	l->p = inline_next(l->s);
	inline_check_space(l);
	inline_store(l, TRACE_WORD(TRACE_W_BACK, l->depth));
	l->s->depth = l->depth;
}

/* Behind that: the word of the call that threw, or 0 if that was no decision. */
INLINE void __stemma_in_thrown(struct local *l, uint32_t word)
{
	if (word)
		inline_store(l, word);
}

/* Notes where a loop's turns begin, which may become silent. */
INLINE void __stemma_in_loop_begin(struct local *l, struct iterations *t)
{
	t->began = l->p;
	t->joins = inline_joins(l->s, l->p);
}

/* At the head of a loop. */
INLINE void __stemma_in_loop(struct local *l, struct iterations *t)
{
	inline_check_space(l);
	if (l->s->mark > t->began) {
		t->began = l->p;
		t->joins = inline_joins(l->s, l->p);
	} else if (l->p - t->began >= STATE_BATCH_WORDS) {
		t->began = l->p = __stemma_trace_silent(l->s, t->began, l->p, t->joins);
		t->joins = inline_joins(l->s, l->p);
	}
}

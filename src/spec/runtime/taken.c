/* taken.c - taking words of a trace back: a silent record with their hashes stands for them (doc/spec.md). */
#include "spec/runtime/state.h"
#include "spec/trace/trace.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* What was taken back: its control, in the words of the trace but for operands, and its data, the operands. */
struct taken {
	uint64_t control, data, words;
	bool has_data;
};

/* The lower half first. */
static uint64_t load_pair(const uint32_t *p)
{
	return p[0] | (uint64_t)p[1] << 32;
}

/* The lower half first. */
static void store_pair(uint32_t *p, uint64_t v)
{
	p[0] = (uint32_t)v;
	p[1] = (uint32_t)(v >> 32);
}

/* Words that have others behind them are the greatest. */
#define FIRST_LONG TRACE_WORD(TRACE_W_SILENT, 0)

/* trace_hash of each, four at a time: one multiplication waits for another only once for four words. Up to the first
 * that has others behind it; returns that. */
static const uint32_t *hash_short_words(uint64_t *hash, const uint32_t *p, const uint32_t *to)
{
	const uint64_t k = 0x9e3779b97f4a7c15u, k2 = k * k, k3 = k2 * k, k4 = k2 * k2;
	uint64_t h = *hash;
	for (; to - p >= 4; p += 4) {
		if ((p[0] >= FIRST_LONG) | (p[1] >= FIRST_LONG) | (p[2] >= FIRST_LONG) | (p[3] >= FIRST_LONG))
			break;
		h = h * k4 + (p[0] + 1ull) * k4 + (p[1] + 1ull) * k3 + (p[2] + 1ull) * k2 + (p[3] + 1ull) * k;
	}
	for (; p < to && *p < FIRST_LONG; p++)
		h = trace_hash(h, *p);
	*hash = h;
	return p;
}

/* An operand; what may be an address is no data. */
static void hash_operand(struct taken *t, uint32_t type, uint32_t low, uint32_t high)
{
	uint64_t v = low | (uint64_t)high << 32;
	if (type != TRACE_REAL && trace_is_address(v))
		v = 1;
	t->data = trace_hash(trace_hash(t->data, (uint32_t)v), (uint32_t)(v >> 32));
	t->has_data = true;
}

/* A silent record, as it is without data. */
static const uint32_t *hash_silent_record(struct taken *t, const uint32_t *p)
{
	t->control = trace_hash(t->control, TRACE_WORD(TRACE_W_SILENT, 0));
	for (int i = 1; i < TRACE_SILENT_WORDS; i++)
		t->control = trace_hash(t->control, p[i]);
	/* It stands for so many in place of itself. */
	t->words += load_pair(p + 3) - (*p & TRACE_VALUE ? TRACE_SILENT_DATA_WORDS : TRACE_SILENT_WORDS);
	if (!(*p & TRACE_VALUE))
		return p + TRACE_SILENT_WORDS;
	hash_operand(t, TRACE_REAL, p[TRACE_SILENT_WORDS], p[TRACE_SILENT_WORDS + 1]);
	return p + TRACE_SILENT_DATA_WORDS;
}

/* Words of a trace, without what may differ by chance. */
static void hash_taken(struct taken *t, const uint32_t *p, const uint32_t *to)
{
	while ((p = hash_short_words(&t->control, p, to)) < to) {
		uint32_t kind = *p >> TRACE_SHIFT, what = (*p & TRACE_VALUE) >> 16, n = *p & 0xffff;
		if (kind == TRACE_W_SILENT && to - p >= TRACE_SILENT_WORDS) {
			p = hash_silent_record(t, p);
			continue;
		}
		t->control = trace_hash(t->control, *p++);
		if (kind != TRACE_W_MORE)
			continue;
		for (; n >= 2 && to - p >= 2 && what >= TRACE_SIGNED && what <= TRACE_POINTER; n -= 2, p += 2)
			hash_operand(t, what, p[0], p[1]);
	}
}

/* What a silent record for the words would say; joins: with the one of so many words before them. */
static struct taken take_words(const uint32_t *from, const uint32_t *to, uint64_t joins)
{
	struct taken t = {0};
	const uint32_t *p = from - joins;
	if (joins) {
		t = (struct taken){.control = load_pair(p + 1), .words = load_pair(p + 3)};
		t.has_data = *p & TRACE_VALUE;
		t.data = t.has_data ? load_pair(p + TRACE_SILENT_WORDS) : 0;
	}
	t.words += (uint64_t)(to - from);
	hash_taken(&t, from, to);
	return t;
}

/* Counts words of a trace that were taken back: the words from `from` to `to` are taken back, and what is next
 * stands at `end`. */
static void tick(struct state *s, const uint32_t *to, uint32_t *end)
{
	if (!s->zoom)
		return;
	s->clock += (uint64_t)(to - s->clock_at);
	s->clock_at = end;
	state_set_limit(s);
}

HIDDEN uint32_t *__stemma_trace_silent(struct state *s, uint32_t *from, uint32_t *to, uint64_t joins)
{
	if (s->keep || from < s->words || to < from)
		return to;
	if (from - s->words < (ptrdiff_t)joins)
		joins = 0;
	if ((!joins && to - from < TRACE_SILENT_DATA_WORDS) || (s->coarse && (uint64_t)(to - from) > s->coarse))
		return to; /* it may not be shorter; or there is more in it than one record may have */
	struct taken t = take_words(from, to, joins);
	if (s->coarse && t.words > s->coarse && joins && to - from >= TRACE_SILENT_DATA_WORDS)
		t = take_words(from, to, joins = 0);
	if (s->coarse && t.words > s->coarse)
		return to;
	from -= joins;
	from[0] = TRACE_WORD(TRACE_W_SILENT, t.has_data ? TRACE_SILENT_DATA : 0);
	store_pair(from + 1, t.control);
	store_pair(from + 3, t.words);
	if (t.has_data)
		store_pair(from + TRACE_SILENT_WORDS, t.data);
	s->silent_words = t.has_data ? TRACE_SILENT_DATA_WORDS : TRACE_SILENT_WORDS;
	s->silent_end = from + s->silent_words;
	s->header.next = (uint64_t)(uintptr_t)s->silent_end;
	tick(s, to, s->silent_end);
	return s->silent_end;
}

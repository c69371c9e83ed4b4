/* trace_words_messages.c - messages between ranks, in words. */
#include "answer/trace/trace_answer.h"

#include "spec/trace/trace_format.h"

#include <string.h>

static const struct message_words {
	uint8_t kind;
	bool together;
	const char *name, *words;
} message_words[] = {
#define MESSAGE(number, name, words) {number, false, #name, words},
#define COLLECTIVE(number, name) {number, true, #name, ""},
#define CALL(name)
#include "spec/trace/messages.def"
#undef MESSAGE
#undef COLLECTIVE
#undef CALL
};

/* Of a kind that is not known: "message". */
static const struct message_words *find_message_words(unsigned kind)
{
	static const struct message_words unknown = {0, true, "message", ""};
	for (size_t i = 0; i < sizeof(message_words) / sizeof(*message_words); i++)
		if (message_words[i].kind == kind)
			return &message_words[i];
	return &unknown;
}

const char *trace_message_name(unsigned kind)
{
	return find_message_words(kind)->name;
}

/* "rank 2"; where it is said of a part of all, which part. */
static void put_rank(const struct trace_pair *p, int side, struct buf *b)
{
	const struct trace_info *i = &p->c.thread[side].info;
	const struct trace_message *m = &p->c.messages[side].message;
	if (i->ranks && m->size != (int32_t)i->ranks)
		buf_printf(b, "rank %u (%d in a communicator of %d)", i->rank, m->rank, m->size);
	else
		buf_printf(b, "rank %d", m->rank);
}

/* Appends ", N B"; nothing where the size is not known. */
static void put_bytes(const struct trace_message *m, struct buf *b)
{
	if (m->flags & TRACE_MESSAGE_BYTES)
		buf_printf(b, ", %llu B", (unsigned long long)m->bytes);
}

/* What a side's message is; `again`: what stands before the peer has been said. */
static void put_message(const struct trace_message *m, bool again, bool size, bool bytes, struct buf *b)
{
	const struct message_words *w = find_message_words(m->kind);
	const char *space = strchr(w->words, ' ');
	if (m->flags & TRACE_MESSAGE_CANCELLED) {
		buf_printf(b, "cancelled a receive");
		return;
	}
	if (w->together) {
		if (!again)
			buf_printf(b, "in MPI_%s", w->name);
		if (m->peer >= 0)
			buf_printf(b, "%sroot %d", again ? "" : ", ", m->peer);
	} else {
		buf_printf(b, "%s ", again && space ? space + 1 : w->words);
		if (m->peer < 0)
			buf_printf(b, "nobody");
		else
			buf_printf(b, "%d tag %d", m->peer, m->tag);
	}
	if (size)
		buf_printf(b, "%samong %d", b->n && b->p[b->n - 1] != ' ' ? " " : "", m->size);
	if (bytes)
		put_bytes(m, b);
}

void trace_words_message(const struct trace_pair *p, struct buf *b)
{
	const struct reported_message *t = p->c.messages;
	const struct trace_message *m[2] = {&t[0].message, &t[1].message};
	bool both = t[0].there && t[1].there, same_rank = both && m[0]->rank == m[1]->rank;
	bool again = same_rank && m[0]->kind == m[1]->kind && !((m[0]->flags | m[1]->flags) & TRACE_MESSAGE_CANCELLED);
	bool size = both && m[0]->size != m[1]->size, bytes = both && m[0]->bytes != m[1]->bytes;
	for (int s = 0; s < 2; s++) {
		buf_printf(b, "%s", s ? " | " : "");
		if (!t[s].there) {
			buf_printf(b, "no message");
			continue;
		}
		if (!s || !same_rank) {
			put_rank(p, s, b);
			buf_char(b, ' ');
		}
		put_message(m[s], s && again, size, bytes, b);
	}
	if ((t[0].there && m[0]->flags & TRACE_MESSAGE_ANY_SOURCE) ||
	    (t[1].there && m[1]->flags & TRACE_MESSAGE_ANY_SOURCE))
		buf_printf(b, ", of any source");
	if (t[0].at.function != SPEC_NONE) {
		buf_printf(b, ": ");
		trace_words_place(p, trace_pair_knows(p, t[0].at.function), t[0].at.function, t[0].at.node, b);
	}
}

void trace_words_sender(const struct trace_pair *p, struct buf *b)
{
	const struct trace_pair *q = p->sender;
	if (!q)
		return;
	if (q->c.message) {
		trace_words_message(q, b);
		return;
	}
	buf_printf(b, "rank %u: ", q->c.thread[0].info.rank);
	if (!q->c.equal && q->c.n) {
		trace_words_divergence(q, &q->c.v[0], b);
		return;
	}
	trace_words_place(q, 0, q->c.datum[0].function, q->c.datum[0].node, b);
	buf_printf(b, ": ");
	trace_words_operands(q, q->c.datum, b);
}

void trace_words_thread(const struct trace_pair *p, struct buf *b)
{
	fmt_name(b, str_of(p->side[0].thread));
	if (strcmp(p->side[0].thread, p->side[1].thread) != 0) {
		buf_printf(b, " | ");
		fmt_name(b, str_of(p->side[1].thread));
	}
}

/* ", rank 3" or ", rank 3 | rank 4"; nothing where one of the two is no MPI program. */
void trace_words_rank(const struct trace_pair *p, struct buf *b)
{
	const struct trace_info *i[2] = {&p->c.thread[0].info, &p->c.thread[1].info};
	if (!i[0]->ranks || !i[1]->ranks)
		return;
	buf_printf(b, ", rank %u", i[0]->rank);
	if (i[0]->rank != i[1]->rank)
		buf_printf(b, " | rank %u", i[1]->rank);
}

#include "answer/trace/trace_proof.h"

#include <errno.h>
#include <stdlib.h>

int trace_proof_add(struct trace_proof *p, const struct trace_turn *t)
{
	struct trace_turn *more = t->place && t->what ? realloc(p->v, (p->n + 1) * sizeof(*more)) : NULL;
	if (!more) {
		free(t->place);
		free(t->what);
		return -ENOMEM;
	}
	p->v = more;
	p->v[p->n++] = *t;
	return 0;
}

static const char *text_or_none(const char *s)
{
	return s ? s : "";
}

void trace_words_proof(const struct trace_proof *p, struct buf *b)
{
	size_t tried = p->state == PROOF_FOUND ? p->n - 1 : p->n;
	if (p->state == PROOF_NOT_MADE) {
		if (p->why)
			buf_printf(b, "not tried: %s\n", p->why);
		return;
	}
	if (p->state == PROOF_FOUND)
		buf_printf(b, "turning %s makes B's output A's: %s\n", p->v[p->n - 1].place, text_or_none(p->outputs));
	else
		buf_printf(b, "no decision that was turned alone makes B's output A's: %s\n", text_or_none(p->outputs));
	for (size_t i = 0; i < tried; i++)
		buf_printf(b, "turning %s does not: %s\n", p->v[i].place, p->v[i].what);
	if (*text_or_none(p->left_out))
		buf_printf(b, "left out, as it also differs between two runs of A: %s\n", p->left_out);
	if (p->state == PROOF_NOT_FOUND && p->why)
		buf_printf(b, "%s\n", p->why);
}

json_t *trace_proof_json(const struct trace_proof *p)
{
	static const char *const states[] = {"not made", "found", "not found"};
	json_t *o = json_object(), *list = json_array();
	js_text(o, "state", states[p->state]);
	if (p->why)
		js_text(o, "why", p->why);
	for (size_t i = 0; i < p->n; i++) {
		const struct trace_turn *t = &p->v[i];
		json_t *one = json_object();
		js_str(one, "place", str_of(t->place));
		if (t->file)
			js_str(one, "file", str_of(t->file));
		if (t->line)
			js_num(one, "line", t->line);
		js_bool(one, "makes_output_same", t->same);
		if (!t->same)
			js_str(one, "what", str_of(t->what));
		js_add(list, one);
	}
	js_put(o, "turned", list);
	if (p->outputs)
		js_str(o, "outputs", str_of(p->outputs));
	if (p->left_out && *p->left_out)
		js_str(o, "left_out", str_of(p->left_out));
	return o;
}

void trace_proof_release(struct trace_proof *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].place);
		free(p->v[i].what);
	}
	free(p->v);
	free(p->outputs);
	free(p->left_out);
	*p = (struct trace_proof){0};
}

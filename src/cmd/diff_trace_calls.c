#include "cmd/diff_trace_calls.h"

#include "cmd/js.h"

#include <stdlib.h>
#include <string.h>

int pair_calls_load(const char *const path[2], struct err *err, struct pair_calls *ret)
{
	int r = 0;
	*ret = (struct pair_calls){0};
	for (int s = 0; r == 0 && s < 2; s++)
		r = calls_load(path[s], err, &ret->c[s]);
	if (r == 0 && (r = called_steps_make(ret->c, &ret->steps)) < 0)
		err_set(err, -r, "cannot compare the traces");
	return r;
}

void pair_calls_release(struct pair_calls *p)
{
	called_steps_release(&p->steps);
	for (int s = 0; s < 2; s++)
		calls_release(&p->c[s]);
}

static const struct traced_call *call_at(const struct trace_pair *p, int side, size_t step)
{
	const struct pair_calls *x = p->calls;
	if (step >= p->side[side].steps || x->steps.call[side][step] >= x->c[side].n)
		return NULL;
	return &x->c[side].v[x->steps.call[side][step]];
}

size_t call_number(const struct trace_pair *p, int side, size_t step)
{
	return step < p->side[side].steps ? (size_t)p->calls->steps.call[side][step] + 1 : p->calls->c[side].n;
}

bool call_has_stacks(const struct trace_pair *p)
{
	return p->calls->steps.stacks;
}

/* What it was about, without what came of it. */
static void put_object(const struct calls *c, const struct traced_call *t, struct buf *b)
{
	static const char *const standard[] = {"standard input", "standard output", "standard error"};
	const char *kind = calls_word(c, t->kind), *path = calls_word(c, t->path);
	if (t->fd >= 0 && t->fd < 3)
		buf_printf(b, " of %s", standard[t->fd]);
	else if (t->fd >= 0)
		buf_printf(b, " of descriptor %d", t->fd);
	if (t->fd >= 0 && *kind) {
		buf_printf(b, ", ");
		fmt_name(b, str_of(kind));
		if (*path) {
			buf_char(b, ' ');
			fmt_path(b, str_of(path));
		}
	}
	for (int i = 0; i < 2; i++)
		if (*calls_word(c, t->given[i])) {
			buf_printf(b, "%s", i || t->fd >= 0 ? ", " : " of ");
			fmt_path(b, str_of(calls_word(c, t->given[i])));
		}
}

void call_words(const struct trace_pair *p, int side, size_t step, struct buf *b)
{
	const struct calls *c = &p->calls->c[side];
	const struct traced_call *t = call_at(p, side, step);
	if (!t)
		return;
	fmt_name(b, str_of(calls_word(c, t->name)));
	buf_printf(b, "()");
	put_object(c, t, b);
	switch (calls_result(c, t)) {
	case CALL_DID:
		break;
	case CALL_END:
		buf_printf(b, ": nothing more");
		break;
	case CALL_FAILED:
		buf_printf(b, ": %s", t->value > -4096 ? strerror((int)-t->value) : "failed");
		break;
	}
}

void call_words_data(const struct trace_pair *p, const struct spot at[2], struct buf *b)
{
	const struct traced_call *t[2];
	const char *path[2] = {"", ""};
	for (int s = 0; s < 2; s++)
		if (!(t[s] = call_at(p, s, at[s].step)))
			return;
	for (int s = 0; s < 2; s++)
		path[s] = calls_word(&p->calls->c[s], t[s]->path);
	for (int i = 0; i < 2 && !strcmp(path[0], path[1]); i++)
		for (int s = 0; s < 2; s++)
			path[s] = calls_word(&p->calls->c[s], t[s]->given[i]);
	if (!strcmp(path[0], path[1])) {
		buf_printf(b, "gave %lld | %lld", (long long)t[0]->value, (long long)t[1]->value);
		return;
	}
	for (int s = 0; s < 2; s++) {
		buf_printf(b, "%s", s ? " | " : "");
		fmt_path(b, str_of(path[s]));
	}
}

json_t *call_json(const struct trace_pair *p, int side, size_t step)
{
	const struct calls *c = &p->calls->c[side];
	const struct traced_call *t = call_at(p, side, step);
	json_t *o, *given;
	if (!t)
		return json_null();
	o = json_object();
	given = json_array();
	js_num(o, "number", call_number(p, side, step));
	js_str(o, "name", str_of(calls_word(c, t->name)));
	if (t->fd >= 0)
		js_num(o, "descriptor", (uint64_t)t->fd);
	js_str_if(o, "kind", str_of(calls_word(c, t->kind)));
	js_str_if(o, "path", str_of(calls_word(c, t->path)));
	for (int i = 0; i < 2; i++)
		if (*calls_word(c, t->given[i]))
			js_add(given, js_string(str_of(calls_word(c, t->given[i]))));
	js_put(o, "given", given);
	js_put(o, "result", json_integer(t->value));
	return o;
}

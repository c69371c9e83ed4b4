#include "answer/trace/trace_calls_words.h"

#include "answer/js.h"
#include "spec/path/path_calls.h"

#include <stdlib.h>
#include <string.h>

int pair_calls_load(const char *const path[2], struct err *err, struct pair_calls *ret)
{
	int r = 0;
	*ret = (struct pair_calls){0};
	for (int s = 0; r == 0 && s < 2; s++)
		r = calls_load(path[s], err, &ret->c[s]);
	return r;
}

void trace_decisions_words(const struct spec *s, uint32_t function, const uint32_t *decisions, uint32_t n_decisions,
                           struct buf *b)
{
	for (uint32_t i = 0; i < n_decisions && i < 8; i++) {
		const struct spec_node *n = spec_node(s, function, decisions[i]);
		const char *file = spec_file(s, n->file), *slash = strrchr(file, '/');
		buf_printf(b, "%s", i ? ", " : n_decisions > 1 ? "one of these decided: " : "decided at ");
		if (n->line) {
			fmt_name(b, str_of(slash ? slash + 1 : file));
			buf_printf(b, ":%u", n->line);
		} else {
			buf_printf(b, "node %u", decisions[i]);
		}
	}
	if (n_decisions)
		buf_printf(b, "%s\n", n_decisions > 8 ? ", and more" : "");
}

/* What kept the path from being the only one; then the decisions at which the sides part. */
static void format_call_path(const struct spec *s, const struct call_path_found *f, struct buf *b)
{
	if (f->too_large)
		buf_printf(b, "too many paths of the specification match these calls\n");
	else if (!f->found)
		buf_printf(b, "no path of the specification has %s calls: only the calls are compared\n",
		           f->none[0] && f->none[1] ? "these"
		           : f->none[0]             ? "A's"
		                                    : "B's");
	if (!f->found)
		return;
	if (f->loose)
		buf_printf(b, "a path of the specification matches only if library functions may make any calls\n");
	if (f->deep)
		buf_printf(b, "paths with more than %u frames between two calls were not followed\n", CALL_PATH_FRAMES);
	if (f->merged)
		buf_printf(b, "several nestings of the calls match: one was chosen\n");
	else if (f->ways[0] > 1 || f->ways[1] > 1)
		buf_printf(b, "the traces contain no call sites: %llu%s | %llu%s paths of the specification match\n",
		           (unsigned long long)f->ways[0], f->ways[0] == CALL_PATH_WAYS ? " or more" : "",
		           (unsigned long long)f->ways[1], f->ways[1] == CALL_PATH_WAYS ? " or more" : "");
	if (f->parts && f->apart < f->together)
		buf_printf(b, "the sides diverge after call %u at the latest, after call %u at the earliest\n", f->together,
		           f->apart);
	if (f->parts)
		trace_decisions_words(s, f->function, f->decisions, f->n_decisions, b);
}

/* What is not known of the stacks. True: where the sides part may be elsewhere because of it. */
static bool format_call_stacks(const struct calls c[2], struct buf *b)
{
	bool partial = false;
	for (int s = 0; s < 2; s++) {
		char side = "AB"[s];
		if (!c[s].n_stacks && c[!s].n_stacks)
			buf_printf(b, "%c's calls were recorded without stacks: only the calls are compared\n", side);
		if (!c[0].n_stacks || !c[1].n_stacks)
			continue;
		partial |= c[s].n_unknown || c[s].n_cut;
		if (c[s].n_unknown)
			buf_printf(b, "the callers of %u of %c's %u calls are unknown\n", c[s].n_unknown, side, c[s].n);
		if (c[s].n_cut)
			buf_printf(b, "the outer callers of %u of %c's %u calls are unknown: the stack could not be unwound\n",
			           c[s].n_cut, side, c[s].n);
		if (c[s].n_unnamed)
			buf_printf(
			    b,
			    "no name for %u of %c's %u addresses: the program's file is missing or different, or has no symbols\n",
			    c[s].n_unnamed, side, c[s].n_addresses);
		if (c[s].n_unlined)
			buf_printf(b, "no line for %u of %c's %u addresses: no debug information (-g)\n", c[s].n_unlined, side,
			           c[s].n_addresses);
	}
	return partial;
}

int pair_calls_steps(struct pair_calls *p, const struct spec *s, struct err *err, char **ret_said, bool *ret_partial)
{
	struct call_path_found f = {0};
	struct buf b = {0};
	int r = 0;
	*ret_said = NULL;
	*ret_partial = false;
	bool stacks = p->c[0].n_stacks && p->c[1].n_stacks, loose = format_call_stacks(p->c, &b);
	if (s && p->c[0].whole && p->c[1].whole && !stacks) {
		r = call_path_search(s, p->c, CALL_PATH_BEST, &p->steps, &f);
		if (r == 0)
			format_call_path(s, &f, &b);
		*ret_partial = !f.found || f.loose || f.deep || f.merged || f.ways[0] > 1 || f.ways[1] > 1;
		p->searched = f.found;
	}
	*ret_partial |= loose;
	while (b.n && b.p[b.n - 1] == '\n')
		b.n--;
	*ret_said = b.n ? strdup(buf_cstr(&b)) : NULL;
	free(f.decisions);
	buf_release(&b);
	if (r == 0 && !p->searched)
		r = called_steps_make(p->c, &p->steps);
	return r < 0 ? err_set(err, -r, "cannot compare the traces") : 0;
}

/* p itself may not be used afterwards. */
void pair_calls_release(struct pair_calls *p)
{
	called_steps_release(&p->steps);
	for (int s = 0; s < 2; s++)
		calls_release(&p->c[s]);
}

/* The call that a step of a trace is. NULL: the step is none of a call, or behind the end. */
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

bool call_has_functions(const struct trace_pair *p)
{
	return p->calls->searched || p->calls->steps.stacks;
}

/* What it was about, without what came of it. */
static void put_object(const struct calls *c, const struct traced_call *t, struct buf *b)
{
	static const char *const standard[] = {"standard input", "standard output", "standard error"};
	const char *kind = calls_text_of(c, t->kind), *path = calls_text_of(c, t->path);
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
		if (*calls_text_of(c, t->given[i])) {
			buf_printf(b, "%s", i || t->fd >= 0 ? ", " : " of ");
			fmt_path(b, str_of(calls_text_of(c, t->given[i])));
		}
}

void call_words(const struct trace_pair *p, int side, size_t step, struct buf *b)
{
	const struct calls *c = &p->calls->c[side];
	const struct traced_call *t = call_at(p, side, step);
	if (!t)
		return;
	fmt_name(b, str_of(calls_text_of(c, t->name)));
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
		path[s] = calls_text_of(&p->calls->c[s], t[s]->path);
	for (int i = 0; i < 2 && !strcmp(path[0], path[1]); i++)
		for (int s = 0; s < 2; s++)
			path[s] = calls_text_of(&p->calls->c[s], t[s]->given[i]);
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
	js_str(o, "name", str_of(calls_text_of(c, t->name)));
	if (t->fd >= 0)
		js_num(o, "descriptor", (uint64_t)t->fd);
	js_str_if(o, "kind", str_of(calls_text_of(c, t->kind)));
	js_str_if(o, "path", str_of(calls_text_of(c, t->path)));
	for (int i = 0; i < 2; i++)
		if (*calls_text_of(c, t->given[i]))
			js_add(given, js_string(str_of(calls_text_of(c, t->given[i]))));
	js_put(o, "given", given);
	js_put(o, "result", json_integer(t->value));
	return o;
}

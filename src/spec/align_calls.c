#include "spec/align_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of the one function: its entry, its return, then the calls in the order in which they are first met. */
enum { ENTRY, RETURN, FIRST_CALL };

struct maker {
	const struct calls *c;
	struct called_steps *out;
	struct vocabulary names, places; /* places by what makes calls the same */
	uint32_t *place;                 /* their names: words */
	size_t cap_place, cap_call[2];
};

void called_steps_release(struct called_steps *s)
{
	spec_free(s->spec);
	symbols_release(&s->symbols);
	for (int k = 0; k < 2; k++) {
		steps_release(&s->steps[k]);
		free(s->call[k]);
	}
	*s = (struct called_steps){0};
}

static int room(uint32_t **p, size_t *cap, size_t n)
{
	if (n < *cap)
		return 0;
	size_t more = *cap ? 2 * *cap : 1024;
	uint32_t *q = realloc(*p, more * sizeof(*q));
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = more;
	return 0;
}

/* ---- steps ---- */

static int put(struct maker *m, int side, uint32_t call, const struct symbol *s)
{
	struct called_steps *o = m->out;
	uint32_t number;
	int r = symbols_number(&o->symbols, s, &number);
	if (r == 0)
		r = steps_add(&o->steps[side], number);
	if (r == 0)
		r = room(&o->call[side], &m->cap_call[side], o->steps[side].n - 1);
	if (r == 0)
		o->call[side][o->steps[side].n - 1] = call;
	return r;
}

/* The call's place: what makes it the same as another. */
static int place_of(struct maker *m, const struct calls *c, const struct traced_call *t, uint32_t *ret)
{
	const char *name = calls_word(c, t->name);
	enum call_result result = calls_result(c, t);
	struct buf key = {0};
	uint32_t known = m->places.n;
	buf_printf(&key, "%s\t%d\t%s\t%d\t%lld", name, t->fd, calls_word(c, t->kind), result,
	           result == CALL_FAILED ? (long long)t->value : 0LL);
	int r = key.failed ? -ENOMEM : vocabulary_number(&m->places, key.p, key.n, ret);
	buf_release(&key);
	if (r < 0 || *ret < known)
		return r;
	r = room(&m->place, &m->cap_place, known);
	return r < 0 ? r : vocabulary_number(&m->names, name, strlen(name), &m->place[known]);
}

static int add_side(struct maker *m, int side)
{
	const struct calls *c = &m->c[side];
	int r = put(m, side, 0, &(struct symbol){.kind = STEP_ENTER});
	for (uint32_t i = 0; r == 0 && i < c->n; i++) {
		uint32_t place = 0;
		r = place_of(m, c, &c->v[i], &place);
		if (r == 0)
			r = put(m, side, i, &(struct symbol){.kind = STEP_AT, .node = FIRST_CALL + place});
	}
	return r;
}

/* ---- the graph ---- */

/* Words as one text, and where each is. */
static char *all_words(const struct vocabulary *w, size_t *offset)
{
	size_t n = 0;
	for (uint32_t i = 0; i < w->n; i++)
		n += strlen(w->v[i]) + 1;
	char *text = malloc(n + 1);
	n = 0;
	for (uint32_t i = 0; text && i < w->n; i++) {
		size_t k = strlen(w->v[i]) + 1;
		memcpy(text + n, w->v[i], k);
		offset[i] = n;
		n += k;
	}
	return text;
}

/* One function, the program; how its calls follow one another is not known. */
static int make_spec(struct maker *m)
{
	const char *exe = m->c[0].info.exe, *slash = strrchr(exe, '/');
	const char *program = slash ? slash + 1 : exe;
	uint32_t name;
	int r = vocabulary_number(&m->names, program, strlen(program), &name);
	struct spec *s = r == 0 ? calloc(1, sizeof(*s)) : NULL;
	size_t *offset = malloc(((size_t)m->names.n + 1) * sizeof(*offset));
	m->out->spec = s;
	if (!s || !offset)
		goto failed;
	s->main = SPEC_NONE;
	s->producer = strdup("traces of calls");
	s->functions = calloc(1, sizeof(*s->functions));
	s->nodes = calloc((size_t)m->places.n + FIRST_CALL, sizeof(*s->nodes));
	s->strings = all_words(&m->names, offset);
	if (!s->producer || !s->functions || !s->nodes || !s->strings)
		goto failed;
	s->n_nodes = m->places.n + FIRST_CALL;
	s->n_functions = 1;
	s->functions[0] =
	    (struct spec_function){.name = s->strings + offset[name], .file = SPEC_NONE, .n_nodes = s->n_nodes};
	for (uint32_t i = 0; i < s->n_nodes; i++)
		s->nodes[i] = (struct spec_node){.kind = i == ENTRY    ? SPEC_ENTRY
		                                         : i == RETURN ? SPEC_RETURN
		                                                       : SPEC_SYSCALL,
		                                 .file = SPEC_NONE,
		                                 .name = i < FIRST_CALL ? "" : s->strings + offset[m->place[i - FIRST_CALL]],
		                                 .condition = ""};
	free(offset);
	return 0;
failed:
	free(offset);
	return -ENOMEM;
}

int called_steps_make(const struct calls c[2], struct called_steps *ret)
{
	struct maker m = {.c = c, .out = ret};
	*ret = (struct called_steps){0};
	int r = 0;
	for (int side = 0; r == 0 && side < 2; side++)
		r = add_side(&m, side);
	if (r == 0)
		r = make_spec(&m);
	free(m.place);
	vocabulary_release(&m.names);
	vocabulary_release(&m.places);
	return r;
}

/* ---- comparing ---- */

/* Results that are numbers of descriptors or places, which say nothing of the data. */
static bool counts(const char *name)
{
	static const char *const others[] = {"open", "openat", "openat2", "creat",   "dup",          "dup2",
	                                     "dup3", "socket", "accept",  "accept4", "memfd_create", "mmap"};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return false;
	return true;
}

bool calls_same_data(const struct calls c[2], const struct traced_call *a, const struct traced_call *b)
{
	if (strcmp(calls_word(&c[0], a->path), calls_word(&c[1], b->path)) != 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (strcmp(calls_word(&c[0], a->given[i]), calls_word(&c[1], b->given[i])) != 0)
			return false;
	return a->value == b->value || !counts(calls_word(&c[0], a->name));
}

/* The first call of the common beginning that was made alike with other data. */
static void compare_data(const struct calls c[2], const struct called_steps *s, size_t prefix, struct compared *ret)
{
	for (size_t i = 0; i < prefix && !ret->data; i++) {
		const struct symbol *x = &s->symbols.v[s->steps[0].v[i]];
		uint32_t a = s->call[0][i], b = s->call[1][i];
		if (x->kind != STEP_AT || a >= c[0].n || b >= c[1].n || calls_same_data(c, &c[0].v[a], &c[1].v[b]))
			continue;
		/* The last step of the call is the call itself. */
		if (i + 1 < prefix && s->call[0][i + 1] == a && s->call[1][i + 1] == b)
			continue;
		ret->data = true;
		for (int k = 0; k < 2; k++)
			ret->datum[k] = (struct spot){.step = i, .kind = STEP_AT, .function = x->of, .node = x->node};
	}
}

int compare_calls(const struct atlas *m, const struct calls c[2], struct called_steps *s,
                  const struct compare_options *o, struct err *err, struct compared *ret)
{
	struct compared x = {0};
	for (int k = 0; k < 2; k++) {
		struct thread_steps *t = &x.thread[k];
		t->steps = s->steps[k];
		t->info = c[k].info;
		t->gaps = c[k].gaps;
		t->damaged = c[k].damaged;
		if (t->damaged)
			snprintf(t->why, sizeof(t->why), "line %u is damaged", c[k].line);
	}
	int r = compare_steps(m, &s->symbols, o, err, &x);
	if (r == 0) {
		struct align_side side[2] = {{s->steps[0].v, s->steps[0].n}, {s->steps[1].v, s->steps[1].n}};
		compare_data(c, s, align_prefix(side), &x);
		/* That another program, or a signal, took its place is an end like others. */
		bool known[2] = {o->ended[0] || c[0].replaced || c[0].killed, o->ended[1] || c[1].replaced || c[1].killed};
		x.partial = !x.result.exact;
		for (int k = 0; k < 2; k++)
			x.partial |= c[k].gaps || c[k].damaged || c[k].info.end == TRACE_STOPPED ||
			             (c[k].info.end == TRACE_CUT && !known[k]);
		x.operands = true;
		for (size_t i = 0; i < side[0].n; i++)
			x.data_steps += s->symbols.v[side[0].v[i]].kind == STEP_AT;
	}
	for (int k = 0; k < 2; k++) {
		size_t n = x.thread[k].steps.n;
		x.thread[k].steps = (struct steps){.n = n};
		steps_release(&s->steps[k]);
	}
	if (r < 0) {
		compared_release(&x);
		return r;
	}
	*ret = x;
	return 0;
}

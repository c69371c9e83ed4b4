#include "spec/align/align_calls.h"
#include "spec/trace/reserve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node of the graph that is made: what it is, in words of the maker. */
struct place {
	uint32_t function, file, line, name;
	bool call; /* a system call; else one of a function */
};
struct frame {
	uint32_t function, place; /* where it is; SPEC_NONE at its entry */
};
struct maker {
	const struct calls *c;
	struct called_steps *out;
	struct vocabulary names, functions, places; /* functions and places by what makes them one */
	uint32_t *function_name;                    /* by function: word */
	struct place *place;
	uint32_t cap_functions, cap_places;
	struct frame *stack;
	uint32_t depth, cap_stack;
	size_t cap_call[2];
};

/* s is empty then. */
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

/* Gives a text a number: *ret: the same number for the same text. 0, -ENOMEM. */
static int intern_text(struct vocabulary *w, const char *text, uint32_t *ret)
{
	return vocabulary_number(w, text, strlen(text), ret);
}

/* The function of a name in a program or library. 0, -ENOMEM. */
static int function_of(struct maker *m, const char *name, const char *module, uint32_t *ret)
{
	struct buf key = {0};
	uint32_t known = m->functions.n;
	buf_printf(&key, "%s\t%s", module, name);
	int r = key.failed ? -ENOMEM : vocabulary_number(&m->functions, key.p, key.n, ret);
	buf_release(&key);
	if (r == 0 && *ret == known)
		r = reserve_one_more(&m->function_name, &m->cap_functions, known, sizeof(*m->function_name));
	return r < 0 || *ret < known ? r : intern_text(&m->names, name, &m->function_name[*ret]);
}

/* Gives a place in the source a number. *ret: the number of the place with that key, made if it is new. 0, -ENOMEM.
 */
static int number_place(struct maker *m, const char *key, size_t n, uint32_t function, const char *file, uint32_t line,
                        const char *name, bool call, uint32_t *ret)
{
	uint32_t known = m->places.n;
	struct place p = {.function = function, .line = line, .call = call};
	int r = vocabulary_number(&m->places, key, n, ret);
	if (r < 0 || *ret < known)
		return r;
	r = reserve_one_more(&m->place, &m->cap_places, known, sizeof(*m->place));
	if (r == 0)
		r = intern_text(&m->names, file, &p.file);
	if (r == 0)
		r = intern_text(&m->names, name, &p.name);
	if (r == 0)
		m->place[known] = p;
	return r;
}

/* ---- steps ---- */

/* Nodes are numbered when all are known; until then a step has the place's number. 0, -ENOMEM. */
static int append_called_step(struct maker *m, int side, uint32_t call, const struct symbol *s)
{
	struct called_steps *o = m->out;
	uint32_t number;
	int r = symbols_number(&o->symbols, s, &number);
	if (r == 0)
		r = steps_add(&o->steps[side], number);
	if (r == 0 && o->steps[side].n > m->cap_call[side]) {
		size_t cap = m->cap_call[side] ? 2 * m->cap_call[side] : 1024;
		uint32_t *p = realloc(o->call[side], cap * sizeof(*p));
		if (!p)
			return -ENOMEM;
		o->call[side] = p;
		m->cap_call[side] = cap;
	}
	if (r == 0)
		o->call[side][o->steps[side].n - 1] = call;
	return r;
}

/* Notes that a function was entered. 0, -ENOMEM. */
static int enter_called_function(struct maker *m, int side, uint32_t call, uint32_t function)
{
	int r = reserve_one_more(&m->stack, &m->cap_stack, m->depth, sizeof(*m->stack));
	if (r == 0)
		r = append_called_step(m, side, call, &(struct symbol){.kind = STEP_ENTER, .of = function});
	if (r == 0)
		m->stack[m->depth++] = (struct frame){function, SPEC_NONE};
	return r;
}

/* Changes where the innermost function stands. 0, -errno. */
static int append_at_step(struct maker *m, int side, uint32_t call, uint32_t place)
{
	struct frame *f = &m->stack[m->depth - 1];
	f->place = place;
	return append_called_step(m, side, call, &(struct symbol){.kind = STEP_AT, .of = f->function, .node = place});
}

/* Leaves functions until the stack is that deep. 0 or -errno. */
static int leave_to(struct maker *m, int side, uint32_t call, uint32_t depth)
{
	int r = 0;
	for (; r == 0 && m->depth > depth; m->depth--)
		r = append_called_step(m, side, call, &(struct symbol){.kind = STEP_LEAVE});
	return r;
}

/* What makes the call the same as another, but for where it is. */
static void call_key(const struct calls *c, const struct traced_call *t, struct buf *ret)
{
	enum call_result result = calls_result(c, t);
	buf_printf(ret, "\t%s\t%d\t%s\t%d\t%lld", calls_text_of(c, t->name), t->fd, calls_text_of(c, t->kind), result,
	           result == CALL_FAILED ? (long long)t->value : 0LL);
}

/* A call of a trace without stacks. 0, -ENOMEM. */
static int append_flat_call(struct maker *m, int side, uint32_t i)
{
	const struct calls *c = &m->c[side];
	const struct traced_call *t = &c->v[i];
	struct buf key = {0};
	uint32_t place = 0;
	if (!m->depth) { /* with stacks, and none yet: called by nobody who is known */
		uint32_t function;
		int r = function_of(m, "?", "", &function);
		if (r == 0)
			r = enter_called_function(m, side, i, function);
		if (r < 0)
			return r;
	}
	uint32_t function = m->stack[m->depth - 1].function;
	buf_printf(&key, "%u", function);
	call_key(c, t, &key);
	int r =
	    key.failed ? -ENOMEM : number_place(m, key.p, key.n, function, "", 0, calls_text_of(c, t->name), true, &place);
	buf_release(&key);
	return r < 0 ? r : append_at_step(m, side, i, place);
}

/* Enters and leaves functions from the stack before to that of call i. 0, -ENOMEM. */
static int add_stack(struct maker *m, int side, uint32_t i)
{
	const struct calls *c = &m->c[side];
	const struct traced_call *t = &c->v[i];
	struct frame now[CALLS_DEPTH];
	struct buf key = {0};
	uint32_t kept = 0;
	int r = 0;
	for (uint32_t k = 0; r == 0 && k < t->depth; k++) {
		const struct call_frame *f = &c->frames[c->stacks[t->stack + k]];
		r = function_of(m, calls_text_of(c, f->function), calls_text_of(c, f->module), &now[k].function);
	}
	for (uint32_t k = 0; r == 0 && k < t->depth; k++) {
		const struct call_frame *f = &c->frames[c->stacks[t->stack + k]];
		bool last = k + 1 == t->depth;
		buf_reset(&key);
		/* Where no line is known, the address stands for it. */
		const char *where = calls_text_of(c, f->line ? f->file : f->at);
		buf_printf(&key, "%u\t%u\t%s", now[k].function, f->line, f->line ? "" : where);
		if (last)
			call_key(c, t, &key);
		else
			buf_printf(&key, "\t%u", now[k + 1].function);
		const char *name =
		    last ? calls_text_of(c, t->name) : calls_text_of(c, c->frames[c->stacks[t->stack + k + 1]].function);
		r = key.failed ? -ENOMEM
		               : number_place(m, key.p, key.n, now[k].function, where, f->line, name, last, &now[k].place);
	}
	buf_release(&key);
	if (r < 0)
		return r;
	/* Frames that are the same go on: all that stand where they stood, and the first that has moved. */
	while (kept < m->depth && kept < t->depth && m->stack[kept].function == now[kept].function) {
		kept++;
		if (m->stack[kept - 1].place != now[kept - 1].place)
			break;
	}
	r = leave_to(m, side, i, kept);
	if (r == 0 && kept) /* of those that stand, only the innermost does something new */
		r = append_at_step(m, side, i, now[kept - 1].place);
	for (uint32_t k = kept; r == 0 && k < t->depth; k++) {
		r = enter_called_function(m, side, i, now[k].function);
		if (r == 0)
			r = append_at_step(m, side, i, now[k].place);
	}
	return r;
}

/* The steps of one side's calls, by their stacks if both have them, else one after the other. 0, -errno. */
static int add_side(struct maker *m, int side)
{
	const struct calls *c = &m->c[side];
	int r = 0;
	m->depth = 0;
	if (!m->out->stacks) {
		const char *slash = strrchr(m->c[0].info.exe, '/');
		uint32_t function;
		r = function_of(m, slash ? slash + 1 : m->c[0].info.exe, "", &function);
		if (r == 0)
			r = enter_called_function(m, side, 0, function);
	}
	for (uint32_t i = 0; r == 0 && i < c->n; i++)
		r = m->out->stacks && c->v[i].depth ? add_stack(m, side, i) : append_flat_call(m, side, i);
	/* What is open where the thread ends returned no more. */
	return r;
}

/* ---- the graph ---- */

/* Then by line. */
static int by_function(const void *x, const void *y, void *arg)
{
	const struct place *v = arg;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	return v[a].function != v[b].function ? (v[a].function < v[b].function ? -1 : 1)
	       : v[a].line != v[b].line       ? (v[a].line < v[b].line ? -1 : 1)
	       : a < b                        ? -1
	                                      : a > b;
}

/* Words as one text, and where each is. */
static char *join_vocabulary(const struct vocabulary *w, size_t *offset)
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

/* Makes a specification of what the traces of calls show. Nodes: of each function its entry, its return, then its
 * places by their lines; how they follow one another is not known. node: by place. node: gets the number of each
 * place's node. 0, -ENOMEM. */
static int make_calls_spec(struct maker *m, uint32_t *node)
{
	uint32_t n_places = m->places.n, n_functions = m->functions.n, k = 0;
	struct spec *s = calloc(1, sizeof(*s));
	uint32_t *order = malloc(((size_t)n_places + 1) * sizeof(*order));
	size_t *offset = malloc(((size_t)m->names.n + 1) * sizeof(*offset));
	m->out->spec = s;
	if (!s || !order || !offset)
		goto failed;
	s->main = SPEC_NONE;
	s->producer = strdup("traces of calls");
	s->files = malloc(((size_t)m->names.n + 1) * sizeof(*s->files));
	s->functions = calloc((size_t)n_functions + 1, sizeof(*s->functions));
	s->nodes = calloc((size_t)n_places + 2 * (size_t)n_functions + 1, sizeof(*s->nodes));
	s->strings = join_vocabulary(&m->names, offset);
	if (!s->producer || !s->files || !s->functions || !s->nodes || !s->strings)
		goto failed;
	s->n_files = m->names.n;
	for (uint32_t i = 0; i < m->names.n; i++)
		s->files[i] = s->strings + offset[i];
	for (uint32_t i = 0; i < n_places; i++)
		order[i] = i;
	qsort_r(order, n_places, sizeof(*order), by_function, m->place);
	for (uint32_t i = 0; i < n_functions; i++) {
		struct spec_function *f = &s->functions[s->n_functions++];
		*f = (struct spec_function){.name = s->strings + offset[m->function_name[i]], .file = SPEC_NONE};
		f->first_node = s->n_nodes;
		for (int kind = 0; kind < 2; kind++)
			s->nodes[s->n_nodes++] = (struct spec_node){
			    .kind = kind ? SPEC_RETURN : SPEC_ENTRY, .file = SPEC_NONE, .name = "", .condition = ""};
		for (; k < n_places && m->place[order[k]].function == i; k++) {
			const struct place *p = &m->place[order[k]];
			node[order[k]] = s->n_nodes - f->first_node;
			s->nodes[s->n_nodes++] = (struct spec_node){.kind = p->call ? SPEC_SYSCALL : SPEC_CALL,
			                                            .file = *m->names.v[p->file] ? p->file : SPEC_NONE,
			                                            .line = p->line,
			                                            .name = s->strings + offset[p->name],
			                                            .condition = ""};
		}
		f->n_nodes = s->n_nodes - f->first_node;
	}
	free(order);
	free(offset);
	return 0;
failed:
	free(order);
	free(offset);
	return -ENOMEM;
}

/* The steps again, with nodes in the place of places. 0, -ENOMEM. */
static int renumber_steps(struct maker *m, const uint32_t *node)
{
	struct called_steps *o = m->out;
	struct symbols fresh = {0};
	uint32_t *to = malloc(((size_t)o->symbols.n + 1) * sizeof(*to));
	int r = to ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < o->symbols.n; i++) {
		struct symbol s = o->symbols.v[i];
		if (s.kind == STEP_AT)
			s.node = node[s.node];
		r = symbols_number(&fresh, &s, &to[i]);
	}
	for (int side = 0; r == 0 && side < 2; side++)
		for (size_t i = 0; i < o->steps[side].n; i++)
			o->steps[side].v[i] = to[o->steps[side].v[i]];
	free(to);
	symbols_release(&o->symbols);
	o->symbols = fresh;
	return r;
}

int called_steps_make(const struct calls c[2], struct called_steps *ret)
{
	struct maker m = {.c = c, .out = ret};
	*ret = (struct called_steps){.stacks = c[0].n_stacks && c[1].n_stacks};
	int r = 0;
	for (int side = 0; r == 0 && side < 2; side++)
		r = add_side(&m, side);
	uint32_t *node = malloc(((size_t)m.places.n + 1) * sizeof(*node));
	if (r == 0)
		r = node ? make_calls_spec(&m, node) : -ENOMEM;
	if (r == 0)
		r = renumber_steps(&m, node);
	free(node);
	free(m.place);
	free(m.function_name);
	free(m.stack);
	vocabulary_release(&m.names);
	vocabulary_release(&m.functions);
	vocabulary_release(&m.places);
	return r;
}

/* ---- comparing ---- */

/* Results that are numbers of descriptors or places, which say nothing of the data. */
static bool result_is_data(const char *name)
{
	static const char *const others[] = {"open", "openat", "openat2", "creat",   "dup",          "dup2",
	                                     "dup3", "socket", "accept",  "accept4", "memfd_create", "mmap"};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return false;
	return true;
}

/* Are these the same but for what decides no way? */
static bool calls_same_data(const struct calls c[2], const struct traced_call *a, const struct traced_call *b)
{
	if (strcmp(calls_text_of(&c[0], a->path), calls_text_of(&c[1], b->path)) != 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (strcmp(calls_text_of(&c[0], a->given[i]), calls_text_of(&c[1], b->given[i])) != 0)
			return false;
	return a->value == b->value || !result_is_data(calls_text_of(&c[0], a->name));
}

/* The first call of the common beginning that was made alike with other data. */
static void compare_call_data(const struct calls c[2], const struct called_steps *s, size_t prefix,
                              struct compared *ret)
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
		compare_call_data(c, s, align_prefix(side), &x);
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

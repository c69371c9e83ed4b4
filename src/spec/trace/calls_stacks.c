#include "capture/call_trace/stacks/library.h"
#include "spec/trace/calls_text.h"
#include "spec/trace/reserve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 22, FLAT_MOST = 1 << 24 };

struct raw_module {
	uint32_t key, base; /* words: identity, a space, path, as in the line; the path's last part */
	bool library;       /* the C library's */
};
struct raw_frame {
	uint32_t module; /* SPEC_NONE: of no file */
	bool interrupted, shown;
	uint64_t offset;
	uint32_t name, n_names; /* innermost first; 0: none */
};
struct raw_stack {
	uint32_t caller, frame, depth; /* caller: 0 the thread's beginning, SPEC_NONE not known */
	bool cut;                      /* ... of the outermost */
	uint32_t flat, n_flat;         /* in calls.stacks; n_flat 0: not laid out yet */
};
struct traced_stacks {
	struct raw_module *modules;
	struct raw_frame *frames;
	struct raw_stack *stacks; /* by number; 0 is none */
	struct call_frame *names; /* of the frames, address by address */
	uint32_t n_modules, n_frames, n_stacks, n_names;
	uint32_t cap_modules, cap_frames, cap_stacks, cap_names, cap_flat, cap_named;
	uint32_t signal, library; /* frames that stand for these, and 1; 0: not made yet */
};

/* NULL is no error. */
void traced_stacks_release(struct traced_stacks *s)
{
	if (!s)
		return;
	free(s->modules);
	free(s->frames);
	free(s->stacks);
	free(s->names);
	free(s);
}

/* A text with a NUL is -EBADMSG. 0, -ENOMEM. */
static int intern_calls_text(struct calls *c, const char *text, size_t n, uint32_t *ret)
{
	return memchr(text, 0, n) ? -EBADMSG : vocabulary_number(&c->words, text, n, ret);
}

/* ---- the lines ---- */

/* Reads the line of a program or library. -EBADMSG, -ENOMEM. */
static int module_line(struct calls *c, const char *p, const char *end)
{
	struct traced_stacks *s = c->raw;
	struct raw_module m = {0};
	char path[CALLS_TEXT];
	const char *identity;
	int64_t n;
	if (!calls_number(&p, end, &n) || n != s->n_modules || n >= MOST)
		return -EBADMSG;
	int r = intern_calls_text(c, p, (size_t)(end - p), &m.key);
	calls_token_at(&p, end, &identity);
	if (r < 0 || !calls_text(p, end, path, sizeof(path)))
		return r < 0 ? r : -EBADMSG;
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	m.library = stack_is_c_library(base);
	r = intern_calls_text(c, base, strlen(base), &m.base);
	if (r == 0)
		r = reserve_one_more(&s->modules, &s->cap_modules, s->n_modules, sizeof(*s->modules));
	if (r == 0)
		s->modules[s->n_modules++] = m;
	return r;
}

/* Hexadecimal, and the space behind it. */
static bool offset_at(const char **p, const char *end, uint64_t *ret)
{
	const char *q = *p;
	uint64_t v = 0;
	for (; q < end && *q != ' '; q++) {
		int digit = *q >= '0' && *q <= '9' ? *q - '0' : *q >= 'a' && *q <= 'f' ? *q - 'a' + 10 : -1;
		if (digit < 0 || v >> 60)
			return false;
		v = v << 4 | (uint64_t)digit;
	}
	if (q == *p || q == end)
		return false;
	*p = q + 1;
	*ret = v;
	return true;
}

/* Reads the line of a frame. -EBADMSG, -ENOMEM. */
static int frame_line(struct calls *c, const char *p, const char *end)
{
	struct traced_stacks *s = c->raw;
	struct raw_frame f = {.module = SPEC_NONE};
	const char *none;
	int64_t n, module = -1;
	if (!calls_number(&p, end, &n) || n != s->n_frames || n >= MOST)
		return -EBADMSG;
	if (end - p > 1 && p[0] == '-' && p[1] == ' ')
		calls_token_at(&p, end, &none);
	else if (!calls_number(&p, end, &module) || module < 0 || module >= s->n_modules)
		return -EBADMSG;
	else
		f.module = (uint32_t)module;
	if (!offset_at(&p, end, &f.offset) || end - p != 1 || (*p != 'r' && *p != 's'))
		return -EBADMSG;
	f.interrupted = *p == 's';
	int r = reserve_one_more(&s->frames, &s->cap_frames, s->n_frames, sizeof(*s->frames));
	if (r == 0)
		s->frames[s->n_frames++] = f;
	return r;
}

/* A frame above another stack, by number. -EBADMSG, -ENOMEM. */
static int stack_line(struct calls *c, const char *p, const char *end)
{
	struct traced_stacks *s = c->raw;
	struct raw_stack k = {.caller = SPEC_NONE, .depth = 1, .cut = true};
	const char *none;
	int64_t n, caller = -1, frame;
	if (!calls_number(&p, end, &n) || n != (int64_t)s->n_stacks + 1 || n >= MOST)
		return -EBADMSG;
	if (end - p > 1 && p[0] == '-' && p[1] == ' ')
		calls_token_at(&p, end, &none);
	else if (!calls_number(&p, end, &caller) || caller < 0 || caller >= n)
		return -EBADMSG;
	if (!calls_number(&p, end, &frame) || p != end || frame < 0 || frame >= s->n_frames)
		return -EBADMSG;
	k.frame = (uint32_t)frame;
	if (caller >= 0)
		k.caller = (uint32_t)caller;
	if (caller > 0)
		k.depth = s->stacks[caller].depth + 1;
	k.cut = caller < 0 || (caller > 0 && s->stacks[caller].cut);
	if (k.depth > CALLS_DEPTH)
		return -EBADMSG;
	int r = reserve_one_more(&s->stacks, &s->cap_stacks, s->n_stacks + 1, sizeof(*s->stacks));
	if (r == 0)
		s->stacks[++s->n_stacks] = k;
	return r;
}

int traced_stacks_line(struct calls *c, char letter, const char *p, const char *end)
{
	if (!c->raw && !(c->raw = calloc(1, sizeof(*c->raw))))
		return -ENOMEM;
	return letter == 'm' ? module_line(c, p, end) : letter == 'f' ? frame_line(c, p, end) : stack_line(c, p, end);
}

int traced_stacks_holds(const struct calls *c, const char *p, const char *end, uint32_t *ret, uint32_t *ret_known)
{
	int64_t n;
	*ret = *ret_known = 0;
	if (end - p == 1 && *p == '-')
		return 0;
	if (!calls_number(&p, end, &n) || p != end || n < 1 || !c->raw || n > c->raw->n_stacks)
		return -EBADMSG;
	*ret = (uint32_t)n;
	*ret_known = 1;
	return 0;
}

/* ---- names ---- */

struct sorted {
	uint32_t module;
	const struct raw_frame *frame;
};

/* Order of qsort: by module and address. */
static int compare_frames_by_address(const void *x, const void *y)
{
	const struct sorted *a = x, *b = y;
	return a->module != b->module                 ? (a->module < b->module ? -1 : 1)
	       : a->frame->offset != b->frame->offset ? (a->frame->offset < b->frame->offset ? -1 : 1)
	                                              : (int)a->frame->interrupted - (int)b->frame->interrupted;
}

/* Appends a copy of f to c->frames; *ret becomes its index. 0, -ENOMEM. */
static int append_named_frame(struct calls *c, const struct call_frame *f, uint32_t *ret)
{
	int r = reserve_one_more(&c->frames, &c->raw->cap_named, c->n_frames, sizeof(*c->frames));
	if (r == 0) {
		*ret = c->n_frames;
		c->frames[c->n_frames++] = *f;
	}
	return r;
}

/* The frame that stands for `what` was not read. *known: its number and 1, 0 not yet. 0, -ENOMEM. */
static int standing_for(struct calls *c, const char *what, uint32_t *known, uint32_t *ret)
{
	struct call_frame f = {0};
	int r = 0;
	if (!*known) {
		r = intern_calls_text(c, what, strlen(what), &f.function);
		if (r == 0)
			r = append_named_frame(c, &f, known);
		*known += r == 0;
	}
	*ret = *known - 1;
	return r;
}

/* A line `n`: one name of an address; those that follow of the same address are what it was inlined in. -EBADMSG,
 * -ENOMEM. */
static int name_line(struct calls *c, const struct sorted *all, size_t n_all, uint32_t module, const char *p,
                     const char *end)
{
	struct traced_stacks *s = c->raw;
	struct raw_frame wanted = {0}, *frame;
	struct sorted key = {module, &wanted};
	struct call_frame f = {0};
	char name[CALLS_TEXT];
	int64_t line;
	if (!offset_at(&p, end, &wanted.offset) || end - p < 2 || (*p != 'r' && *p != 's') || p[1] != ' ')
		return -EBADMSG;
	wanted.interrupted = *p == 's';
	p += 2;
	const char *tab = memchr(p, '\t', (size_t)(end - p));
	if (!calls_number(&p, end, &line) || line < 0 || line > INT32_MAX || !tab || tab < p)
		return -EBADMSG;
	const struct sorted *at = bsearch(&key, all, n_all, sizeof(*all), compare_frames_by_address);
	if (!at)
		return 0; /* another trace's */
	frame = &s->frames[at->frame - s->frames];
	if (frame->n_names && frame->name + frame->n_names != s->n_names)
		return 0; /* it has been told already */
	if (!calls_text(p, tab, name, sizeof(name)) || !*name)
		return -EBADMSG;
	int r = intern_calls_text(c, name, strlen(name), &f.function);
	if (r == 0 && !calls_text(tab + 1, end, name, sizeof(name)))
		return -EBADMSG;
	if (r == 0)
		r = intern_calls_text(c, name, strlen(name), &f.file);
	f.line = (uint32_t)line;
	if (r == 0)
		r = reserve_one_more(&s->names, &s->cap_names, s->n_names, sizeof(*s->names));
	if (r < 0)
		return r;
	if (!frame->n_names++)
		frame->name = s->n_names;
	s->names[s->n_names++] = f;
	return 0;
}

/* The names of addresses as the text gives them; n 0: none. 0, -EBADMSG, -ENOMEM. */
static int take_names(struct calls *c, const char *text, size_t n)
{
	struct traced_stacks *s = c->raw;
	const size_t magic = sizeof(CALLS_NAMES_MAGIC) - 1;
	struct sorted *all = malloc(((size_t)s->n_frames + 1) * sizeof(*all));
	size_t n_all = 0;
	uint32_t module = SPEC_NONE;
	int r = all ? 0 : -ENOMEM;
	if (n < magic || memcmp(text, CALLS_NAMES_MAGIC, magic) != 0)
		n = 0;
	for (uint32_t i = 0; r == 0 && i < s->n_frames; i++)
		if (s->frames[i].module != SPEC_NONE)
			all[n_all++] = (struct sorted){s->frames[i].module, &s->frames[i]};
	if (n_all)
		qsort(all, n_all, sizeof(*all), compare_frames_by_address);
	for (const char *p = text + (n ? magic : 0), *stop = text + n; r == 0 && n && p < stop;) {
		const char *end = memchr(p, '\n', (size_t)(stop - p));
		if (!end)
			break;
		if (end - p > 2 && p[0] == 'm' && p[1] == ' ') {
			module = SPEC_NONE;
			for (uint32_t i = 0; i < s->n_modules && module == SPEC_NONE; i++) {
				const char *key = calls_text_of(c, s->modules[i].key);
				if (strlen(key) == (size_t)(end - p) - 2 && !memcmp(key, p + 2, strlen(key)))
					module = i;
			}
		} else if (end - p > 2 && p[0] == 'n' && p[1] == ' ' && module != SPEC_NONE) {
			r = name_line(c, all, n_all, module, p + 2, end);
		}
		if (r == -EBADMSG) /* a damaged line names nothing */
			r = 0;
		p = end + 1;
	}
	free(all);
	return r;
}

/* ---- stacks as functions ---- */

/* Appends the frame's functions to c->frames, outermost first; first[frame] becomes the index of the first one. An
 * address that has no name is a function of its own. 0, -ENOMEM. */
static int name_frame(struct calls *c, uint32_t frame, uint32_t *first)
{
	struct traced_stacks *s = c->raw;
	struct raw_frame *f = &s->frames[frame];
	struct call_frame x = {0};
	char at[CALLS_TEXT];
	int r = 0;
	first[frame] = c->n_frames;
	if (f->module == SPEC_NONE) {
		snprintf(at, sizeof(at), "?");
	} else {
		x.module = s->modules[f->module].base;
		snprintf(at, sizeof(at), "%.4096s+0x%llx", calls_text_of(c, x.module), (unsigned long long)f->offset);
	}
	r = intern_calls_text(c, at, strlen(at), &x.at);
	if (r == 0 && !f->n_names) {
		x.function = x.at;
		return append_named_frame(c, &x, &first[frame]);
	}
	for (uint32_t i = f->n_names; r == 0 && i-- > 0;) {
		uint32_t none;
		struct call_frame y = s->names[f->name + i];
		y.module = x.module;
		y.at = i ? 0 : x.at;
		r = append_named_frame(c, &y, &none);
	}
	return r;
}

/* Appends a frame to the stacks as functions. 0, -EMSGSIZE: there are too many, -ENOMEM. */
static int append_flat_stack(struct calls *c, uint32_t frame)
{
	if (c->n_stacks == FLAT_MOST)
		return -EMSGSIZE;
	int r = reserve_one_more(&c->stacks, &c->raw->cap_flat, c->n_stacks, sizeof(*c->stacks));
	if (r == 0)
		c->stacks[c->n_stacks++] = frame;
	return r;
}

/* A stack as calls.stacks. Left out is what says nothing of the program: the C library, and the one frame around its
 * start; and what a signal interrupted, which the signal's time decides. 0, -ENOMEM. */
static int lay_out(struct calls *c, struct raw_stack *k, const uint32_t *first)
{
	struct traced_stacks *s = c->raw;
	uint32_t chain[CALLS_DEPTH], n = 0, from = 0, standing;
	const struct raw_stack *x = k;
	int r = 0;
	for (;; x = &s->stacks[x->caller]) {
		chain[n++] = x->frame;
		if (!x->caller || x->caller == SPEC_NONE)
			break;
	}
	bool whole = !x->caller;
	k->flat = c->n_stacks;
	for (uint32_t i = 0; i < n; i++) /* outermost is last */
		if (s->frames[chain[i]].interrupted) {
			n = i;
			r = standing_for(c, CALLS_SIGNAL, &s->signal, &standing);
			if (r == 0)
				r = append_flat_stack(c, standing);
			whole = false;
			break;
		}
	/* What the C library calls main by is inside of the program's first frame. */
	if (whole && n > 1 && s->frames[chain[n - 2]].module != SPEC_NONE &&
	    s->modules[s->frames[chain[n - 2]].module].library && s->frames[chain[n - 1]].module != SPEC_NONE &&
	    !s->modules[s->frames[chain[n - 1]].module].library)
		from = 1;
	for (uint32_t i = n - from; r == 0 && n > from && i-- > 0;) {
		struct raw_frame *f = &s->frames[chain[i]];
		if (f->module != SPEC_NONE && s->modules[f->module].library)
			continue;
		c->n_addresses += !f->shown;
		c->n_unnamed += !f->shown && !f->n_names;
		c->n_unlined += !f->shown && f->n_names && !s->names[f->name].line;
		f->shown = true;
		for (uint32_t j = 0; r == 0 && j < (f->n_names ? f->n_names : 1); j++)
			r = append_flat_stack(c, first[chain[i]] + j);
	}
	if (r == 0 && c->n_stacks == k->flat) {
		r = standing_for(c, CALLS_LIBRARY, &s->library, &standing);
		if (r == 0)
			r = append_flat_stack(c, standing);
	}
	k->n_flat = c->n_stacks - k->flat;
	if (k->n_flat > CALLS_DEPTH)
		k->n_flat = CALLS_DEPTH; /* with what was inlined */
	return r;
}

int calls_name(struct calls *c, const char *text, size_t n)
{
	struct traced_stacks *s = c->raw;
	if (!s) {
		for (uint32_t i = 0; i < c->n; i++)
			c->v[i].depth = 0;
		return 0;
	}
	uint32_t *first = malloc(((size_t)s->n_frames + 1) * sizeof(*first));
	int r = first ? take_names(c, text, n) : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < s->n_frames; i++)
		r = name_frame(c, i, first);
	for (uint32_t i = 0; i < c->n; i++) {
		struct traced_call *t = &c->v[i];
		struct raw_stack *k = t->depth ? &s->stacks[t->stack] : NULL;
		int laid = r == 0 && k && !k->n_flat ? lay_out(c, k, first) : 0;
		if (laid == -ENOMEM)
			r = laid;
		c->n_cut += k && k->cut;
		t->depth = r == 0 && k && laid == 0 ? k->n_flat : 0;
		t->stack = t->depth ? k->flat : 0;
		c->n_unknown += !t->depth;
	}
	free(first);
	traced_stacks_release(s);
	c->raw = NULL;
	return r;
}

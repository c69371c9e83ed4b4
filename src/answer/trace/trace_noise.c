#include "answer/trace/trace_noise.h"

#include "spec/align/align_noise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each turn finds at least one place that it had not before. */
#define TURNS_MAX 64
#define DIFFERENCES_MAX 10000

/* n is empty then. */
void trace_noise_release(struct trace_noise *n)
{
	for (size_t i = 0; i < n->n; i++)
		free(n->v[i].words);
	for (size_t i = 0; i < n->n_files; i++)
		free(n->files[i]);
	for (size_t i = 0; i < n->n_threads; i++)
		free(n->threads[i]);
	free(n->v);
	free(n->files);
	free(n->threads);
	free(n->strayed);
	*n = (struct trace_noise){0};
}

/* ---- learning ---- */

/* Adds a copy of the name to the list. 1: it is new; 0; -ENOMEM. */
static int add_name(char ***v, size_t *n, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*v)[i], name))
			return 0;
	char **more = realloc(*v, (*n + 1) * sizeof(*more));
	if (more)
		*v = more;
	if (!more || !(more[*n] = strdup(name)))
		return -ENOMEM;
	++*n;
	return 1;
}

int trace_noise_add_file(struct trace_noise *n, const char *name)
{
	int r = add_name(&n->files, &n->n_files, name);
	return r < 0 ? r : 0;
}

/* Notes that runs of the same program differ here by themselves, in these kinds of ways (NOISE_*). 1: it is new; 0;
 * -ENOMEM. */
static int add_site(struct trace_noise *n, const struct trace_pair *p, uint32_t function, uint32_t node, unsigned kinds)
{
	const struct spec *s = trace_pair_spec(p, 0);
	struct buf words = {0};
	if (!s || function == SPEC_NONE)
		return 0;
	for (size_t i = 0; i < n->n; i++) {
		struct noise_site *x = &n->v[i];
		if (x->spec != s->id || x->function != function || x->node != node)
			continue;
		bool more = (x->kinds & kinds) != kinds;
		x->kinds |= kinds;
		return more;
	}
	trace_words_place(p, 0, function, node, &words);
	char *text = words.failed ? NULL : strdup(buf_cstr(&words));
	buf_release(&words);
	if (!text || !vec_has_room(n->v, n->n, n->cap)) {
		free(text);
		return -ENOMEM;
	}
	n->v[n->n++] = (struct noise_site){s->id, function, node, kinds, text};
	return 1;
}

/* The place that a difference without a decision of its own is named by. */
static struct call_site place_of(const struct difference *d)
{
	if (d->at[0].kind == STEP_AT)
		return (struct call_site){d->at[0].function, d->at[0].node};
	return d->depth[0] ? d->stack[0][0] : (struct call_site){SPEC_NONE, SPEC_NONE};
}

/* No decision went another way, and yet one side makes a call that the other does not: that one's was taken back. 1:
 * something is new; 0; -ENOMEM. */
static int learn_call(struct trace_noise *n, const struct trace_pair *p, const struct difference *d)
{
	int new = 0, r = 0;
	for (int s = 0; r >= 0 && s < 2; s++) {
		const struct spot *x = &d->next[s];
		bool alone = d->d.end[s] > (d->d.at[s] == ALIGN_START ? 0 : d->d.at[s] + 1);
		if (!alone || x->kind != STEP_AT || x->chooses)
			continue;
		r = add_site(n, p, x->function, x->node, NOISE_SOMETIMES);
		new |= r > 0;
	}
	return r < 0 ? r : new;
}

/* What is passed over so that the two do not differ there. 1: it is new; 0: it is not, or there is nothing of the kind;
 * -ENOMEM. */
static int learn_difference(struct trace_noise *n, const struct trace_pair *p, const struct difference *d)
{
	const struct spot *at = &d->at[0];
	if (d->d.decision && at->kind == STEP_AT)
		return add_site(n, p, at->function, at->node, NOISE_WAY);
	if (trace_is_silent(d)) {
		const struct spot *x = at->kind == STEP_SILENT && d->d.decision ? at
		                       : d->next[0].kind == STEP_SILENT         ? &d->next[0]
		                                                                : &d->next[1];
		return add_site(n, p, x->function, SPEC_NONE, NOISE_SILENT);
	}
	if (at->kind == STEP_AT && d->next[0].kind == STEP_ENTER && d->next[1].kind == STEP_ENTER)
		return add_site(n, p, at->function, at->node, NOISE_CALLED);
	return learn_call(n, p, d);
}

/* Notes where two runs of one program differ by chance. 1: something new, 0, -errno. Nothing is learnt of calls and
 * functions. */
static int learn_pair(struct trace_noise *n, const struct trace_pair *p)
{
	int new = 0, r = 0;
	if (p->calls || p->functions)
		return 0;
	for (size_t i = 0; r >= 0 && i < p->c.n; i++) {
		r = learn_difference(n, p, &p->c.v[i]);
		new |= r > 0;
	}
	/* Where nothing decided, it is told apart by its place. */
	for (size_t i = 0; r >= 0 && !new &&i < p->c.n; i++) {
		struct call_site at = place_of(&p->c.v[i]);
		r = add_site(n, p, at.function, at.node, NOISE_ORDER);
	}
	for (size_t i = 0; r >= 0 && i < p->c.n_data_sites; i++) {
		r = add_site(n, p, p->c.data_sites[i].function, p->c.data_sites[i].node, NOISE_DATA);
		new |= r > 0;
	}
	if (r >= 0 && p->c.message && p->c.messages[0].there) {
		r = add_site(n, p, p->c.messages[0].at.function, p->c.messages[0].at.node, NOISE_MESSAGE);
		new |= r > 0;
	}
	for (size_t i = 0; r >= 0 && i < p->outputs.n_lines; i++)
		r = add_name(&n->files, &n->n_files, p->outputs.lines[i].name);
	return r < 0 ? r : new;
}

/* A thread of one side, for comparing. malloc'ed. */
static char *thread_label(const struct trace_side *s)
{
	const char *slash = strrchr(s->exe, '/');
	struct buf b = {0};
	buf_printf(&b, "%s %s", slash ? slash + 1 : s->exe, s->first ? s->first : "");
	char *text = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return text;
}

/* Learns from two runs that should have been equal where they differ. 1: something is new; 0; -ENOMEM. */
static int learn_view(struct trace_noise *n, const struct trace_view *v)
{
	int new = 0, r = 0;
	for (size_t i = 0; r >= 0 && i < v->n; i++) {
		r = learn_pair(n, &v->v[i]);
		new |= r > 0;
	}
	for (size_t i = 0; r >= 0 && i < v->n_only; i++) {
		char *label = thread_label(&v->only[i]);
		r = label ? add_name(&n->threads, &n->n_threads, label) : -ENOMEM;
		free(label);
	}
	for (size_t i = 0; r >= 0 && i < v->outputs.n_lines; i++)
		r = add_name(&n->files, &n->n_files, v->outputs.lines[i].name);
	return r < 0 ? r : new;
}

/* Compares sets that stay the caller's. Release ret with release_borrowed in any case. 0, -errno with a sentence. */
static int compare_borrowed(const struct trace_noise *n, const struct answer_source *a, const struct trace_set *x,
                            const struct trace_set *y, struct err *err, struct trace_comparison *ret)
{
	struct compare_options o = {.max = DIFFERENCES_MAX, .all_data = true};
	*ret = (struct trace_comparison){.set = {*x, *y}, .noise = n};
	return trace_compare(a, &o, err, ret);
}

/* The sets are others': they stay. */
static void release_borrowed(struct trace_comparison *j)
{
	j->set[0] = j->set[1] = (struct trace_set){0};
	trace_comparison_release(j);
}

/* The first place at which two of them still differ, by pair; NULL: none. */
static const struct trace_pair *first_that_parts(const struct trace_view *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (!v->v[i].calls && !v->v[i].functions && !v->v[i].c.equal)
			return &v->v[i];
	return NULL;
}

int trace_noise_learn(struct trace_noise *n, const struct answer_source *a, const struct trace_set *x,
                      const struct trace_set *y, struct err *err)
{
	bool parts = false;
	int r = 1;
	for (int turn = 0; r > 0 && turn < TURNS_MAX; turn++) {
		struct trace_comparison j;
		r = compare_borrowed(n, a, x, y, err, &j);
		if (r == 0 && (r = learn_view(n, &j.view)) < 0)
			err_set(err, ENOMEM, "cannot compare the traces");
		parts = r >= 0 && first_that_parts(&j.view);
		release_borrowed(&j);
	}
	n->unsettled |= parts;
	return r < 0 ? r : 0;
}

int trace_noise_look_for_strays(struct trace_noise *n, const struct answer_source *a, const struct trace_set *recorded,
                                const struct trace_set *again, struct err *err)
{
	struct trace_comparison j;
	struct buf b = {0};
	int r = compare_borrowed(n, a, recorded, again, err, &j);
	const struct trace_pair *p = r == 0 ? first_that_parts(&j.view) : NULL;
	if (p && !n->strayed) {
		trace_words_at(p, &p->c.v[0], &b);
		n->strayed = b.failed ? NULL : strdup(buf_cstr(&b));
		r = n->strayed ? 0 : err_set(err, ENOMEM, "cannot compare the traces");
	}
	buf_release(&b);
	release_borrowed(&j);
	return r;
}

/* ---- comparing without it ---- */

int trace_noise_of_spec(const struct trace_noise *n, uint64_t spec, struct align_noise *ret)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->v[i].spec == spec && align_noise_add(ret, n->v[i].function, n->v[i].node, n->v[i].kinds) < 0)
			return -ENOMEM;
	return 0;
}

/* Is the name in the list? */
static bool has_name(char *const *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i], name))
			return true;
	return false;
}

/* Is the line of bytes in all, of which as many are more as in the files that are noise? */
static bool is_explained(const struct trace_noise *n, const struct trace_outputs *o,
                         const struct trace_output_line *line)
{
	int64_t more = 0;
	if (*line->name)
		return false;
	for (size_t i = 0; i < o->n_lines; i++)
		if (*o->lines[i].name && has_name(n->files, n->n_files, o->lines[i].name))
			more += o->lines[i].more;
	return more && more == line->more;
}

/* Takes the lines of files that are noise out. */
static void take_out_files(const struct trace_noise *n, struct trace_outputs *o)
{
	bool *out = calloc(o->n_lines + 1, sizeof(*out)); /* without memory everything stays */
	char *from = o->words, *to = o->words;
	size_t left = 0, length;
	for (size_t i = 0; out && i < o->n_lines; i++)
		out[i] = has_name(n->files, n->n_files, o->lines[i].name) || is_explained(n, o, &o->lines[i]);
	for (size_t i = 0; out && from && i < o->n_lines; i++, from += length + (from[length] == '\n')) {
		length = strcspn(from, "\n");
		if (out[i]) {
			free(o->lines[i].name);
			o->n_noise++;
			continue;
		}
		if (left)
			*to++ = '\n';
		memmove(to, from, length + 1);
		to += length;
		o->lines[left++] = o->lines[i];
	}
	if (out)
		o->n_lines = left;
	if (out && to)
		*to = '\0';
	if (out && !left && o->n_noise) {
		free(o->words);
		o->words = NULL;
		o->differ = false;
	}
	free(out);
}

/* Is the order of what follows noise? Only a place, where no decision differs, is by chance. */
static bool is_order_noise(const struct trace_noise *n, const struct trace_pair *p, const struct difference *d)
{
	const struct call_site at = place_of(d);
	const struct spec *s = trace_pair_spec(p, 0);
	for (size_t i = 0; s && i < n->n; i++)
		if (n->v[i].kinds & NOISE_ORDER && n->v[i].spec == s->id && n->v[i].function == at.function &&
		    n->v[i].node == at.node)
			return !d->d.decision;
	return false;
}

/* Takes the differences of order that the repetitions show, too, out of p. It leaves pairs alone of which not all is
 * listed. */
static void take_out_differences(const struct trace_noise *n, struct trace_pair *p)
{
	size_t left = 0;
	if (p->calls || p->functions || p->c.n != p->c.result.total) /* what is not seen may be something else */
		return;
	for (size_t i = 0; i < p->c.n; i++)
		if (!is_order_noise(n, p, &p->c.v[i]))
			p->c.v[left++] = p->c.v[i];
	p->c.n = p->c.result.total = left;
	p->c.equal = left == 0;
}

void trace_noise_take_out(const struct trace_noise *n, struct trace_view *v)
{
	v->noise = n;
	for (size_t i = 0; i < v->n; i++) {
		v->v[i].noise = n;
		take_out_differences(n, &v->v[i]);
		take_out_files(n, &v->v[i].outputs);
	}
	take_out_files(n, &v->outputs);
	for (size_t i = 0; i < v->n_only; i++) {
		char *label = thread_label(&v->only[i]);
		v->only[i].noise = label && has_name(n->threads, n->n_threads, label);
		free(label);
	}
}

int trace_compare_beyond(const struct answer_source *a, const struct compare_options *o, const struct trace_noise *n,
                         struct err *err, struct trace_comparison *j)
{
	size_t pairs = j->view.n;
	bool *differed = calloc(pairs + 1, sizeof(*differed));
	if (!differed)
		return err_set(err, ENOMEM, "cannot compare the traces");
	for (size_t i = 0; i < pairs; i++)
		differed[i] = !trace_is_same(&j->view.v[i]);
	trace_comparison_forget(j);
	j->noise = n;
	int r = trace_compare(a, o, err, j);
	for (size_t i = 0; r == 0 && i < j->view.n && i < pairs; i++)
		j->view.v[i].noise_hides = differed[i];
	free(differed);
	return r;
}

/* ---- in words ---- */

/* Appends a line on what was left out, four places at most by name, and one on the outputs. Nothing where nothing was.
 * */
static void put_places(const struct trace_noise *n, const struct trace_pair *p, struct buf *b)
{
	const struct spec *s = trace_pair_spec(p, 0);
	size_t named = 0, more = 0;
	for (size_t i = 0; s && i < n->n; i++) {
		if (n->v[i].spec != s->id)
			continue;
		if (named == 4) {
			more++;
			continue;
		}
		buf_printf(b, "%s%s", named++ ? ", " : "left out: ", n->v[i].words);
	}
	if (more)
		buf_printf(b, " and %zu more", more);
	if (named)
		buf_printf(b, ", which also differ%s between these repetitions\n", named + more == 1 ? "s" : "");
	if (p->outputs.n_noise)
		buf_printf(b, "left out: %zu output%s that also differ%s between these repetitions\n", p->outputs.n_noise,
		           str_plural(p->outputs.n_noise), p->outputs.n_noise == 1 ? "s" : "");
}

/* Was B given what A was, as far as the record knows? Then it is a repetition of A. */
static bool is_repetition(const struct trace_pair *p)
{
	return p->outputs.known && !p->outputs.given_differ;
}

/* Where something is left that differs. */
static void put_verdict(const struct trace_noise *n, unsigned times, bool repetition, struct buf *b)
{
	if (n->strayed)
		buf_printf(b, "not known: A went another way when it was run again, first in %s\n", n->strayed);
	else if (n->unsettled)
		buf_printf(b, "perhaps noise: %u repetition%s of A differ%s in more than could be left out\n", times,
		           str_plural(times), times == 1 ? "s" : "");
	else if (repetition)
		buf_printf(b,
		           "perhaps noise: the same in %u repetition%s of A, but B is one, too: no input, argument or recorded "
		           "variable differs\n",
		           times, str_plural(times));
	else
		buf_printf(b, "not noise: the same in %u repetition%s of A\n", times, str_plural(times));
}

void trace_words_noise(const struct trace_pair *p, struct buf *b)
{
	const struct trace_pair *of = !p->noise && p->closer ? p->closer : p; /* what was measured there */
	const struct trace_noise *n = of->noise;
	unsigned times = n ? n->recorded + n->again : 0;
	if (!times || trace_is_same(of))
		return;
	if (of->calls || of->functions) {
		buf_printf(b, "not known: it is measured of traces of functions with their decisions\n");
		return;
	}
	if (trace_is_noise(of))
		buf_printf(b, "all that differs here also differs between %u repetition%s of A\n", times, str_plural(times));
	else
		put_verdict(n, times, is_repetition(p), b);
	put_places(n, of, b);
}

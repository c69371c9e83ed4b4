/* trace_functions.c - traces that hold functions only: the paths that they took are searched in the specification. */
#include "answer/trace/trace_set.h"

#include "answer/fmt.h"
#include "answer/trace/trace_calls_words.h"
#include "spec/path/path.h"
#include "spec/path/path_jumps.h"
#include "spec/trace/entered.h"
#include "spec/trace/provscope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many calls have no single path in the specification, and where the sides part at the first of them. */
static void format_searched(const struct spec *s, const struct path_found *f, struct buf *b)
{
	if (f->ambiguous)
		buf_printf(
		    b,
		    "the traces contain no call sites: in %llu of %llu calls more than one path of the specification matches\n",
		    (unsigned long long)f->ambiguous, (unsigned long long)f->functions);
	if (f->none)
		buf_printf(b, "in %llu of %llu calls no path of the specification matches; they are compared by name\n",
		           (unsigned long long)f->none, (unsigned long long)f->functions);
	if (f->unrecorded)
		buf_printf(b, "in %llu of %llu calls a path matches only through calls that are in no trace\n",
		           (unsigned long long)f->unrecorded, (unsigned long long)f->functions);
	if (f->too_large)
		buf_printf(b, "%llu call%s too many paths to search\n", (unsigned long long)f->too_large,
		           str_have(f->too_large));
	if (f->function == SPEC_NONE)
		return;
	if (f->apart < f->together) {
		buf_printf(b, "the sides diverge in ");
		fmt_name(b, str_of(s->functions[f->function].name));
		buf_printf(b, "() after its call %u at the latest, after %u at the earliest: %llu | %llu paths match\n",
		           f->together, f->apart, (unsigned long long)f->ways[0], (unsigned long long)f->ways[1]);
	}
	if (f->n_decisions == 1 && spec_node(s, f->function, f->decisions[0])->kind != SPEC_DECISION)
		return; /* the node that is named anyhow */
	trace_decisions_words(s, f->function, f->decisions, f->n_decisions, b);
}

/* Names of functions of one thread, from a trace of entries or provscope's. 0; -errno with a sentence; ret is set where
 * it is 0. */
static int events_load(const char *path, struct err *err, struct call_events *ret, struct thread_steps *ret_of)
{
	struct entered x;
	char magic[16] = "";
	ssize_t n = trace_first_bytes(path, magic, sizeof(magic));
	ret_of->info.end = TRACE_EXIT;
	if (n < 0 || !entered_is(magic, (size_t)n))
		return provscope_trace_load(path, err, ret);
	int r = entered_load(path, err, &x);
	if (r < 0)
		return r;
	*ret = x.events;
	ret_of->info = x.info;
	ret_of->gaps = x.gaps;
	/* Both are known ends: what a signal or another program ended is whole. */
	if (x.killed || x.replaced)
		ret_of->info.end = TRACE_EXIT;
	return 0;
}

static int by_word(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

/* What one side did not look for would be taken for not called. 0; -EINVAL: one trace was made with a function selected
 * that the other had not; -ENOMEM; with a sentence. */
static int same_choice(const struct call_events e[2], const char *const path[2], struct err *err)
{
	char **v[2] = {NULL, NULL};
	size_t at[2] = {0, 0};
	int r = 0;
	for (int s = 0; s < 2; s++) {
		v[s] = malloc(((size_t)e[s].n_names + 1) * sizeof(char *));
		if (!v[s])
			r = -ENOMEM;
		else if (e[s].n_names)
			qsort(memcpy(v[s], e[s].names, e[s].n_names * sizeof(char *)), e[s].n_names, sizeof(char *), by_word);
	}
	while (r == 0 && (at[0] < e[0].n_names || at[1] < e[1].n_names)) {
		int c = at[0] == e[0].n_names ? 1 : at[1] == e[1].n_names ? -1 : strcmp(v[0][at[0]], v[1][at[1]]);
		if (c) {
			err_set(err, 0, "'%s' was made with the function %s selected, and '%s' without", path[c > 0],
			        v[c > 0][at[c > 0]], path[c < 0]);
			r = -EINVAL;
		}
		for (int s = 0; r == 0 && s < 2; s++) { /* names may occur twice */
			const char *is = v[s][at[s]];
			while (at[s] < e[s].n_names && !strcmp(v[s][at[s]], is))
				at[s]++;
		}
	}
	free(v[0]);
	free(v[1]);
	return r == -ENOMEM ? err_set(err, ENOMEM, "cannot compare the traces") : r;
}

int compare_function_traces(const struct atlas *m, const char *const path[2], const struct compare_options *o,
                            struct err *err, struct compared *ret, struct path_found *ret_found, char **ret_searched)
{
	static const struct spec none;
	struct call_events e[2] = {0};
	struct symbols symbols = {0};
	struct steps steps[2] = {0};
	struct path_found found = {.function = SPEC_NONE};
	struct compared c = {0};
	struct compare_options options = *o;
	struct buf b = {0};
	uint64_t jumps[2] = {0, 0};
	int r = 0;
	options.goes_on = true;
	for (int s = 0; r == 0 && s < 2; s++)
		r = events_load(path[s], err, &e[s], &c.thread[s]);
	if (r == 0 && e[0].chosen != e[1].chosen)
		r = (err_set(err, 0, "'%s' and '%s' are traces of different kinds", path[0], path[1]), -EINVAL);
	if (r == 0 && m->built_otherwise)
		r = (err_set(err, 0,
		             "traces of functions can be compared only if both are of the same build, or if --spec gives one "
		             "specification"),
		     -EINVAL);
	if (r == 0 && e[0].chosen)
		r = same_choice(e, path, err);
	for (int s = 0; r == 0 && m->spec[0] && !e[0].chosen && s < 2; s++)
		if ((r = path_find_jumps(m->spec[0], &e[s], &jumps[s])) < 0)
			err_set(err, -r, "cannot search the paths");
	if (r == 0) {
		r = path_search(m->spec[0] ? m->spec[0] : &none, e, &symbols, steps, &found);
		if (r < 0)
			err_set(err, -r, "cannot search the paths");
	}
	for (int s = 0; s < 2; s++) {
		struct thread_steps *t = &c.thread[s];
		t->steps = steps[s];
		t->damaged = e[s].damaged;
		if (t->damaged)
			snprintf(t->why, sizeof(t->why), "line %u leaves a function that was not entered, or is not a function",
			         e[s].line);
	}
	if (r == 0)
		r = compare_steps(m, &symbols, &options, err, &c);
	if (r == 0) {
		c.partial |= found.ambiguous || found.none || found.unrecorded || found.too_large;
		format_searched(m->spec[0] ? m->spec[0] : &none, &found, &b);
		if (jumps[0] + jumps[1])
			buf_printf(
			    &b, "%llu | %llu calls have no end in the traces; where they ended is taken from the specification\n",
			    (unsigned long long)jumps[0], (unsigned long long)jumps[1]);
		while (b.n && b.p[b.n - 1] == '\n')
			b.n--;
		*ret_searched = b.n ? strdup(buf_cstr(&b)) : NULL;
	}
	for (int s = 0; s < 2; s++) {
		size_t n = c.thread[s].steps.n;
		steps_release(&c.thread[s].steps);
		c.thread[s].steps.n = n;
		call_events_release(&e[s]);
	}
	symbols_release(&symbols);
	buf_release(&b);
	if (r < 0) {
		compared_release(&c);
		path_found_release(&found);
		return r;
	}
	*ret = c;
	*ret_found = found;
	return 0;
}

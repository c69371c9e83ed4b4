#include "answer/trace/trace_compare.h"

#include "answer/diff/diff_content.h"
#include "answer/trace/trace_calls_words.h"
#include "answer/trace/trace_noise.h"
#include "answer/trace/trace_outputs.h"
#include "answer/trace/trace_pairing.h"
#include "spec/align/align_noise.h"
#include "spec/trace/trace_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void trace_comparison_forget(struct trace_comparison *j)
{
	struct trace_set set[2] = {j->set[0], j->set[1]};

	for (size_t i = 0; i < j->view.n; i++) {
		compared_release(&j->view.v[i].c);
		free(j->view.v[i].searched);
		trace_outputs_release(&j->view.v[i].outputs);
		path_found_release(&j->found[i]);
		if (j->view.v[i].calls)
			pair_calls_release(j->view.v[i].calls);
		free(j->view.v[i].calls);
	}
	for (size_t i = 0; i < j->n_atlas; i++) {
		atlas_release(&j->atlas[i]);
		align_noise_release(&j->noises[i]);
	}
	free(j->atlas);
	free(j->noises);
	free(j->found);
	free(j->view.v);
	free(j->view.only);
	free(j->view.only_side);
	trace_outputs_release(&j->view.outputs);
	trace_joins_release(&j->joins);
	*j = (struct trace_comparison){.set = {set[0], set[1]}};
}

/* j is empty then. */
void trace_comparison_release(struct trace_comparison *j)
{
	trace_comparison_forget(j);
	for (int s = 0; s < 2; s++)
		trace_set_release(&j->set[s]);
	*j = (struct trace_comparison){0};
}

/* Traces of threads of that process. f is one of them. */
static size_t count_threads(const struct trace_set *s, const struct trace_file *f)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].process == f->process && s->v[i].calls == f->calls;
	return n;
}

/* Its pointers are the trace's and the partner's, which must outlive it. */
static struct trace_side side_of(const struct trace_set *s, const struct trace_file *f,
                                 const struct trace_partner *partner)
{
	return (struct trace_side){.name = f->path,
	                           .exe = f->info.exe,
	                           .thread = f->info.thread,
	                           .first = trace_first_name(f),
	                           .exit_status = &f->exit_status,
	                           .exec = f->exec,
	                           .libraries = f->libraries,
	                           .n_libraries = f->n_libraries,
	                           .n_threads = count_threads(s, f),
	                           .uncertain = partner->uncertain,
	                           .alike = {partner->alike[0], partner->alike[1]}};
}

/* The pairs hold pointers to what they go by, so each atlas is made before any of them. *ret: its place in j->atlas. 0;
 * -errno with a sentence. */
static int make_atlas(struct trace_comparison *j, const struct spec *a, const struct spec *b, struct err *err,
                      size_t *ret)
{
	for (*ret = 0; *ret < j->n_atlas; ++*ret)
		if (j->atlas[*ret].spec[0] == a && j->atlas[*ret].spec[1] == b)
			return 0;
	const struct spec *of[2] = {a, b}, *const * parts;
	struct atlas *m = &j->atlas[j->n_atlas];
	int r = atlas_make(a, b, m);
	for (int s = 0; r == 0 && s < 2; s++) {
		size_t n = of[s] ? trace_joins_parts(&j->joins, of[s], &parts) : 0;
		if (of[s] && !n) {
			parts = &of[s];
			n = 1;
		}
		r = n ? atlas_set_parts(m, s, parts, n) : 0;
	}
	if (r == 0 && j->noise && (a || b)) {
		r = trace_noise_of_spec(j->noise, (a ? a : b)->id, &j->noises[j->n_atlas]);
		m->noise = &j->noises[j->n_atlas];
	}
	if (r < 0) {
		align_noise_release(&j->noises[j->n_atlas]);
		atlas_release(m);
		return err_set(err, -r, "cannot compare the specifications");
	}
	j->n_atlas++;
	return 0;
}

/* Compares two traces of system calls and adds a pair. 0; -errno with a sentence, then nothing is added. */
static int compare_calls_pair(struct trace_comparison *j, const struct trace_file *a, const struct trace_file *b,
                              const struct compare_options *o, struct err *err)
{
	const char *path[2] = {a->path, b->path};
	struct trace_pair *p = &j->view.v[j->view.n];
	struct pair_calls *x = calloc(1, sizeof(*x));
	size_t atlas;
	if (!x)
		return err_set(err, ENOMEM, "cannot compare the traces");
	char *said = NULL;
	bool partial = false;
	const struct spec *spec = a->spec && b->spec && a->spec->id == b->spec->id ? a->spec : NULL;
	int r = pair_calls_load(path, err, x);
	if (r == 0)
		r = pair_calls_steps(x, spec, err, &said, &partial);
	if (r == 0) {
		spec = x->searched ? spec : x->steps.spec;
		r = make_atlas(j, spec, spec, err, &atlas);
	}
	if (r == 0) {
		p->atlas = &j->atlas[atlas];
		p->searched = said;
		r = compare_calls(p->atlas, x->c, &x->steps, o, err, &p->c);
		p->c.partial |= partial;
	}
	if (r < 0) {
		free(said);
		p->searched = NULL;
		pair_calls_release(x);
		free(x);
		return r;
	}
	p->calls = x;
	for (int s = 0; s < 2; s++)
		p->side[s].steps = p->c.thread[s].steps.n;
	j->view.n++;
	return 0;
}

/* Can the two be compared at all? 0, or -errno with a sentence. */
static int check_kinds(const struct trace_file *a, const struct trace_file *b, struct err *err)
{
	if (a->calls != b->calls) {
		err_set(err, 0, "'%s' is a trace of calls and '%s' is a trace of functions", a->calls ? a->path : b->path,
		        a->calls ? b->path : a->path);
		err_hint(err, "run both sides with the same option, --trace or --trace-calls");
		return -EINVAL;
	}
	if (!a->calls && a->info.spec != b->info.spec && (!a->spec || !b->spec)) {
		err_set(err, 0, "'%s' and '%s' were made by different builds, and the specification of %s is unknown", a->path,
		        b->path,
		        a->spec   ? "the second"
		        : b->spec ? "the first"
		                  : "either");
		err_hint(err, "use --spec FILE with the specifications, or with programs that contain them");
		return -EBADMSG;
	}
	return 0;
}

/* Decisions, or names of functions alone. 0; -EINVAL: one has decisions, and one functions alone; -errno; with a
 * sentence. */
static int compare_contents(struct trace_comparison *j, const struct trace_file *a, const struct trace_file *b,
                            const struct compare_options *o, struct err *err)
{
	const char *path[2] = {a->path, b->path};
	struct trace_pair *p = &j->view.v[j->view.n];
	struct path_found *found = &j->found[j->view.n];
	if (!a->functions && !b->functions)
		return compare_traces(p->atlas, path, o, err, &p->c);
	if (!a->functions || !b->functions)
		return (err_set(err, 0, "cannot compare '%s', a trace with decisions, and '%s', a trace of functions only",
		                a->functions ? b->path : a->path, a->functions ? a->path : b->path),
		        err_hint(err, "trace both sides with the same option"), -EINVAL);
	int r = compare_function_traces(p->atlas, path, o, err, &p->c, found, &p->searched);
	p->functions = true;
	p->names = found->names;
	p->n_names = found->n_names;
	return r;
}

/* Compares the two and adds a pair to j->view; 0; -errno with a sentence, then none is added. Room is there. */
static int compare_pair(struct trace_comparison *j, const struct trace_file *a, const struct trace_file *b,
                        const struct compare_options *asked, struct err *err)
{
	const struct compare_options o = {
	    .greedy = asked->greedy,
	    .max = asked->max,
	    .all_data = asked->all_data,
	    .ended = {a->exit_status.kind != EXIT_STATUS_UNKNOWN, b->exit_status.kind != EXIT_STATUS_UNKNOWN}};
	struct trace_pair *p = &j->view.v[j->view.n];
	size_t atlas;
	int r = check_kinds(a, b, err);
	if (r < 0)
		return r;
	if (a->calls)
		return compare_calls_pair(j, a, b, &o, err);
	const struct trace_file *const both[2] = {a, b};
	const struct spec *specs[2];
	r = trace_joins_find(&j->joins, both, specs);
	r = r < 0 ? err_set(err, -r, "cannot compare the specifications") : make_atlas(j, specs[0], specs[1], err, &atlas);
	if (r < 0)
		return r;
	p->atlas = &j->atlas[atlas];
	r = compare_contents(j, a, b, &o, err);
	if (r < 0)
		return r;
	if (p->c.n && trace_is_silent(&p->c.v[0]))
		p->c.partial = true;
	for (int s = 0; s < 2; s++)
		p->side[s].steps = p->c.thread[s].steps.n;
	j->view.n++;
	return 0;
}

/* Is the program of this trace compared by its traces of the other kind? */
static bool goes_by_others(const struct trace_set *s, const struct trace_partner *of, size_t i)
{
	const struct trace_file *f = &s->v[i];
	for (size_t k = 0; k < s->n; k++) {
		const struct trace_file *g = &s->v[k];
		if (g->calls != f->calls && of[k].with != SIZE_MAX && g->info.pid == f->info.pid &&
		    g->info.started == f->info.started && !strcmp(trace_program(f), trace_program(g)))
			return true;
	}
	return false;
}

/* Makes room for a traces on the one side and b on the other. -ENOMEM: what could be had is in j. */
static int make_room(struct trace_comparison *j, size_t a, size_t b)
{
	j->view.v = calloc(a + 1, sizeof(*j->view.v));
	j->view.only = calloc(a + b + 1, sizeof(*j->view.only));
	j->view.only_side = calloc(a + b + 1, sizeof(*j->view.only_side));
	j->atlas = calloc((a + 1) * 2, sizeof(*j->atlas));
	j->noises = calloc((a + 1) * 2, sizeof(*j->noises));
	j->found = calloc(a + 1, sizeof(*j->found));
	return j->noises && j->found && j->view.v && j->view.only && j->view.only_side && j->atlas ? 0 : -ENOMEM;
}

/* Appends the traces of one side without a partner to the view, which has room for all; not those that others stand
 * for. */
static void list_alone(struct trace_comparison *j, int side, const struct trace_partner *of)
{
	const struct trace_set *set = &j->set[side];
	for (size_t i = 0; i < set->n; i++)
		if (of[i].with == SIZE_MAX && !goes_by_others(set, of, i)) {
			j->view.only_side[j->view.n_only] = side;
			j->view.only[j->view.n_only++] = side_of(set, &set->v[i], &of[i]);
		}
}

/* Compares what belongs together; roles: pairs of executions of the record, NULL there are none. */
static int compare_thread_pairs(struct trace_comparison *j, const struct diff *roles, const struct compare_options *o,
                                struct err *err)
{
	struct trace_set *a = &j->set[0], *b = &j->set[1];
	struct trace_partner *of[2] = {calloc(a->n + 1, sizeof(**of)), calloc(b->n + 1, sizeof(**of))};
	int r = of[0] && of[1] ? make_room(j, a->n, b->n) : -ENOMEM;
	if (r == 0)
		r = trace_sets_pair(a, b, roles ? roles->pairs : NULL, roles ? roles->paired : 0, of);
	if (r < 0)
		err_set(err, ENOMEM, "cannot compare the traces");
	for (size_t i = 0; r == 0 && i < a->n; i++) {
		size_t k = of[0][i].with;
		if (k == SIZE_MAX)
			continue;
		/* Functions say more, and among the calls are those by which functions were traced. */
		if (a->v[i].calls && goes_by_others(a, of[0], i) && goes_by_others(b, of[1], k))
			continue;
		j->view.v[j->view.n] =
		    (struct trace_pair){.side = {side_of(a, &a->v[i], &of[0][i]), side_of(b, &b->v[k], &of[1][k])}};
		r = compare_pair(j, &a->v[i], &b->v[k], o, err);
	}
	for (int s = 0; r == 0 && s < 2; s++)
		list_alone(j, s, of[s]);
	free(of[0]);
	free(of[1]);
	return r;
}

/* ---- who sent what may be why ---- */

/* The rank that both sides of a pair are, of so many; -1: not known, or not the same. */
static int64_t rank_of(const struct trace_pair *p, uint32_t ranks)
{
	const struct trace_info *i[2] = {&p->c.thread[0].info, &p->c.thread[1].info};
	return i[0]->ranks == ranks && i[1]->ranks == ranks && i[0]->rank == i[1]->rank ? (int64_t)i[0]->rank : -1;
}

/* Finds the pair that sent what differs: of a pair that parts, the one whose message is the first that differs, or
 * the last that was received before; if that one parts, too, and it is certain which it is: one process alone has
 * its rank. */
static const struct trace_pair *sender_of(const struct trace_view *v, const struct trace_pair *p)
{
	const struct reported_message *t = p->c.message ? p->c.messages : &p->c.last;
	const struct trace_message *m = &t[0].message;
	uint32_t ranks = p->c.thread[0].info.ranks;
	const struct trace_pair *found = NULL;
	if (!trace_parts(p) || !t[0].there || m->kind != TRACE_MESSAGE_receive || m->peer < 0 ||
	    m->size != (int32_t)ranks || rank_of(p, ranks) < 0)
		return NULL;
	if (p->c.message && (!t[1].there || t[1].message.kind != m->kind || t[1].message.peer != m->peer))
		return NULL; /* of two senders neither need have done anything else */
	for (size_t i = 0; i < v->n; i++) {
		const struct trace_pair *q = &v->v[i];
		if (q == p || rank_of(q, ranks) != m->peer || strcmp(q->side[0].exe, p->side[0].exe) != 0 ||
		    strcmp(q->side[1].exe, p->side[1].exe) != 0)
			continue;
		if (found)
			return NULL;
		found = q;
	}
	return found && trace_parts(found) ? found : NULL;
}

/* Executions of the same role, and what else differs between the sides, where both are of the record. 0, or -errno with
 * a sentence; ret_made: to be released. */
static int find_matching_roles(const struct answer_source *a, const struct trace_set set[2], struct err *err,
                               struct diff *ret, bool *ret_made)
{
	bool execs = set[0].exec && set[1].exec;
	const store_id ids[2] = {execs ? set[0].exec : set[0].run, execs ? set[1].exec : set[1].run};
	struct diff_content_source content = {.s = a->store};
	struct diff_options options = {
	    .system_extra = a->system_extra, .skew = a->skew, .content = diff_content_of, .content_arg = &content};
	*ret_made = false;
	if (!ids[0] || !ids[1] || !set[0].exec != !set[1].exec)
		return 0;
	int r = diff_make(a->store, execs ? DIFF_EXEC : DIFF_RUN, ids, &options, err, ret);
	*ret_made = r == 0;
	return r;
}

int trace_compare(const struct answer_source *a, const struct compare_options *o, struct err *err,
                  struct trace_comparison *j)
{
	struct diff roles;
	bool has_roles = false;
	int r = find_matching_roles(a, j->set, err, &roles, &has_roles);
	if (r == 0)
		r = compare_thread_pairs(j, has_roles ? &roles : NULL, o, err);
	if (r == 0 && has_roles)
		r = trace_outputs_read(a->store, &roles, j, err);
	if (has_roles)
		diff_release(&roles);
	if (r == 0 && j->noise)
		trace_noise_take_out(j->noise, &j->view);
	for (size_t i = 0; i < j->view.n; i++)
		j->view.v[i].sender = sender_of(&j->view, &j->view.v[i]);
	j->view.greedy = o->greedy;
	return r;
}

bool trace_differs(const struct trace_view *v)
{
	for (size_t i = 0; i < v->n; i++)
		if ((!trace_is_same(&v->v[i]) && !trace_is_noise(&v->v[i])) || v->v[i].atlas->built_otherwise ||
		    trace_built_anew(&v->v[i]))
			return true;
	for (size_t i = 0; i < v->n_only; i++)
		if (!v->only[i].noise)
			return true;
	return v->outputs.differ;
}

/* ---- the category `lines` of a diff of runs ---- */

/* The first divergence of the pair as an item of a diff of runs. p has one. 0, -ENOMEM. */
static int append_lines_item(struct diff *d, const struct trace_pair *p)
{
	struct buf place = {0}, a = {0}, b = {0};
	const struct difference *first = &p->c.v[0];
	const char *slash = strrchr(p->side[0].exe, '/');
	struct diff_item x = {.category = DIFF_lines, .kind = DIFF_CHANGED};
	trace_words_at(p, first, &place);
	if (p->side[0].n_threads > 1 || p->side[1].n_threads > 1)
		buf_printf(&place, "; threads took part, and their order may differ");
	trace_words_side_operands(p, first, 0, &a);
	trace_words_side_operands(p, first, 1, &b);
	x.subject = str_of(slash ? slash + 1 : p->side[0].exe);
	x.part = str_of(trace_verdict_word(trace_verdict(p)));
	x.name = buf_view(&place);
	x.before = buf_view(&a);
	x.after = buf_view(&b);
	x.count = p->c.result.total < UINT32_MAX ? (uint32_t)p->c.result.total : UINT32_MAX;
	int r = place.failed || a.failed || b.failed || !diff_add(d, &x) ? -ENOMEM : 0;
	buf_release(&place);
	buf_release(&a);
	buf_release(&b);
	return r;
}

int trace_lines(struct store *s, struct diff *d, struct err *err)
{
	struct trace_comparison j = {0};
	struct compare_options options = {.max = 1};
	struct err why = {0};
	int r = 0;
	if (d->side[0].what != DIFF_RUN)
		return 0;
	for (int k = 0; r == 0 && k < 2; k++)
		r = trace_set_of_run(s, d->side[k].id, 0, &why, &j.set[k]);
	if (r == 0 && j.set[0].n && j.set[1].n)
		r = compare_thread_pairs(&j, d, &options, &why);
	for (size_t i = 0; r == 0 && i < j.view.n; i++)
		if (!j.view.v[i].c.equal)
			r = append_lines_item(d, &j.view.v[i]);
	trace_comparison_release(&j);
	/* The rest of the answer does not depend on traces: what is wrong with them is said by diff --trace. */
	return r == -ENOMEM ? err_set(err, ENOMEM, "cannot compare the traces") : 0;
}

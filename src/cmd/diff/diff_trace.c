/* stemma diff --trace A B: where the programs parted. */
#include "cmd/diff/diff_trace.h"

#include "cmd/diff/diff_again.h"
#include "cmd/diff/diff_trace_calls.h"
#include "cmd/diff/diff_trace_find.h"
#include "cmd/diff/diff_trace_pair.h"
#include "cmd/diff/diff_view.h"
#include "spec/trace/trace_format.h"

#include <errno.h>
#include <stdlib.h>

enum { STATUS_SAME = 0, STATUS_DIFFERS = 1 };

struct job {
	struct trace_set set[2];
	struct trace_view view;
	struct atlas *atlas; /* one for each two specifications that meet */
	size_t n_atlas;
	struct path_found *found; /* by pair, of traces of functions */
};

static void job_release(struct job *j)
{
	for (size_t i = 0; i < j->view.n; i++) {
		compared_release(&j->view.v[i].c);
		free(j->view.v[i].searched);
		path_found_release(&j->found[i]);
		if (j->view.v[i].calls)
			pair_calls_release(j->view.v[i].calls);
		free(j->view.v[i].calls);
	}
	for (size_t i = 0; i < j->n_atlas; i++) {
		atlas_release(&j->atlas[i]);
	}
	free(j->atlas);
	free(j->found);
	free(j->view.v);
	free(j->view.only);
	free(j->view.only_side);
	for (int s = 0; s < 2; s++)
		trace_set_release(&j->set[s]);
}

static struct trace_side side_of(const struct trace_file *f, const struct trace_partner *partner)
{
	return (struct trace_side){.name = f->path,
	                           .exe = f->info.exe,
	                           .thread = f->info.thread,
	                           .first = trace_first_name(f),
	                           .exit_status = &f->exit_status,
	                           .uncertain = partner->uncertain,
	                           .alike = {partner->alike[0], partner->alike[1]}};
}

/* The pairs hold pointers to what they go by, so each atlas is made before any of them. */
static int make_atlas(struct job *j, const struct spec *a, const struct spec *b, struct err *err, size_t *ret)
{
	for (*ret = 0; *ret < j->n_atlas; ++*ret)
		if (j->atlas[*ret].spec[0] == a && j->atlas[*ret].spec[1] == b)
			return 0;
	int r = atlas_make(a, b, &j->atlas[j->n_atlas]);
	if (r < 0)
		return err_set(err, -r, "cannot compare the specifications");
	j->n_atlas++;
	return 0;
}

static int compare_calls_pair(struct job *j, const struct trace_file *a, const struct trace_file *b,
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

static int compare_pair(struct job *j, const struct trace_file *a, const struct trace_file *b,
                        const struct compare_options *asked, struct err *err)
{
	const struct compare_options with_fates = {
	    .greedy = asked->greedy,
	    .max = asked->max,
	    .ended = {a->exit_status.kind != EXIT_STATUS_UNKNOWN, b->exit_status.kind != EXIT_STATUS_UNKNOWN}};
	const struct compare_options *o = &with_fates;
	const char *path[2] = {a->path, b->path};
	struct trace_pair *p = &j->view.v[j->view.n];
	size_t atlas;
	int r;
	if (a->calls != b->calls) {
		err_set(err, 0, "'%s' is a trace of calls and '%s' one of functions", a->calls ? a->path : b->path,
		        a->calls ? b->path : a->path);
		err_hint(err, "run both sides with the same option, --trace or --trace-calls");
		return -EINVAL;
	}
	if (a->calls)
		return compare_calls_pair(j, a, b, o, err);
	if (a->info.spec != b->info.spec && (!a->spec || !b->spec)) {
		err_set(err, 0, "'%s' and '%s' were made by different builds, and the specification of %s is not known",
		        a->path, b->path,
		        a->spec   ? "the second"
		        : b->spec ? "the first"
		                  : "either");
		err_hint(err, "name them with --spec FILE, or the programs that have them in");
		return -EBADMSG;
	}
	r = make_atlas(j, a->spec, b->spec, err, &atlas);
	if (r < 0)
		return r;
	p->atlas = &j->atlas[atlas];
	if (a->functions || b->functions) {
		if (!a->functions || !b->functions)
			return err_set(err, EINVAL, "'%s' has decisions and '%s' only functions", a->functions ? b->path : a->path,
			               a->functions ? a->path : b->path);
		r = compare_function_traces(p->atlas, path, o, err, &p->c, &j->found[j->view.n], &p->searched);
		p->functions = true;
		p->names = j->found[j->view.n].names;
		p->n_names = j->found[j->view.n].n_names;
	} else {
		r = compare_traces(p->atlas, path, o, err, &p->c);
	}
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

/* Compares what belongs together; roles: pairs of executions of the record, NULL there are none. */
static int compare_thread_pairs(struct job *j, const struct diff *roles, const struct compare_options *o,
                                struct err *err)
{
	struct trace_set *a = &j->set[0], *b = &j->set[1];
	struct trace_partner *of[2] = {calloc(a->n + 1, sizeof(**of)), calloc(b->n + 1, sizeof(**of))};
	int r = of[0] && of[1] ? 0 : -ENOMEM;
	j->view.v = calloc(a->n + 1, sizeof(*j->view.v));
	j->view.only = calloc(a->n + b->n + 1, sizeof(*j->view.only));
	j->view.only_side = calloc(a->n + b->n + 1, sizeof(*j->view.only_side));
	j->atlas = calloc((a->n + 1) * 2, sizeof(*j->atlas));
	j->found = calloc(a->n + 1, sizeof(*j->found));
	if (!j->found || !j->view.v || !j->view.only || !j->view.only_side || !j->atlas)
		r = -ENOMEM;
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
		    (struct trace_pair){.side = {side_of(&a->v[i], &of[0][i]), side_of(&b->v[k], &of[1][k])}};
		r = compare_pair(j, &a->v[i], &b->v[k], o, err);
	}
	for (int s = 0; r == 0 && s < 2; s++)
		for (size_t i = 0; i < j->set[s].n; i++)
			if (of[s][i].with == SIZE_MAX && !goes_by_others(&j->set[s], of[s], i)) {
				j->view.only_side[j->view.n_only] = s;
				j->view.only[j->view.n_only++] = side_of(&j->set[s].v[i], &of[s][i]);
			}
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

/* Of a pair that parts, the one whose message is the first that differs, or the last that was received before; if that
 * one parts, too, and it is certain which it is: one process alone has its rank. */
static const struct trace_pair *sender_of(const struct trace_view *v, const struct trace_pair *p)
{
	const struct reported_message *t = p->c.message ? p->c.messages : &p->c.last;
	const struct trace_message *m = &t[0].message;
	uint32_t ranks = p->c.thread[0].info.ranks;
	const struct trace_pair *found = NULL;
	if (trace_is_same(p) || !t[0].there || m->kind != TRACE_MESSAGE_receive || m->peer < 0 ||
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
	return found && !trace_is_same(found) ? found : NULL;
}

/* The traces of both sides, from where they are or by running again what left none. A status; -1 as diff_again. */
static int find_traces(struct cmd *c, const struct opts_diff *o, const char *const words[2], struct trace_set set[2],
                       struct traced_again *again)
{
	int status = STATUS_OK;
	for (int s = 0; status == STATUS_OK && s < 2; s++)
		status = trace_set_find(c, words[s], s < 2 - c->n_after_dashes, &o->spec, &set[s]);
	if (status != STATUS_OK || (set[0].n && set[1].n))
		return status;
	for (int s = 0; s < 2; s++) {
		if (set[s].n || (set[0].run && set[1].run && !set[0].exec && !set[1].exec))
			continue;
		return trace_set_none(words[s]);
	}
	for (int s = 0; s < 2; s++)
		if (!set[s].n && !o->no_rerun && !o->rerun)
			report("there is no trace in '%s'", words[s]);
	return diff_again(c, o, set, again);
}

/* Executions of the same role, where there are several to choose from. 0, or -errno with a sentence; ret_made: to be
 * released. */
static int find_matching_roles(struct cmd *c, const struct trace_set set[2], struct err *err, struct diff *ret,
                               bool *ret_made)
{
	bool execs = set[0].exec && set[1].exec;
	const store_id ids[2] = {execs ? set[0].exec : set[0].run, execs ? set[1].exec : set[1].run};
	struct diff_options options = {.system_extra = config_get(&c->config, CONFIG_system),
	                               .skew = config_duration(&c->config, CONFIG_skew)};
	*ret_made = false;
	if (!ids[0] || !ids[1] || !set[0].exec != !set[1].exec || (set[0].n < 2 && set[1].n < 2))
		return 0;
	int r = diff_make(c->store, execs ? DIFF_EXEC : DIFF_RUN, ids, &options, err, ret);
	*ret_made = r == 0;
	return r;
}

/* "2", or "2:3" of the two sides. */
static bool rank_words(const char *text, uint32_t ret[2])
{
	char *end;
	for (int s = 0; s < 2; s++) {
		if (*text < '0' || *text > '9')
			return false;
		unsigned long n = strtoul(text, &end, 10);
		ret[s] = (uint32_t)n;
		if (n >= UINT32_MAX || (*end && (s || *end != ':')))
			return false;
		if (*end)
			text = end + 1;
		else if (!s)
			return ret[1] = ret[0], true;
	}
	return true;
}

static int leave_ranks(const struct opts_diff *o, const char *const words[2], struct trace_set set[2])
{
	uint32_t rank[2];
	struct err err = {0};
	if (!rank_words(o->rank, rank)) {
		report("--rank is a number, or two with a colon between: '%s'", o->rank);
		return STATUS_USAGE;
	}
	for (int s = 0; s < 2; s++) {
		trace_set_of_rank(&set[s], rank[s]);
		if (!set[s].n) {
			report("there is no trace of rank %u in '%s'", rank[s], words[s]);
			report_hint("programs of stemma cc --trace know their rank once they have called MPI_Init");
			return STATUS_USAGE;
		}
		if (trace_set_settle(&set[s], &err) < 0)
			return report_err(&err, STATUS_SELF);
	}
	return STATUS_OK;
}

/* Traces of what was run again lie in a folder that goes: their paths are no names for anybody. */
static void name_files_that_go(struct trace_view *v, const char *folder)
{
	for (size_t i = 0; folder && i < v->n + v->n_only; i++) {
		struct trace_side *side = i < v->n ? v->v[i].side : &v->only[i - v->n];
		for (int s = 0; s < (i < v->n ? 2 : 1); s++)
			if (!strncmp(side[s].name, folder, strlen(folder)))
				side[s].name = "run again";
	}
}

static int print_traces(struct cmd *c, const struct opts_diff *o, const char *const *words,
                        const struct traced_again *again, struct trace_view *v)
{
	v->out = &c->out;
	v->what[0] = words[0];
	v->what[1] = words[1];
	v->again = again->n_shown != 0;
	v->note = again->note;
	v->n_notes = again->n_notes;
	v->ran = again->shown;
	v->n_ran = again->n_shown;
	v->all = o->all;
	int r = o->json ? trace_json(v) : o->html ? trace_html(v) : trace_text(v);
	int status = r ? STATUS_SELF : STATUS_SAME;
	for (size_t i = 0; status == STATUS_SAME && i < v->n; i++)
		if (!trace_is_same(&v->v[i]) || v->v[i].atlas->built_otherwise)
			status = STATUS_DIFFERS;
	return status == STATUS_SAME && v->n_only ? STATUS_DIFFERS : status;
}

int cmd_diff_trace(struct cmd *c, const struct opts_diff *o)
{
	static const char *const last_two[] = {"@~1", "@"};
	const char *const *words = c->n_operands ? (const char *const *)c->operands : last_two;
	struct job j = {0};
	struct traced_again again = {0};
	struct err err = {0};
	struct diff roles;
	bool has_roles = false;
	struct compare_options options = {.max = o->all ? 10000 : 20};
	if (c->n_operands && c->n_operands != 2)
		return report_usage(c, "diff --trace compares two traces, folders of traces, or runs");
	if (o->rerun && o->no_rerun)
		return report_usage(c, "--rerun or --no-rerun, not both");
	if (o->algorithm && !strcmp(o->algorithm, "greedy"))
		options.greedy = true;
	else if (o->algorithm && strcmp(o->algorithm, "exact"))
		return report_usage(c, "--algorithm is exact or greedy");
	int r = 0, status = find_traces(c, o, words, j.set, &again);
	if (status == STATUS_OK && o->rank)
		status = leave_ranks(o, words, j.set);
	if (status != STATUS_OK) {
		job_release(&j);
		traced_again_release(&again);
		return status < 0 ? STATUS_OK : status;
	}
	r = find_matching_roles(c, j.set, &err, &roles, &has_roles);
	if (r == 0)
		r = compare_thread_pairs(&j, has_roles ? &roles : NULL, &options, &err);
	if (has_roles)
		diff_release(&roles);
	for (size_t i = 0; i < j.view.n; i++)
		j.view.v[i].sender = sender_of(&j.view, &j.view.v[i]);
	name_files_that_go(&j.view, again.folder);
	if (r == 0) {
		j.view.greedy = options.greedy;
		status = print_traces(c, o, words, &again, &j.view);
	} else {
		status = report_err(&err, r == -EBADMSG || r == -EINVAL || r == -ENOENT ? STATUS_USAGE : STATUS_SELF);
	}
	job_release(&j);
	traced_again_release(&again);
	return status;
}

/* ---- the rung `lines` of a diff of runs ---- */

static int append_lines_item(struct diff *d, const struct trace_pair *p)
{
	struct buf place = {0}, a = {0}, b = {0};
	const struct difference *first = &p->c.v[0];
	const char *slash = strrchr(p->side[0].exe, '/');
	struct diff_item x = {.rung = DIFF_lines, .kind = DIFF_CHANGED};
	trace_words_at(p, first, &place);
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

int diff_lines(struct store *s, struct diff *d, struct err *err)
{
	struct job j = {0};
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
	job_release(&j);
	/* The rest of the answer does not depend on traces: what is wrong with them is said by diff --trace. */
	return r == -ENOMEM ? err_set(err, ENOMEM, "cannot compare the traces") : 0;
}

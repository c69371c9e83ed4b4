#include "trust/witness.h"

#include "base/os/system.h"
#include "base/vec.h"
#include "trust/content.h"
#include "trust/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct one {
	struct store *s;
	const struct witness_options *o;
	struct err *err;
	store_id run;
	char *cwd;
	struct trust_side side;
	struct elements variant, missing;
	struct elements files; /* names of the inputs as the command line may have them */
	struct reported_list digests;
	VEC(store_id) made, used, streams;
};

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int witness_oom(struct err *err)
{
	return err_set(err, ENOMEM, "cannot read what the runs used");
}

static int compare_version_ids(const void *a, const void *b)
{
	store_id x = *(const store_id *)a, y = *(const store_id *)b;
	return (x > y) - (x < y);
}

/* ---- files ---- */

/* Does any word hold the last component of the path, wherever in it? */
static bool named_in(const struct strlist *argv, struct str path)
{
	struct str word, base = path;
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	if (slash)
		base = str_n(slash + 1, path.n - (size_t)(slash + 1 - path.p));
	for (size_t pos = 0; base.n && strlist_next(argv, &pos, &word);)
		if (word.n >= base.n && memmem(word.p, word.n, base.p, base.n))
			return true;
	return false;
}

/* Is a file of that kind a stream? */
static bool is_stream(uint64_t kind)
{
	return kind == TERM_kind_pipe || kind == TERM_kind_fifo || kind == TERM_kind_socket;
}

/* May what was used so be an input: read, not run, and not used to coordinate only? */
static bool is_input_use(const struct edge *u)
{
	bool possible = u->sure || u->via == TERM_via_data || u->via == TERM_via_descriptor;
	return !(u->mode & ACCESS_PROGRAM) && possible && u->via != TERM_via_sync;
}

/* Is the version an input of the execution: a file that neither is its program nor belongs to the system? */
static bool is_input_version(struct one *r, const struct exec_info *x, const struct version_sort *v)
{
	if (v->kind != TERM_kind_regular || !v->path.n || v->file == x->exe || v->file == x->script)
		return false;
	enum system_class c = system_path(v->path, r->o->system_extra);
	return c == SYSTEM_NO || (c == SYSTEM_UNLESS_NAMED && named_in(&x->argv, v->path));
}

/* Adds what an execution read that counts as input to r->used, and streams to r->streams. e: room. 0, -errno. */
static int uses_of(struct one *r, store_id exec, struct edges *e)
{
	struct exec_info x;
	int rc = store_exec(r->s, exec, &x);
	if (rc == 1)
		rc = store_uses(r->s, exec, e);
	for (size_t i = 0; rc == 0 && i < e->n; i++) {
		struct version_sort v;
		const struct edge *u = &e->v[i];
		if (!is_input_use(u))
			continue;
		rc = store_version_sort(r->s, u->to, &v);
		if (rc < 0)
			break;
		bool stream = rc == 1 && is_stream(v.kind), counts = rc == 1 && is_input_version(r, &x, &v);
		rc = 0;
		store_id *slot = stream ? vec_add(&r->streams) : counts ? vec_add(&r->used) : NULL;
		if ((stream || counts) && !slot)
			return witness_oom(r->err);
		if (slot)
			*slot = u->to;
	}
	return rc < 0 ? rc : 0;
}

/* Collects what the run's executions used and made. Both sorted. 0, -errno with a sentence. */
static int collect_used_and_made(struct one *r)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct edges e = {0};
	int rc = store_run_execs(r->s, r->run, &execs, &n);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = uses_of(r, execs[i], &e);
		if (rc == 0)
			rc = store_outputs(r->s, execs[i], &e);
		for (size_t k = 0; rc == 0 && k < e.n; k++) {
			store_id *slot = vec_add(&r->made);
			if (!slot)
				rc = witness_oom(r->err);
			else
				*slot = e.v[k].to;
		}
	}
	edges_release(&e);
	free(execs);
	if (r->made.n)
		qsort(r->made.v, r->made.n, sizeof(*r->made.v), compare_version_ids);
	if (r->used.n)
		qsort(r->used.v, r->used.n, sizeof(*r->used.v), compare_version_ids);
	return rc < 0 ? err_set(r->err, -rc, "cannot read what the runs used") : 0;
}

/* Did it use a stream that no recorded execution made? */
static bool is_fed(const struct one *r)
{
	for (size_t i = 0; i < r->streams.n; i++)
		if (!r->made.n || !bsearch(&r->streams.v[i], r->made.v, r->made.n, sizeof(*r->made.v), compare_version_ids))
			return true;
	return false;
}

/* Relative to the working directory where it lies below. */
static struct str path_from_cwd(const struct one *r, struct str path)
{
	size_t n = strlen(r->cwd);
	if (n > 1 && path.n > n + 1 && !memcmp(path.p, r->cwd, n) && path.p[n] == '/')
		return str_n(path.p + n + 1, path.n - n - 1);
	return path;
}

/* The last one of this file and usage. Belongs to l; NULL: none. */
static const struct event_digest *digest_event(const struct reported_list *l, const struct file_info *f, unsigned usage)
{
	const struct event_digest *found = NULL;
	for (size_t i = 0; i < l->n; i++) {
		const struct event_digest *d = &l->v[i].ev.digest;
		if (d->usage == usage && d->ino == f->ino && d->gen == f->gen && str_eq(d->domain, f->domain))
			found = d;
	}
	return found;
}

/* With its digest, or why there is none. 0, -errno. */
static int append_witness_input(struct one *r, store_id version)
{
	struct version_info v;
	struct file_info f;
	char other[DIGEST_TEXT] = "";
	int rc = store_version(r->s, version, &v);
	if (rc == 1)
		rc = store_file(r->s, v.file, &f);
	if (rc != 1)
		return rc;
	struct element *x = elements_at(&r->side.part[TRUST_INPUTS], path_from_cwd(r, f.path));
	elements_add(&r->files, path_from_cwd(r, f.path), str_of(""));
	elements_add(&r->files, f.path, str_of(""));
	if (!x)
		return witness_oom(r->err);
	const struct event_digest *d = digest_event(&r->digests, &f, TERM_usage_input);
	if (!d) {
		rc = digest_told(r->s, &v, &f, other);
		if (rc < 0)
			return rc;
	}
	bool ok = true;
	if (d && d->digest.n)
		ok = element_put(x, d->digest);
	else if (d)
		ok = element_text(&x->unknown, d->why);
	else if (*other || content_now(r->o->cache, &v, &f, 0, other))
		ok = element_put(x, str_of(other));
	else
		ok = element_text(
		    &x->unknown,
		    str_of("the record has no digest of it (stemma run --digest), and it is missing or has changed"));
	return ok ? 0 : witness_oom(r->err);
}

/* Finds the inputs: what was used and not made in the run itself. 0, -errno. */
static int inputs(struct one *r)
{
	int rc = collect_used_and_made(r);
	for (size_t i = 0; rc >= 0 && i < r->used.n; i++) {
		if (i && r->used.v[i] == r->used.v[i - 1])
			continue;
		if (r->made.n && bsearch(&r->used.v[i], r->made.v, r->made.n, sizeof(store_id), compare_version_ids))
			continue;
		rc = append_witness_input(r, r->used.v[i]);
	}
	return rc < 0 ? rc : 0;
}

/* ---- what was told ---- */

/* Adds "NAME=VALUE" items; without "=" the value is "". */
static void pairs(struct elements *to, const struct strlist *l)
{
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		size_t n = eq ? (size_t)(eq - s.p) : s.n;
		elements_add(to, str_n(s.p, n), eq ? str_n(eq + 1, s.n - n - 1) : str_of(""));
	}
}

/* Adds properties of the run: machine, environment and parameters; these from the command line where none were
 * recorded. 0, -errno. */
static int properties(struct one *r, const struct run_info *run)
{
	struct reported_list l;
	bool parameters = false;
	int rc = store_reported(r->s, r->run, EVENT_machine, &l);
	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		const struct event_machine *m = &l.v[i].ev.machine;
		pairs(&r->side.part[TRUST_INVARIANTS], &m->invariant);
		pairs(&r->variant, &m->variant);
		pairs(&r->side.part[TRUST_PARAMETERS], &m->parameter);
		parameters |= m->parameter.count > 0;
	}
	reported_list_release(&l);
	if (rc < 0 || parameters)
		return rc;
	char **argv = calloc(run->argv.count + 1, sizeof(*argv));
	size_t argc = 0;
	struct str s;
	for (size_t pos = 0; argv && argc < run->argv.count && strlist_next(&run->argv, &pos, &s);)
		if (!(argv[argc++] = strndup(s.p, s.n)))
			rc = -ENOMEM;
	if (argv && rc == 0)
		guess_parameters(argv, argc, &r->files, &r->side.part[TRUST_PARAMETERS]);
	for (size_t i = 0; argv && i < argc; i++)
		free(argv[i]);
	free(argv);
	return argv && rc == 0 ? 0 : witness_oom(r->err);
}

/* Or else the digests of what it made, or the reason why there are none. 0, -errno. */
static int collect_results(struct one *r)
{
	struct reported_list l;
	struct elements *to = &r->side.part[TRUST_RESULTS];
	int rc = store_reported(r->s, r->run, EVENT_result, &l);
	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		pairs(to, &l.v[i].ev.result.value);
		pairs(&r->missing, &l.v[i].ev.result.missing);
	}
	bool any = l.n > 0;
	reported_list_release(&l);
	if (rc < 0 || any)
		return rc;
	/* Nobody looked for results: what it made is what there is. */
	for (size_t i = 0; i < r->digests.n; i++) {
		const struct event_digest *d = &r->digests.v[i].ev.digest;
		if (d->usage != TERM_usage_output)
			continue;
		any = true;
		struct element *x = elements_at(to, path_from_cwd(r, d->path));
		if (!x || !(d->digest.n ? element_put(x, d->digest) : element_text(&x->unknown, d->why)))
			return witness_oom(r->err);
	}
	if (!any)
		r->side.absent[TRUST_RESULTS] =
		    strdup("it has no recorded results (use stemma bench run, or stemma run --results or --digest)");
	return 0;
}

/* It may not be used afterwards. */
static void one_release(struct one *r)
{
	trust_side_release(&r->side);
	elements_release(&r->variant);
	elements_release(&r->missing);
	elements_release(&r->files);
	reported_list_release(&r->digests);
	vec_release(&r->made);
	vec_release(&r->used);
	vec_release(&r->streams);
	free(r->cwd);
}

/* ---- several ---- */

/* In order. */
static bool same_values(const struct element *a, const struct element *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!value_same(a->value[i], b->value[i]))
			return false;
	return true;
}

/* Appends values of an element. False: no memory. */
static bool append_values(struct element *to, const struct element *from)
{
	for (size_t k = 0; k < from->n; k++)
		if (!element_put(to, str_of(from->value[k])))
			return false;
	return true;
}

/* The first runs all had the values that stand there once: from now on each run's stand there. */
static bool begin_to_vary(struct element *t)
{
	size_t n = t->n;
	t->varied = true;
	for (size_t k = 0; k < n * (t->runs - 2); k++)
		if (!element_put(t, str_of(t->value[k % n])))
			return false;
	return true;
}

/* Adds the values of one run to those of all. Equal values stand once until a run differs; all: every value is kept.
 * False: no memory. */
static bool combine(struct elements *to, const struct elements *from, bool all)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct element *x = &from->v[i];
		struct element *t = elements_at(to, str_of(x->name));
		if (!t)
			return false;
		if (x->unknown && !t->unknown && !element_text(&t->unknown, str_of(x->unknown)))
			return false;
		if (x->unknown && !x->n)
			continue;
		bool alike = t->runs++ > 0 && !all && !t->varied; /* so far all were as the first */
		if (alike && same_values(t, x))
			continue;
		if (alike && !begin_to_vary(t))
			return false;
		if (!append_values(t, x))
			return false;
	}
	return !from->failed;
}

/* A copy, at the end; once: unless it is there. false: no memory. */
static bool append_text(char ***list, struct str s, bool once)
{
	size_t n = 0;
	while (*list && (*list)[n]) {
		if (once && str_is(s, (*list)[n]))
			return true;
		n++;
	}
	char **more = realloc(*list, (n + 2) * sizeof(*more));
	if (!more)
		return false;
	*list = more;
	more[n] = strndup(s.p ? s.p : "", s.n);
	more[n + 1] = NULL;
	return more[n] != NULL;
}

/* Adds what the run is like to what the runs before it were like. 0, -ENOMEM. */
static int add_witness_run(struct witness *ret, struct one *r)
{
	for (int i = 0; i < TRUST_PARTS; i++) {
		if (!combine(&ret->side.part[i], &r->side.part[i], false))
			return witness_oom(r->err);
		if (r->side.absent[i] && !ret->side.absent[i]) {
			ret->side.absent[i] = r->side.absent[i];
			r->side.absent[i] = NULL;
		}
	}
	bool ok = combine(&ret->variant, &r->variant, true) && combine(&ret->missing, &r->missing, true);
	return ok ? 0 : witness_oom(r->err);
}

/* Reads a run as one of a benchmark. -ENOENT with a sentence: it is not recorded; -errno. */
static int read_run(struct store *s, store_id id, const struct witness_options *o, struct err *err, struct witness *ret)
{
	struct one r = {.s = s, .o = o, .err = err, .run = id};
	struct run_info run;
	int rc = store_run(s, id, &run);
	if (rc != 1)
		return rc < 0 ? rc : (err_set(err, 0, "the run is not recorded"), -ENOENT);
	r.cwd = strndup(run.cwd.p ? run.cwd.p : "", run.cwd.n);
	bool ok = r.cwd && append_text(&ret->hosts, run.host, true) && append_text(&ret->ulids, run.ulid, false);
	ret->gaps |= run.gaps;
	ret->failed += run.ending != TERM_ending_exited || run.code != 0;
	rc = ok ? store_reported(s, id, EVENT_digest, &r.digests) : witness_oom(err);
	if (rc == 0)
		rc = inputs(&r);
	ret->fed += rc == 0 && is_fed(&r);
	if (rc == 0) /* what store_run gave is not valid any more */
		rc = store_run(s, id, &run) == 1 ? properties(&r, &run) : -EIO;
	if (rc == 0)
		rc = collect_results(&r);
	if (rc == 0)
		rc = add_witness_run(ret, &r);
	ret->n_runs++;
	one_release(&r);
	return rc;
}

int witness_runs(struct store *s, const store_id *runs, size_t n, const struct witness_options *o, struct err *err,
                 struct witness *ret)
{
	*ret = (struct witness){0};
	int rc = store_view_begin(s, VIEW_WALK);
	if (rc < 0)
		return err_set(err, -rc, "cannot read the record");
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_run(s, runs[i], o, err, ret);
	store_view_end(s);
	if (rc < 0)
		return err_set(err, -rc, "cannot read the record");
	/* A run without results among others that have some: then they are not known. */
	for (int i = 0; i < TRUST_PARTS; i++)
		elements_sort(&ret->side.part[i]);
	elements_sort(&ret->variant);
	return 0;
}

void witness_release(struct witness *x)
{
	trust_side_release(&x->side);
	elements_release(&x->variant);
	elements_release(&x->missing);
	for (size_t i = 0; x->hosts && x->hosts[i]; i++)
		free(x->hosts[i]);
	for (size_t i = 0; x->ulids && x->ulids[i]; i++)
		free(x->ulids[i]);
	free(x->hosts);
	free(x->ulids);
	*x = (struct witness){0};
}

/* ---- which runs ---- */

/* Appends the id of a run. 1, -ENOMEM with a sentence. */
static int append_run_id(store_id **ids, size_t *n, store_id id, struct err *err)
{
	store_id *more = realloc(*ids, (*n + 1) * sizeof(*more));
	if (!more)
		return witness_oom(err);
	*ids = more;
	(*ids)[(*n)++] = id;
	return 1;
}

/* Finds a run by its id. 1; 0, -ENOTUNIQ with a sentence; -errno. */
static int find_one_run(struct store *s, const char *text, struct err *err, store_id *ret)
{
	int rc = store_find_run(s, text, ret);
	if (rc == 0)
		err_set(err, 0, "there is no run '%s'", text);
	else if (rc == -ENOTUNIQ)
		err_set(err, 0, "'%s' is ambiguous: several runs have this beginning or end of their id", text);
	return rc;
}

/* The runs with the label bench=...ID, in the order in which they began. id: its last digits, or "" for the last one.
 * 1; 0 with a sentence; -errno. */
static int find_bench(struct store *s, const char *id, struct err *err, store_id **ids, size_t *n)
{
	store_id *all = NULL;
	size_t count = 0, want = strlen(id), first = *n;
	char *exact = NULL;
	int rc = store_runs(s, 0, &all, &count);
	for (size_t i = 0; rc >= 0 && i < count; i++) {
		struct run_info run;
		struct str label;
		rc = store_run(s, all[i], &run);
		for (size_t pos = 0; rc == 1 && strlist_next(&run.labels, &pos, &label);) {
			if (!str_starts(label, str_of("bench=")))
				continue;
			struct str v = str_n(label.p + 6, label.n - 6);
			if (exact ? !str_is(v, exact) : v.n < want || strncasecmp(v.p + v.n - want, id, want) != 0)
				continue;
			if (!exact && !(exact = strndup(v.p, v.n)))
				rc = -ENOMEM;
			else
				rc = append_run_id(ids, n, all[i], err);
			break;
		}
	}
	free(all);
	free(exact);
	for (size_t i = first, k = *n; i + 1 < k; i++) { /* they came latest first */
		store_id t = (*ids)[i];
		(*ids)[i] = (*ids)[--k];
		(*ids)[k] = t;
	}
	if (rc < 0)
		return err_set(err, -rc, "cannot read the runs");
	if (*n > first)
		return 1;
	err_set(err, 0, *id ? "there is no benchmark 'bench:%s'" : "there is no benchmark%s", id);
	return 0;
}

/* The runs from a to b, or from b to a, both ends included: the earlier first. 1, 0 none of them is in the store, or
 * -errno. */
static int append_range(struct store *s, store_id a, store_id b, struct err *err, store_id **ids, size_t *n)
{
	store_id *all = NULL;
	size_t count = 0;
	int rc = store_runs(s, 0, &all, &count); /* latest first */
	bool within = false, met = false;
	for (size_t i = count; rc >= 0 && i-- > 0;) {
		bool edge = all[i] == a || all[i] == b;
		if (within || edge)
			rc = append_run_id(ids, n, all[i], err);
		met |= edge;
		if (edge)
			within = !within && a != b;
	}
	free(all);
	return rc < 0 ? rc : met;
}

int witness_find(struct store *s, const char *text, struct err *err, store_id **ids, size_t *n)
{
	const char *dots = strstr(text, "..");
	store_id a, b;
	if (!strncmp(text, "bench:", 6))
		return find_bench(s, text + 6, err, ids, n);
	if (!dots) {
		int rc = find_one_run(s, text, err, &a);
		return rc == 1 ? append_run_id(ids, n, a, err) : rc;
	}
	char *first = strndup(text, (size_t)(dots - text));
	int rc = first ? find_one_run(s, first, err, &a) : -ENOMEM;
	if (rc == 1)
		rc = find_one_run(s, dots[2] ? dots + 2 : "@", err, &b);
	free(first);
	return rc == 1 ? append_range(s, a, b, err, ids, n) : rc;
}

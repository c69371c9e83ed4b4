#include "query/submit.h"

#include "base/hash.h"
#include "base/vec.h"
#include "event/event.h"
#include "query/idmap.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <strings.h>

#define ABOVE 64 /* forks and execs that are followed upwards */

static const struct system {
	const char *job, *dir, *host, *name;
	char option;
	const char *option_long;
} systems[] = {
#define SUBMIT(job, dir, host, name, option, long) {#job, #dir, #host, #name, option, long},
#include "query/submit.def"
};

static const char *const programs[] = {
#define SUBMITTER(name) name,
#include "query/submit.def"
};

/* What is compared of an execution; its own copies. */
struct origin_of {
	const struct system *system;
	char *job, *dir, *host, *name, *user;
	uint64_t uid;
};

void submissions_release(struct submissions *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].job);
	free(l->v);
	*l = (struct submissions){0};
}

static int append_submission(struct submissions *l, const struct submission *one, struct str job)
{
	if (!vec_has_room(l->v, l->n, l->cap))
		return -ENOMEM;
	char *copy = strndup(job.n ? job.p : "", job.n);
	if (!copy)
		return -ENOMEM;
	l->v[l->n] = *one;
	l->v[l->n++].job = copy;
	return 0;
}

static struct str env_get(const struct exec_info *x, const char *name)
{
	struct str e;
	size_t n = strlen(name);
	for (size_t pos = 0; strlist_next(&x->env, &pos, &e);)
		if (e.n > n && e.p[n] == '=' && memcmp(e.p, name, n) == 0)
			return str_n(e.p + n + 1, e.n - n - 1);
	return str_of("");
}

static bool is_submitter_name(struct str called)
{
	called = str_base_name(called);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (str_is(called, programs[i]))
			return true;
	return false;
}

/* By its name as it was called; that of the file would be a look at another table for each execution. */
static bool is_submitter(const struct exec_info *x)
{
	struct str arg = {0};
	size_t pos = 0;
	return x->n && strlist_next(&x->argv, &pos, &arg) && is_submitter_name(arg);
}

/* Which batch system's job it is of; NULL none. */
static const struct system *system_of(const struct exec_info *x, struct str *ret_job)
{
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		*ret_job = env_get(x, systems[i].job);
		if (ret_job->n)
			return &systems[i];
	}
	return NULL;
}

static void origin_release(struct origin_of *o)
{
	free(o->job);
	free(o->dir);
	free(o->host);
	free(o->name);
	free(o->user);
	*o = (struct origin_of){0};
}

static char *copy_str(struct str s)
{
	return strndup(s.n ? s.p : "", s.n);
}

/* 1; 0: it is of no job; -ENOMEM. */
static int load_origin(const struct exec_info *x, struct origin_of *ret)
{
	struct str job;
	const struct system *sys = system_of(x, &job);
	*ret = (struct origin_of){.system = sys};
	if (!sys)
		return 0;
	ret->job = copy_str(job);
	ret->dir = copy_str(env_get(x, sys->dir));
	ret->host = copy_str(env_get(x, sys->host));
	ret->name = copy_str(env_get(x, sys->name));
	ret->user = copy_str(x->user);
	ret->uid = x->uid;
	if (ret->job && ret->dir && ret->host && ret->name && ret->user)
		return 1;
	origin_release(ret);
	return -ENOMEM;
}

/* login1 and login1.example.org are one host. */
static bool same_host(struct str a, const char *b)
{
	const char *dot = a.n ? memchr(a.p, '.', a.n) : NULL;
	size_t na = dot ? (size_t)(dot - a.p) : a.n, nb = strcspn(b, ".");
	return na && na == nb && strncasecmp(a.p, b, na) == 0;
}

static bool is_job_named(const struct exec_info *x, const struct origin_of *o)
{
	struct str arg, script = {0}, given = {0};
	bool first = true, value = false;
	size_t n = strlen(o->system->option_long);
	for (size_t pos = 0; strlist_next(&x->argv, &pos, &arg); first = false) {
		if (first)
			continue;
		if (value) {
			given = arg;
			value = false;
		} else if (arg.n > n && arg.p[n] == '=' && memcmp(arg.p, o->system->option_long, n) == 0) {
			given = str_n(arg.p + n + 1, arg.n - n - 1);
		} else if (arg.n >= 2 && arg.p[0] == '-' && arg.p[1] == o->system->option) {
			given = str_n(arg.p + 2, arg.n - 2);
			value = arg.n == 2;
		} else if (str_is(arg, o->system->option_long)) {
			value = true;
		} else if (str_is(str_base_name(arg), o->name)) {
			script = arg; /* or the value of an option: it only puts this one first */
		}
	}
	return *o->name && (given.n ? str_is(given, o->name) : script.n > 0);
}

/* May the submission x have made the job that o tells of, but for the time? */
static bool may_have_submitted(const struct exec_info *x, const struct origin_of *o)
{
	struct str dir = str_of(o->dir), job;
	if (!dir.n || !(str_eq(x->cwd, dir) || str_eq(env_get(x, "PWD"), dir)))
		return false;
	if (*o->host && !same_host(x->host, o->host))
		return false;
	if (x->uid != o->uid && !str_is(x->user, o->user))
		return false;
	/* What runs in a job did not submit that one. */
	const struct system *own = system_of(x, &job);
	return own != o->system || !str_is(job, o->job);
}

static int compare_submissions(const void *pa, const void *pb)
{
	const struct submission *a = pa, *b = pb;
	if (a->sure != b->sure)
		return a->sure ? -1 : 1;
	if (a->named != b->named)
		return a->named ? -1 : 1;
	if (a->start != b->start)
		return a->start > b->start ? -1 : 1;
	return (a->exec > b->exec) - (a->exec < b->exec);
}

static int by_job(const void *pa, const void *pb)
{
	const struct submission *a = pa, *b = pb;
	int c = strcmp(a->job, b->job);
	if (c)
		return c;
	return a->start != b->start ? (a->start < b->start ? -1 : 1) : (a->exec > b->exec) - (a->exec < b->exec);
}

static void sort_submissions(struct submissions *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_submissions);
}

/* Room for one more of `size` bytes in v. */
static void *grow_by_one(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	size_t more = *cap ? 2 * *cap : 16;
	void *p = realloc(v, more * size);
	if (p)
		*cap = more;
	return p;
}

/* All executions that have a program: free(*ret). 0 or -errno. */
static int list_execs(struct store *s, store_id **ret, size_t *ret_n)
{
	sqlite3_stmt *st = NULL;
	size_t cap = 0;
	int r = 0, rc = sqlite3_prepare_v2(store_sqlite(s), "SELECT id FROM execution WHERE n > 0", -1, &st, NULL);
	*ret = NULL;
	*ret_n = 0;
	while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		store_id *v = grow_by_one(*ret, *ret_n, &cap, sizeof(*v));
		if (v) {
			*ret = v;
			v[(*ret_n)++] = (store_id)sqlite3_column_int64(st, 0);
		} else {
			r = -ENOMEM;
		}
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return r < 0 || rc == SQLITE_DONE ? r : -EIO;
}

/* Gives each execution that has a program to `each`, in one view of the store. */
static int each_exec(struct store *s, int (*each)(void *arg, const struct exec_info *x), void *arg)
{
	store_id *ids;
	size_t n;
	int r = list_execs(s, &ids, &n);
	bool view = r == 0 && store_view_begin(s, VIEW_PASS) == 0; /* or there is one already */
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(s, ids[i], &x);
		if (r > 0)
			r = each(arg, &x);
	}
	if (view)
		store_view_end(s);
	free(ids);
	return r < 0 ? r : 0;
}

/* Was the job's first program started by who submitted it? That one has not the job's identity. */
static int find_submission_above(struct store *s, const struct origin_of *o, store_id at, struct submissions *ret)
{
	for (int i = 0; i < ABOVE && at; i++) {
		struct exec_info x;
		struct str job;
		int r = store_exec(s, at, &x);
		if (r <= 0)
			return r;
		bool within = !x.n || (system_of(&x, &job) == o->system && str_is(job, o->job));
		if (!within) {
			struct submission one = {.exec = x.id, .sure = true, .named = is_job_named(&x, o), .start = x.start};
			return is_submitter(&x) ? append_submission(ret, &one, str_of(o->job)) : 0;
		}
		at = x.parent;
	}
	return 0;
}

struct search {
	const struct origin_of *o;
	int64_t skew, began; /* began: the job's earliest execution */
	struct submissions *ret;
};

static int look_for_submitter(void *arg, const struct exec_info *x)
{
	struct search *w = arg;
	struct str job;
	if (system_of(x, &job) == w->o->system && str_is(job, w->o->job) && x->start != TIME_NONE && x->start < w->began)
		w->began = x->start;
	if (!is_submitter(x) || !may_have_submitted(x, w->o))
		return 0;
	struct submission one = {.exec = x->id, .named = is_job_named(x, w->o), .start = x->start};
	return append_submission(w->ret, &one, str_of(w->o->job));
}

int submit_of(struct store *s, store_id exec, int64_t skew, struct submissions *ret)
{
	struct exec_info x;
	struct origin_of o = {0};
	*ret = (struct submissions){0};
	int r = store_exec(s, exec, &x);
	if (r > 0)
		r = load_origin(&x, &o);
	if (r <= 0)
		return r;
	r = find_submission_above(s, &o, exec, ret);
	struct search w = {.o = &o, .skew = skew, .began = TIME_NEVER, .ret = ret};
	if (r == 0 && !ret->n)
		r = each_exec(s, look_for_submitter, &w);
	size_t kept = 0;
	for (size_t i = 0; i < ret->n; i++) {
		bool late = !ret->v[i].sure && w.began != TIME_NEVER && ret->v[i].start != TIME_NONE &&
		            ret->v[i].start - skew > w.began;
		if (late)
			free(ret->v[i].job);
		else
			ret->v[kept++] = ret->v[i];
	}
	ret->n = kept;
	sort_submissions(ret);
	origin_release(&o);
	return r;
}

/* Copies of the texts that are compared. */
static int own_texts(struct exec_info *x, char *copies[5])
{
	struct str *const texts[] = {&x->cwd, &x->host, &x->user, &x->argv.raw, &x->env.raw};
	int r = 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct str t = *texts[i];
		copies[i] = malloc(t.n + 1);
		if (!copies[i])
			r = -ENOMEM;
		else if (t.n)
			memcpy(copies[i], t.p, t.n);
		*texts[i] = str_n(copies[i], copies[i] ? t.n : 0);
	}
	return r;
}

static void release_copies(char *copies[5])
{
	for (size_t i = 0; i < 5; i++)
		free(copies[i]);
}

struct forward {
	struct exec_info submission; /* its strings are copies: look_for_job is given what store_exec has last */
	struct submissions *ret;
};

static int look_for_job(void *arg, const struct exec_info *x)
{
	struct forward *w = arg;
	struct origin_of o;
	int r = load_origin(x, &o);
	if (r <= 0)
		return r;
	struct submission one = {.exec = x->id, .start = x->start, .named = is_job_named(&w->submission, &o)};
	r = may_have_submitted(&w->submission, &o) ? append_submission(w->ret, &one, str_of(o.job)) : 0;
	origin_release(&o);
	return r;
}

/* What salloc started is its alone. */
static int sure_ones(struct store *s, store_id exec, struct submissions *l)
{
	size_t kept = 0;
	int r = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct exec_info x;
		struct origin_of o = {0};
		struct submissions found = {0};
		if (r >= 0)
			r = store_exec(s, l->v[i].exec, &x);
		if (r > 0)
			r = load_origin(&x, &o);
		if (r > 0)
			r = find_submission_above(s, &o, l->v[i].exec, &found);
		l->v[i].sure = found.n && found.v[0].exec == exec;
		if (found.n && !l->v[i].sure)
			free(l->v[i].job);
		else
			l->v[kept++] = l->v[i];
		submissions_release(&found);
		origin_release(&o);
	}
	l->n = kept;
	return r < 0 ? r : 0;
}

/* Of each job its first execution; where that began before the submission, the job is another's. */
static void first_of_each(struct submissions *l, int64_t from)
{
	size_t kept = 0;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_job);
	for (size_t i = 0, end; i < l->n; i = end) {
		for (end = i + 1; end < l->n && strcmp(l->v[end].job, l->v[i].job) == 0; end++)
			free(l->v[end].job);
		struct submission one = l->v[i];
		if (one.start != TIME_NONE && from != TIME_NONE && one.start < from)
			free(one.job);
		else
			l->v[kept++] = one;
	}
	l->n = kept;
}

int submit_jobs(struct store *s, store_id exec, int64_t skew, struct submissions *ret)
{
	struct forward w = {.ret = ret};
	struct exec_info *x = &w.submission;
	*ret = (struct submissions){0};
	int r = store_exec(s, exec, x);
	if (r <= 0 || !is_submitter(x))
		return r < 0 ? r : 0;
	char *copies[5] = {0};
	if (own_texts(x, copies) < 0)
		r = -ENOMEM;
	if (r > 0)
		r = each_exec(s, look_for_job, &w);
	first_of_each(ret, x->start == TIME_NONE ? TIME_NONE : x->start - skew);
	if (r >= 0)
		r = sure_ones(s, exec, ret);
	sort_submissions(ret);
	release_copies(copies);
	return r;
}

/* ---- as edges ---- */

struct known_submission {
	struct exec_info x; /* its texts are copies */
	char *copies[5];
};

struct member { /* of a job */
	store_id exec;
	int64_t start, end;
};

struct known_job {
	struct origin_of o;
	int64_t began; /* TIME_NEVER: not known */
	struct member *v;
	size_t n, cap;
	struct edges from; /* its submissions, */
	bool compared;     /* ... once they were looked for */
};

enum { NO, YES };

struct submit_edges {
	struct store *s;
	int64_t skew;
	bool gathered;
	struct known_submission *subs;
	size_t n_subs, cap_subs;
	struct known_job *jobs;
	size_t n_jobs, cap_jobs;
	struct idmap by_origin; /* hash of what is compared of it -> place in jobs */
	/* What was found of an environment, and of a name that programs were called by: YES or NO. */
	struct idmap of_job, submits;
};

int submit_edges_new(struct store *s, int64_t skew, struct submit_edges **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->s = s;
	(*ret)->skew = skew;
	return 0;
}

void submit_edges_free(struct submit_edges *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n_subs; i++)
		release_copies(x->subs[i].copies);
	for (size_t i = 0; i < x->n_jobs; i++) {
		origin_release(&x->jobs[i].o);
		free(x->jobs[i].v);
		edges_release(&x->jobs[i].from);
	}
	free(x->subs);
	free(x->jobs);
	idmap_release(&x->by_origin);
	idmap_release(&x->of_job);
	idmap_release(&x->submits);
	free(x);
}

static bool same_origin(const struct origin_of *a, const struct origin_of *b)
{
	return a->system == b->system && a->uid == b->uid && !strcmp(a->job, b->job) && !strcmp(a->dir, b->dir) &&
	       !strcmp(a->host, b->host) && !strcmp(a->name, b->name) && !strcmp(a->user, b->user);
}

static uint64_t hash_origin(const struct origin_of *o)
{
	uint64_t h = hash_more((uint64_t)(o->system - systems), &o->uid, sizeof(o->uid));
	const char *const texts[] = {o->job, o->dir, o->host, o->name, o->user};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		h = hash_more(h, texts[i], strlen(texts[i]));
	return h | 1;
}

/* The job of that origin, which is taken over. NULL: no memory. */
static struct known_job *job_of(struct submit_edges *x, struct origin_of *o)
{
	bool is_new = false;
	uint64_t key = hash_origin(o);
	uint32_t *at = idmap_find(&x->by_origin, key);
	if (at && same_origin(&x->jobs[*at].o, o)) {
		origin_release(o);
		return &x->jobs[*at];
	}
	struct known_job *v = grow_by_one(x->jobs, x->n_jobs, &x->cap_jobs, sizeof(*v));
	if (v)
		x->jobs = v;
	if (!v || !(at = idmap_add(&x->by_origin, key, (uint32_t)x->n_jobs, &is_new))) {
		origin_release(o);
		return NULL;
	}
	*at = (uint32_t)x->n_jobs; /* two of one hash: the later ones come to the second, and the first stays as it is */
	v[x->n_jobs] = (struct known_job){.o = *o, .began = TIME_NEVER};
	return &v[x->n_jobs++];
}

static int collect_submission(void *arg, const struct exec_info *e)
{
	struct submit_edges *x = arg;
	struct origin_of o;
	if (is_submitter(e)) {
		struct known_submission *v = grow_by_one(x->subs, x->n_subs, &x->cap_subs, sizeof(*v));
		if (!v)
			return -ENOMEM;
		x->subs = v;
		v += x->n_subs++;
		*v = (struct known_submission){.x = *e};
		if (own_texts(&v->x, v->copies) < 0)
			return -ENOMEM;
	}
	int r = load_origin(e, &o);
	if (r <= 0)
		return r;
	struct known_job *j = job_of(x, &o);
	struct member *m = j ? grow_by_one(j->v, j->n, &j->cap, sizeof(*m)) : NULL;
	if (!m)
		return -ENOMEM;
	j->v = m;
	m[j->n++] = (struct member){e->id, e->start, e->end};
	if (e->start != TIME_NONE && e->start < j->began)
		j->began = e->start;
	return 0;
}

static int collect_submissions(struct submit_edges *x)
{
	int r = x->gathered ? 0 : each_exec(x->s, collect_submission, x);
	x->gathered = r == 0;
	return r;
}

static bool may_be(const struct submit_edges *x, const struct known_submission *sub, const struct known_job *j)
{
	bool late = j->began != TIME_NEVER && sub->x.start != TIME_NONE && sub->x.start - x->skew > j->began;
	return !late && may_have_submitted(&sub->x, &j->o);
}

static int add_submission(struct edges *e, store_id to, bool sure, int64_t lo, int64_t hi)
{
	struct edge one = {.to = to, .sure = sure, .via = TERM_via_submit, .lo = lo, .hi = hi};
	return edges_add(e, &one);
}

/* Compares the job with all submissions, once: j->from are those that may be its own. */
static int compare_job(struct submit_edges *x, struct known_job *j)
{
	int r = 0;
	for (size_t k = 0; !j->compared && r == 0 && k < x->n_subs; k++)
		if (may_be(x, &x->subs[k], j))
			r = add_submission(&j->from, x->subs[k].x.id, false, x->subs[k].x.start, x->subs[k].x.end);
	j->compared = true;
	return r;
}

/* The submissions that may be of the job with origin *o, which is taken over. */
static int add_possible_submissions(struct submit_edges *x, struct origin_of *o, struct edges *e)
{
	int r = collect_submissions(x);
	if (r < 0)
		return r;
	struct known_job *j = job_of(x, o);
	*o = (struct origin_of){0};
	r = j ? compare_job(x, j) : -ENOMEM;
	for (size_t k = 0; r == 0 && k < j->from.n; k++)
		r = edges_add(e, &j->from.v[k]);
	return r;
}

int submit_edges_is(struct submit_edges *x, store_id exec)
{
	struct exec_sort i;
	struct str called;
	bool is_new = true;
	int r = store_exec_sort(x->s, exec, &i);
	if (r <= 0 || !i.n)
		return r < 0 ? r : 0;
	uint32_t *known = i.command ? idmap_add(&x->submits, i.command, NO, &is_new) : NULL;
	if (!is_new)
		return *known == YES;
	if (i.command && !known)
		return -ENOMEM;
	r = store_command(x->s, &i, &called);
	if (r == 0 && is_submitter_name(called))
		r = 1;
	if (known && r > 0)
		*known = YES;
	return r;
}

/* May the execution, by its environment, be of a job? Of the first of many with that environment all is read. 1, 0 or
 * -errno. */
static int may_be_of_job(struct submit_edges *x, store_id exec)
{
	struct exec_sort sort;
	struct exec_info i;
	struct str job;
	bool is_new;
	int r = store_exec_sort(x->s, exec, &sort);
	if (r <= 0 || !sort.env)
		return r < 0 ? r : 0;
	uint32_t *known = idmap_add(&x->of_job, sort.env, NO, &is_new);
	if (!known)
		return -ENOMEM;
	if (!is_new)
		return *known == YES;
	r = store_exec(x->s, exec, &i);
	if (r > 0 && system_of(&i, &job))
		*known = YES;
	return r < 0 ? r : *known == YES;
}

static int edges_up(struct submit_edges *x, store_id exec, struct edges *e)
{
	struct exec_info i;
	struct origin_of o = {0};
	struct submissions by_descent = {0};
	int r = may_be_of_job(x, exec);
	if (r > 0)
		r = store_exec(x->s, exec, &i);
	if (r > 0)
		r = load_origin(&i, &o);
	if (r <= 0)
		return r;
	r = find_submission_above(x->s, &o, exec, &by_descent);
	if (r == 0 && by_descent.n) {
		r = store_exec(x->s, by_descent.v[0].exec, &i);
		if (r > 0)
			r = add_submission(e, i.id, true, i.start, i.end);
	} else if (r == 0) {
		r = add_possible_submissions(x, &o, e);
	}
	submissions_release(&by_descent);
	origin_release(&o);
	return r < 0 ? r : 0;
}

static int edges_down(struct submit_edges *x, store_id exec, struct edges *e)
{
	const struct known_submission *sub = NULL;
	int r = submit_edges_is(x, exec);
	if (r > 0)
		r = collect_submissions(x);
	else
		return r;
	for (size_t k = 0; !sub && k < x->n_subs; k++)
		if (x->subs[k].x.id == exec)
			sub = &x->subs[k];
	for (size_t k = 0; sub && r == 0 && k < x->n_jobs; k++) {
		const struct known_job *j = &x->jobs[k];
		bool may = may_be(x, sub, j);
		for (size_t m = 0; r == 0 && m < j->n; m++) {
			struct submissions by_descent = {0};
			r = find_submission_above(x->s, &j->o, j->v[m].exec, &by_descent);
			bool its = by_descent.n && by_descent.v[0].exec == exec;
			if (r == 0 && (its || (may && !by_descent.n)))
				r = add_submission(e, j->v[m].exec, its, j->v[m].start, j->v[m].end);
			submissions_release(&by_descent);
		}
	}
	return r;
}

int submit_edges_add(struct submit_edges *x, store_id exec, bool down, struct edges *e)
{
	return down ? edges_down(x, exec, e) : edges_up(x, exec, e);
}

#include "query/submit/submit_int.h"

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
#include "query/submit/submit.def"
};

static const char *const programs[] = {
#define SUBMITTER(name) name,
#include "query/submit/submit.def"
};

/* l is empty then. */
void submissions_release(struct submissions *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].job);
	free(l->v);
	*l = (struct submissions){0};
}

/* Copies the job's id. 0, -ENOMEM. */
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

/* "" where the variable is not there; points into the execution's. */
static struct str env_get(const struct exec_info *x, const char *name)
{
	struct str e;
	size_t n = strlen(name);
	for (size_t pos = 0; strlist_next(&x->env, &pos, &e);)
		if (e.n > n && e.p[n] == '=' && memcmp(e.p, name, n) == 0)
			return str_n(e.p + n + 1, e.n - n - 1);
	return str_of("");
}

bool submit_is_submitter_name(struct str called)
{
	called = str_base_name(called);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (str_is(called, programs[i]))
			return true;
	return false;
}

bool submit_is_submitter(const struct exec_info *x)
{
	struct str arg = {0};
	size_t pos = 0;
	return x->n && strlist_next(&x->argv, &pos, &arg) && submit_is_submitter_name(arg);
}

const struct system *submit_system_of(const struct exec_info *x, struct str *ret_job)
{
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		*ret_job = env_get(x, systems[i].job);
		if (ret_job->n)
			return &systems[i];
	}
	return NULL;
}

/* o is empty then. */
void submit_origin_release(struct origin_of *o)
{
	free(o->job);
	free(o->dir);
	free(o->host);
	free(o->name);
	free(o->user);
	*o = (struct origin_of){0};
}

/* The caller frees it; NULL without memory. */
static char *copy_str(struct str s)
{
	return strndup(s.n ? s.p : "", s.n);
}

int submit_origin_load(const struct exec_info *x, struct origin_of *ret)
{
	struct str job;
	const struct system *sys = submit_system_of(x, &job);
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
	submit_origin_release(ret);
	return -ENOMEM;
}

/* login1 and login1.example.org are one host. */
static bool same_host(struct str a, const char *b)
{
	const char *dot = a.n ? memchr(a.p, '.', a.n) : NULL;
	size_t na = dot ? (size_t)(dot - a.p) : a.n, nb = strcspn(b, ".");
	return na && na == nb && strncasecmp(a.p, b, na) == 0;
}

/* Has the job the name that the command gives it, or, where it gives none, that of one of its words? */
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

bool submit_may_have(const struct exec_info *x, const struct origin_of *o)
{
	struct str dir = str_of(o->dir), job;
	if (!dir.n || !(str_eq(x->cwd, dir) || str_eq(env_get(x, "PWD"), dir)))
		return false;
	if (*o->host && !same_host(x->host, o->host))
		return false;
	if (x->uid != o->uid && !str_is(x->user, o->user))
		return false;
	/* What runs in a job did not submit that one. */
	const struct system *own = submit_system_of(x, &job);
	return own != o->system || !str_is(job, o->job);
}

/* Certain ones first, then those that name the job, then the latest. */
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

/* By job, then start, then execution. */
static int by_job(const void *pa, const void *pb)
{
	const struct submission *a = pa, *b = pb;
	int c = strcmp(a->job, b->job);
	if (c)
		return c;
	return a->start != b->start ? (a->start < b->start ? -1 : 1) : (a->exec > b->exec) - (a->exec < b->exec);
}

/* Sorts submissions by time. */
static void sort_submissions(struct submissions *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_submissions);
}

void *submit_grow(void *v, size_t n, size_t *cap, size_t size)
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
		store_id *v = submit_grow(*ret, *ret_n, &cap, sizeof(*v));
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

int submit_each_exec(struct store *s, int (*each)(void *arg, const struct exec_info *x), void *arg)
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

int submit_find_above(struct store *s, const struct origin_of *o, store_id at, struct submissions *ret)
{
	for (int i = 0; i < ABOVE && at; i++) {
		struct exec_info x;
		struct str job;
		int r = store_exec(s, at, &x);
		if (r <= 0)
			return r;
		bool within = !x.n || (submit_system_of(&x, &job) == o->system && str_is(job, o->job));
		if (!within) {
			struct submission one = {.exec = x.id, .sure = true, .named = is_job_named(&x, o), .start = x.start};
			return submit_is_submitter(&x) ? append_submission(ret, &one, str_of(o->job)) : 0;
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

/* A callback of submit_each_exec; arg: struct search. Appends x to w->ret if it may have submitted the job; if x is
 * an execution of the job itself, lowers w->began to its start. 0, -ENOMEM. */
static int look_for_submitter(void *arg, const struct exec_info *x)
{
	struct search *w = arg;
	struct str job;
	if (submit_system_of(x, &job) == w->o->system && str_is(job, w->o->job) && x->start != TIME_NONE &&
	    x->start < w->began)
		w->began = x->start;
	if (!submit_is_submitter(x) || !submit_may_have(x, w->o))
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
		r = submit_origin_load(&x, &o);
	if (r <= 0)
		return r;
	r = submit_find_above(s, &o, exec, ret);
	struct search w = {.o = &o, .skew = skew, .began = TIME_NEVER, .ret = ret};
	if (r == 0 && !ret->n)
		r = submit_each_exec(s, look_for_submitter, &w);
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
	submit_origin_release(&o);
	return r;
}

int submit_own_texts(struct exec_info *x, char *copies[5])
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

/* NULLs among them are no error. */
void submit_release_copies(char *copies[5])
{
	for (size_t i = 0; i < 5; i++)
		free(copies[i]);
}

struct forward {
	struct exec_info submission; /* its strings are copies: look_for_job is given what store_exec has last */
	struct submissions *ret;
};

/* arg: struct forward; keeps the execution if the submission may have made its job. 0, -ENOMEM. */
static int look_for_job(void *arg, const struct exec_info *x)
{
	struct forward *w = arg;
	struct origin_of o;
	int r = submit_origin_load(x, &o);
	if (r <= 0)
		return r;
	struct submission one = {.exec = x->id, .start = x->start, .named = is_job_named(&w->submission, &o)};
	r = submit_may_have(&w->submission, &o) ? append_submission(w->ret, &one, str_of(o.job)) : 0;
	submit_origin_release(&o);
	return r;
}

/* What salloc started is its alone. Takes out of l the submissions that went to a job of salloc's which is another's.
 * -errno, or 0. */
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
			r = submit_origin_load(&x, &o);
		if (r > 0)
			r = submit_find_above(s, &o, l->v[i].exec, &found);
		l->v[i].sure = found.n && found.v[0].exec == exec;
		if (found.n && !l->v[i].sure)
			free(l->v[i].job);
		else
			l->v[kept++] = l->v[i];
		submissions_release(&found);
		submit_origin_release(&o);
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
	if (r <= 0 || !submit_is_submitter(x))
		return r < 0 ? r : 0;
	char *copies[5] = {0};
	if (submit_own_texts(x, copies) < 0)
		r = -ENOMEM;
	if (r > 0)
		r = submit_each_exec(s, look_for_job, &w);
	first_of_each(ret, x->start == TIME_NONE ? TIME_NONE : x->start - skew);
	if (r >= 0)
		r = sure_ones(s, exec, ret);
	sort_submissions(ret);
	submit_release_copies(copies);
	return r;
}

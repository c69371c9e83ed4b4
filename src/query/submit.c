#include "query/submit.h"

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

static int add(struct submissions *l, const struct submission *one, struct str job)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		struct submission *v = realloc(l->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	char *copy = strndup(job.n ? job.p : "", job.n);
	if (!copy)
		return -ENOMEM;
	l->v[l->n] = *one;
	l->v[l->n++].job = copy;
	return 0;
}

static struct str last_part(struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	return slash ? str_n(slash + 1, path.n - (size_t)(slash + 1 - path.p)) : path;
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

/* By its name as it was called; that of the file would be a look at another table for each execution. */
static bool is_submitter(const struct exec_info *x)
{
	struct str arg = {0};
	size_t pos = 0;
	if (!x->n || !strlist_next(&x->argv, &pos, &arg))
		return false;
	arg = last_part(arg);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (str_is(arg, programs[i]))
			return true;
	return false;
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

static char *copy_of(struct str s)
{
	return strndup(s.n ? s.p : "", s.n);
}

/* 1; 0: it is of no job; -ENOMEM. */
static int origin_of(const struct exec_info *x, struct origin_of *ret)
{
	struct str job;
	const struct system *sys = system_of(x, &job);
	*ret = (struct origin_of){.system = sys};
	if (!sys)
		return 0;
	ret->job = copy_of(job);
	ret->dir = copy_of(env_get(x, sys->dir));
	ret->host = copy_of(env_get(x, sys->host));
	ret->name = copy_of(env_get(x, sys->name));
	ret->user = copy_of(x->user);
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

static bool named(const struct exec_info *x, const struct origin_of *o)
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
		} else if (str_is(last_part(arg), o->name)) {
			script = arg; /* or the value of an option: it only puts this one first */
		}
	}
	return *o->name && (given.n ? str_is(given, o->name) : script.n > 0);
}

/* May the submission x have made the job that o tells of, but for the time? */
static bool agrees(const struct exec_info *x, const struct origin_of *o)
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

static int by_rank(const void *pa, const void *pb)
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

static void rank(struct submissions *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_rank);
}

/* Gives each execution that has a program to `each`, in one view of the store. */
static int each_exec(struct store *s, int (*each)(void *arg, const struct exec_info *x), void *arg)
{
	sqlite3_stmt *st = NULL;
	store_id *ids = NULL;
	size_t n = 0, cap = 0;
	int r = 0, rc = sqlite3_prepare_v2(store_sqlite(s), "SELECT id FROM execution WHERE n > 0", -1, &st, NULL);
	while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (n == cap) {
			cap = cap ? 2 * cap : 1024;
			store_id *v = realloc(ids, cap * sizeof(*v));
			if (!v)
				r = -ENOMEM;
			ids = v ? v : ids;
		}
		if (r == 0)
			ids[n++] = (store_id)sqlite3_column_int64(st, 0);
		rc = SQLITE_OK;
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = -EIO;
	sqlite3_finalize(st);
	if (r == 0)
		r = store_view_begin(s, VIEW_PASS);
	bool view = r >= 0;
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

int submit_is(struct store *s, store_id exec)
{
	struct exec_info x;
	int r = store_exec(s, exec, &x);
	return r > 0 ? is_submitter(&x) : r;
}

/* Was the job's first program started by who submitted it? That one has not the job's identity. */
static int above(struct store *s, const struct origin_of *o, store_id at, struct submissions *ret)
{
	for (int i = 0; i < ABOVE && at; i++) {
		struct exec_info x;
		struct str job;
		int r = store_exec(s, at, &x);
		if (r <= 0)
			return r;
		bool within = !x.n || (system_of(&x, &job) == o->system && str_is(job, o->job));
		if (!within) {
			struct submission one = {.exec = x.id, .sure = true, .named = named(&x, o), .start = x.start};
			return is_submitter(&x) ? add(ret, &one, str_of(o->job)) : 0;
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
	if (!is_submitter(x) || !agrees(x, w->o))
		return 0;
	struct submission one = {.exec = x->id, .named = named(x, w->o), .start = x->start};
	return add(w->ret, &one, str_of(w->o->job));
}

int submit_of(struct store *s, store_id exec, int64_t skew, struct submissions *ret)
{
	struct exec_info x;
	struct origin_of o = {0};
	*ret = (struct submissions){0};
	int r = store_exec(s, exec, &x);
	if (r > 0)
		r = origin_of(&x, &o);
	if (r <= 0)
		return r;
	r = above(s, &o, exec, ret);
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
	rank(ret);
	origin_release(&o);
	return r;
}

struct forward {
	struct exec_info submission; /* its strings are copies: look_for_job is given what store_exec has last */
	struct submissions *ret;
};

static int look_for_job(void *arg, const struct exec_info *x)
{
	struct forward *w = arg;
	struct origin_of o;
	int r = origin_of(x, &o);
	if (r <= 0)
		return r;
	struct submission one = {.exec = x->id, .start = x->start, .named = named(&w->submission, &o)};
	r = agrees(&w->submission, &o) ? add(w->ret, &one, str_of(o.job)) : 0;
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
			r = origin_of(&x, &o);
		if (r > 0)
			r = above(s, &o, l->v[i].exec, &found);
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
	struct str *const texts[] = {&x->cwd, &x->host, &x->user, &x->argv.raw, &x->env.raw};
	char *copies[sizeof(texts) / sizeof(texts[0])] = {0};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct str t = *texts[i];
		copies[i] = malloc(t.n + 1);
		if (!copies[i])
			r = -ENOMEM;
		else if (t.n)
			memcpy(copies[i], t.p, t.n);
		*texts[i] = str_n(copies[i], copies[i] ? t.n : 0);
	}
	if (r > 0)
		r = each_exec(s, look_for_job, &w);
	first_of_each(ret, x->start == TIME_NONE ? TIME_NONE : x->start - skew);
	if (r >= 0)
		r = sure_ones(s, exec, ret);
	rank(ret);
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		free(copies[i]);
	return r;
}

#include "cc/record.h"

#include "base/fileid.h"
#include "base/os/procfs.h"
#include "cc/compiler.h"
#include "cc/files.h"
#include "cc/git.h"
#include "keep/write.h"
#include "redact/redact.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGV_MAX (384u << 10) /* bytes: both lists fit into an event */

extern char **environ;

/* ---- lists of strings ---- */

struct texts {
	struct buf bytes; /* strings with their NULs */
	struct str *v;
	size_t n;
};

static void texts_release(struct texts *t)
{
	buf_release(&t->bytes);
	free(t->v);
}

/* Once all bytes are there: their views. 0, -ENOMEM. */
static int texts_end(struct texts *t)
{
	const char *p = t->bytes.p;
	if (t->bytes.failed || (t->n && !(t->v = calloc(t->n, sizeof(*t->v)))))
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		t->v[i] = str_of(p);
		p += t->v[i].n + 1;
	}
	return 0;
}

/* Points to t: valid until t changes. */
static struct strlist strlist_of_texts(const struct texts *t)
{
	return (struct strlist){.items = t->v, .count = t->n};
}

/* Takes the arguments. Of a longer one the beginning: an event has a bound. *ret_cut: how many are left out. 0,
 * -ENOMEM. */
static int take_argv(struct texts *t, char *const *argv, size_t *ret_cut)
{
	struct redact state = {0};
	for (; argv[t->n] && t->bytes.n < ARGV_MAX; t->n++) {
		redact_arg(&state, &t->bytes, str_of(argv[t->n]));
		buf_char(&t->bytes, '\0');
	}
	for (size_t i = t->n; argv[i]; i++)
		++*ret_cut;
	return texts_end(t);
}

/* Is the variable one that is recorded with a build? var: "NAME=VALUE" or "NAME"; by the table of names and of
 * beginnings of names. */
static bool is_recorded_variable(const char *var)
{
	static const struct {
		const char *name;
		bool prefix;
	} rows[] = {
#define VAR(name) {#name, false},
#define VARS(name) {#name, true},
#include "cc/env.def"
	};
	size_t n = strcspn(var, "=");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t k = strlen(rows[i].name);
		if ((rows[i].prefix ? n >= k : n == k) && memcmp(var, rows[i].name, k) == 0)
			return true;
	}
	return false;
}

/* Order of qsort. */
static int compare_variables(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes the environment, in order of their names: the same environment is the same record. Redacted. 0, -ENOMEM. */
static int take_env(struct texts *t)
{
	size_t n = 0, k = 0;
	while (environ[n])
		n++;
	char **v = malloc((n + 1) * sizeof(*v));
	for (size_t i = 0; v && i < n; i++)
		if (is_recorded_variable(environ[i]))
			v[k++] = environ[i];
	if (!v)
		return -ENOMEM;
	qsort(v, k, sizeof(*v), compare_variables);
	for (size_t i = 0; i < k; i++) {
		redact_env(&t->bytes, str_of(v[i]));
		buf_char(&t->bytes, '\0');
	}
	t->n = k;
	free(v);
	return texts_end(t);
}

/* Appends what is missing in the record. 0, -errno. */
static int collect_gaps(struct texts *t, struct files *f)
{
	buf_add(&t->bytes, f->gaps.p ? f->gaps.p : "", f->gaps.n);
	t->n = f->ngaps;
	return texts_end(t);
}

/* ---- what decides what a compiler says of itself: the programs that it is made of ---- */

/* Kept by the digests of the compiler's programs, so that it is asked once. Nothing where none is known. */
static void describe_compiler(const struct record *r, const struct files *f, struct compiler *ret)
{
	struct digest_sum s;
	struct digest key;
	bool any = false;
	*ret = (struct compiler){0};
	digest_begin(&s);
	digest_add(&s, r->compiler, strlen(r->compiler) + 1);
	for (size_t i = 0; i < f->list.n; i++)
		if (f->list.v[i].role == TERM_role_tool && f->list.v[i].digested) {
			digest_add(&s, f->list.v[i].digest.b, DIGEST_BYTES);
			any = true;
		}
	digest_end(&s, &key);
	if (any)
		compiler_describe(r->compiler, &key, r->cache, ret);
}

/* ---- the sources' commit ---- */

struct sources_of {
	struct git_place git;
	unsigned tree;
};

/* The commit of the sources' work tree, and whether what was read is as it has it. Nothing where there is none. */
static void find_origin(const struct record *r, const struct files *f, const char *cwd, struct sources_of *ret)
{
	char dir[PATH_MAX];
	*ret = (struct sources_of){0};
	if (snprintf(dir, sizeof(dir), "%s", f->first_source ? f->first_source : cwd) >= (int)sizeof(dir))
		return;
	char *slash = f->first_source ? strrchr(dir, '/') : NULL;
	if (slash)
		*slash = '\0';
	if (git_commit(dir, &ret->git) != 1) {
		ret->git.commit[0] = '\0';
		return;
	}
	char **read = calloc(f->list.n + 1, sizeof(*read));
	size_t n = 0;
	for (size_t i = 0; read && i < f->list.n; i++)
		if (f->list.v[i].role != TERM_role_output && f->list.v[i].role != TERM_role_tool)
			read[n++] = f->list.v[i].path;
	if (read)
		ret->tree = git_tree(&ret->git, r->cache, f->linked, read, n);
	free(read);
}

/* ---- events ---- */

/* One event for each file; without a digest it is empty. now: ns. */
static void write_files(struct log_writer *w, int64_t now, const struct files *f)
{
	for (size_t i = 0; i < f->list.n; i++) {
		const struct build_file *b = &f->list.v[i];
		struct event ev = {.kind = EVENT_build_file,
		                   .time = now,
		                   .build_file = {.role = b->role,
		                                  .path = str_of(b->path),
		                                  .size = b->size,
		                                  .mtime = b->mtime,
		                                  .digest = str_n((const char *)b->digest.b, b->digested ? DIGEST_BYTES : 0),
		                                  .id = str_n((const char *)b->id, b->nid),
		                                  .detail = str_of(b->detail ? b->detail : "")}};
		log_writer_add(w, &ev);
	}
}

/* A session of its own. 0; -errno with a sentence. */
static int write_events(const struct record *r, const struct files *f, struct event_build *b, struct err *err)
{
	struct log_writer *w;
	struct procfs self;
	procfs_clear(&self);
	procfs_stat(getpid(), &self);
	b->pid = (uint64_t)getpid();
	b->started = self.started == PROCFS_UNKNOWN ? 0 : self.started;
	b->files = f->list.n;
	int rc = keep_begin(r->home, err, &w);
	if (rc < 0)
		return rc;
	struct event ev = {.kind = EVENT_build, .time = r->ended, .build = *b};
	log_writer_add(w, &ev);
	write_files(w, r->ended, f);
	return keep_end(w, err);
}

/* Are both command lines the same? Both end with NULL; all words in the same order. */
static bool is_same_command(char *const *a, char *const *b)
{
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return !*a && !*b;
}

/* Writes the record of a build into the object or program. 0; -ENOMEM, or -errno with a sentence. f gets a gap where
 * arguments were cut. */
static int write_build_record(const struct record *r, struct files *f, struct err *err)
{
	struct texts argv = {0}, args = {0}, env = {0}, gaps = {0};
	struct compiler c;
	struct sources_of o;
	char *cwd = getcwd(NULL, 0);
	size_t cut = 0;
	int rc = cwd ? take_argv(&argv, r->argv, &cut) : -ENOMEM;
	if (rc == 0 && !is_same_command(r->argv, r->args->v))
		rc = take_argv(&args, r->args->v, &cut);
	if (cut) {
		char number[32];
		snprintf(number, sizeof(number), "%zu", cut);
		files_gap(f, "arguments", number);
	}
	if (rc == 0)
		rc = take_env(&env);
	if (rc == 0)
		rc = collect_gaps(&gaps, f);
	if (rc == 0) {
		describe_compiler(r, f, &c);
		find_origin(r, f, cwd, &o);
		bool exited = WIFEXITED(r->status);
		struct event_build b = {
		    .argv = strlist_of_texts(&argv),
		    .args = strlist_of_texts(&args),
		    .cwd = str_of(cwd),
		    .compiler = str_of(r->compiler),
		    .version = str_of(c.version),
		    .target = str_of(c.target),
		    .env = strlist_of_texts(&env),
		    .user = str_of(keep_user()),
		    .uid = geteuid(),
		    .began = r->began,
		    .ending = exited ? TERM_ending_exited : TERM_ending_signaled,
		    .code = (uint64_t)(exited ? WEXITSTATUS(r->status) : WTERMSIG(r->status)),
		    .commit = str_of(o.git.commit),
		    .tree = o.tree,
		    .gaps = strlist_of_texts(&gaps),
		    .note = str_n((const char *)r->note, r->note ? BUILD_NOTE_BYTES : 0),
		};
		rc = write_events(r, f, &b, err);
	}
	texts_release(&argv);
	texts_release(&args);
	texts_release(&env);
	texts_release(&gaps);
	free(cwd);
	return rc;
}

int record_write(const struct record *r, struct err *err)
{
	struct observed s = {0};
	struct files f = {0};
	struct digest_cache *cache = r->cache ? digest_cache_open(r->cache) : NULL;
	int rc = r->tape ? observed_read(r->tape, r->ntape, &s) : 0;
	if (rc == 0)
		rc = files_collect(r, &s, cache, &f);
	if (rc == 0)
		rc = write_build_record(r, &f, err);
	files_free_all(&f);
	observed_release(&s);
	digest_cache_close(cache);
	return rc;
}

#include "trust/bench/plan.h"

#include "base/strv.h"
#include "event/event.h"
#include "keep/write.h"
#include "redact/redact.h"
#include "trust/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names and digests, one of each for a file. */
struct plan_files {
	struct elements v; /* name -> digest, "" not known */
	bool digest;
	struct digest_cache *cache;
};

/* A file that a word of the command names, with its digest; what is no regular file is passed over. Without memory f->v
 * has failed. */
static void add_plan_file(struct plan_files *f, const char *name, const char *path)
{
	struct digest d;
	char text[DIGEST_TEXT] = "";
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	if (elements_find(&f->v, str_of(name)))
		return;
	if (f->digest && digest_file(f->cache, AT_FDCWD, path, &d, NULL) == 0)
		digest_text(&d, text);
	elements_add(&f->v, str_of(name), str_of(text));
}

/* Adds the file of a program, as execvp finds it. */
static void add_program(struct plan_files *f, const char *name)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];
	if (strchr(name, '/')) {
		add_plan_file(f, name, name);
		return;
	}
	for (const char *p = dirs ? dirs : "/bin:/usr/bin"; p;) {
		const char *colon = strchr(p, ':');
		int n = colon ? (int)(colon - p) : (int)strlen(p);
		snprintf(path, sizeof(path), "%.*s%s%s", n, p, n ? "/" : "", name);
		p = colon ? colon + 1 : NULL;
		if (access(path, X_OK) < 0)
			continue;
		add_plan_file(f, path, path);
		return;
	}
}

/* The program, the arguments that are files, and what stands behind their =; the benchmark file. */
static void collect_plan_files(const struct plan *p, struct plan_files *f)
{
	add_program(f, p->argv[0]);
	for (size_t i = 1; p->argv[i]; i++) {
		const char *eq = strchr(p->argv[i], '=');
		add_plan_file(f, p->argv[i], p->argv[i]);
		if (eq && eq[1])
			add_plan_file(f, eq + 1, eq + 1);
	}
	if (p->benchfile)
		add_plan_file(f, p->benchfile, p->benchfile);
}

/* The words of a buffer that each end with a NUL. */
static struct str *split_words(const struct buf *b, size_t n)
{
	struct str *v = calloc(n + 1, sizeof(*v));
	const char *p = b->p;
	for (size_t i = 0; v && i < n; i++, p += strlen(p) + 1)
		v[i] = str_of(p);
	return v;
}

/* An event's lists, and what they are made of. */
struct plan_lists {
	struct buf words, parameters, machine;
	struct str *argv, *file, *digest, *parameter, *invariant;
	size_t argc, n_parameters, n_invariants;
};

/* Makes the lists of a plan's event. False: no memory. release_lists frees in both cases. */
static bool make_lists(const struct plan *p, const struct plan_files *f, struct plan_lists *l)
{
	l->argc = redact_argv(&l->words, p->argv);
	l->argv = split_words(&l->words, l->argc);
	l->file = calloc(f->v.n + 1, sizeof(*l->file));
	l->digest = calloc(f->v.n + 1, sizeof(*l->digest));
	for (size_t i = 0; l->file && l->digest && i < f->v.n; i++) {
		l->file[i] = str_of(f->v.v[i].name);
		l->digest[i] = str_of(f->v.v[i].value[0]);
	}
	bool ok = trust_record_pairs(p->parameters, true, &l->parameters, &l->parameter, &l->n_parameters);
	ok &= trust_record_pairs(p->invariants, false, &l->machine, &l->invariant, &l->n_invariants);
	return ok && l->argv && l->file && l->digest && !l->words.failed && !f->v.failed;
}

/* It may not be used afterwards. */
static void release_lists(struct plan_lists *l)
{
	buf_release(&l->words);
	buf_release(&l->parameters);
	buf_release(&l->machine);
	free(l->argv);
	free(l->file);
	free(l->digest);
	free(l->parameter);
	free(l->invariant);
}

/* Writes the event. 0, or -errno with a sentence. */
static int append_plan(struct log_writer *log, const struct plan *p, struct err *err)
{
	struct plan_files f = {.digest = p->digest, .cache = p->cache};
	struct plan_lists l = {0};
	char cwd[PATH_MAX] = "";
	collect_plan_files(p, &f);
	bool ok = make_lists(p, &f, &l);
	struct event ev = {.kind = EVENT_plan,
	                   .time = keep_now(),
	                   .plan = {.id = str_of(p->id),
	                            .runs = p->runs,
	                            .warmup = p->warmup,
	                            .argv = {.items = l.argv, .count = l.argc},
	                            .cwd = str_of(getcwd(cwd, sizeof(cwd)) ? cwd : ""),
	                            .file = {.items = l.file, .count = f.v.n},
	                            .digest = {.items = l.digest, .count = f.v.n},
	                            .parameter = {.items = l.parameter, .count = l.n_parameters},
	                            .machine = {.items = l.invariant, .count = l.n_invariants}}};
	int rc = 0;
	if (!ok)
		rc = err_set(err, ENOMEM, "cannot write the plan down");
	else if (!log_writer_add(log, &ev))
		rc = err_set(err, EIO, "cannot write the plan down");
	release_lists(&l);
	elements_release(&f.v);
	return rc;
}

int plan_write(const char *home, const struct plan *p, struct err *err, struct run_place *ret)
{
	struct log_writer *log;
	*ret = (struct run_place){0};
	int rc = keep_begin(home, err, &log);
	if (rc < 0)
		return rc;
	rc = trust_record_place(log, ret) ? append_plan(log, p, err) : err_set(err, ENOMEM, "cannot write the plan down");
	int ended = keep_end_durable(log, err);
	return rc < 0 ? rc : ended;
}

/* Where no call may be stopped: processes are looked for in /proc, every few milliseconds. What comes and goes between
 * two looks is not seen, and the record says that it may be so; nothing is set on the command, which keeps every
 * privilege and every tracer it wants. */
#include "base/fileid.h"
#include "base/hash.h"
#include "base/os/procfs.h"
#include "capture/supervisor/worker.h"
#include "event/env.h"
#include "redact/redact.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCAN_MIN_MS 1  /* at the beginning, which many programs do not outlive by much */
#define SCAN_MAX_MS 10 /* measured: 0.3 % of a processor for ten processes */
#define SHARE 20       /* looks take at most this part of a processor: with a thousand processes they become rarer */
#define WORDS_MAX (256u << 10)

/* A word that changes when the process becomes another program, and not when it forks: its executable and where its
 * stack and arguments lie. Where that may not be read (a set-id program) it is its name and its arguments. 0: it is
 * over. */
static uint64_t read_image_word(pid_t pid)
{
	char text[4096];
	struct {
		uint64_t dev, ino, stack, args;
	} is = {0};
	struct statx st;
	ssize_t n = procfs_read(pid, "stat", text, sizeof(text));
	char *p = n > 0 ? strrchr(text, ')') : NULL;
	if (!p || p[2] == 'Z' || p[2] == 'X')
		return 0;
	p += 3;
	for (int i = 4; i <= 48 && *p; i++) {
		uint64_t v = strtoull(p, &p, 10);
		if (i == 28)
			is.stack = v;
		else if (i == 48)
			is.args = v;
	}
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	if (is.stack && fileid_statx_cached(AT_FDCWD, name, 0, STATX_INO, &st) == 0) {
		is.dev = fileid_dev(&st);
		is.ino = st.stx_ino;
		return hash_bytes(&is, sizeof(is)) | 1;
	}
	size_t have = 0;
	n = procfs_read(pid, "comm", text, sizeof(text) / 2);
	have += n > 0 ? (size_t)n : 0;
	n = procfs_read(pid, "cmdline", text + have, sizeof(text) - have);
	have += n > 0 ? (size_t)n : 0;
	return hash_bytes(text, have) | 1;
}

/* The strings of a file of /proc, redacted, one behind the other. How many there are. */
static size_t read_redacted_strings(pid_t pid, bool env, struct buf *ret)
{
	char *text = malloc(WORDS_MAX);
	ssize_t n = text ? procfs_read(pid, env ? "environ" : "cmdline", text, WORDS_MAX) : -1;
	struct redact r = {0};
	size_t count = 0;
	for (ssize_t at = 0; at < n;) {
		struct str s = str_of(text + at);
		const char *eq = env ? memchr(s.p, '=', s.n) : s.p;
		at += (ssize_t)s.n + 1;
		if (env && (!eq || !env_allowed(str_n(s.p, (size_t)(eq - s.p)))))
			continue;
		if (env)
			redact_env(ret, s);
		else
			redact_arg(&r, ret, s);
		buf_char(ret, '\0');
		count++;
	}
	free(text);
	return count;
}

void proc_became(struct sup *s, struct proc *p)
{
	char name[48];
	struct where w;
	struct statx st;
	struct file *exe = NULL;
	snprintf(name, sizeof(name), "/proc/%d/exe", p->pid);
	if (where_path(proc_rooted(NULL), p->pid, AT_FDCWD, name, true, &w) == 0) {
		if (where_statx(&w, true, &st) == 0)
			exe = file_get(s, &w, true, &st);
		where_release(&w);
	}
	struct buf args = {0}, vars = {0};
	size_t argc = read_redacted_strings(p->pid, false, &args), envc = read_redacted_strings(p->pid, true, &vars);
	struct str *argv = exec_split(&args, argc), *env = exec_split(&vars, envc);
	proc_refresh_creds(s, p);
	free(p->cwd);
	p->cwd = NULL;
	struct event ev = {.exec = {.n = ++p->execn,
	                            .exe = exe ? exe->num : 0,
	                            .argv = {.items = argv, .count = argv ? argc : 0},
	                            .cwd = str_of(proc_cwd(s, p, p->pid)),
	                            .env = {.items = env, .count = env ? envc : 0},
	                            .uid = p->uid,
	                            .gid = p->gid,
	                            .run = str_of(p->run)}};
	p->exec_start = sup_now(s);
	sup_event(s, EVENT_exec, p->exec_start, p, &ev);
	p->exe_dev = exe ? exe->dev : 0;
	p->exe_ino = exe ? exe->ino : 0;
	known_note(s->known, p);
	feature_exec(s, p, exe);
	free(argv);
	free(env);
	buf_release(&args);
	buf_release(&vars);
}

/* Adds the process if it is new, and notes another program; parent: NULL: it is not known. */
static void look_at_process(struct sup *s, pid_t pid, const struct proc *parent)
{
	struct proc *p = proc_by_pid(s, pid);
	uint64_t image = read_image_word(pid);
	if (!image)
		return;
	if (p && proc_over(p)) { /* its number went to another */
		proc_dead(s, p);
		p = NULL;
	}
	if (!p && !(p = proc_first_sight(s, pid, false)))
		return;
	if (!p->image) {
		/* A fork has its parent's image until it becomes something else; so has an orphan, as far as can be told. */
		p->image = parent ? parent->image : image;
		if (!parent)
			proc_became(s, p);
	}
	if (p->image != image) {
		p->image = image;
		proc_became(s, p);
	}
}

/* The children of a process, and theirs: malloc'ed stack, no recursion (a fork chain is as deep as it likes). */
struct stack {
	pid_t *v;
	size_t n, cap;
};

/* Puts a process onto the stack. No memory: it is not looked at. */
static void push_pid(struct stack *k, pid_t pid)
{
	if (k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 64;
		pid_t *v = realloc(k->v, cap * sizeof(*v));
		if (!v)
			return;
		k->v = v;
		k->cap = cap;
	}
	k->v[k->n++] = pid;
}

/* Puts the children of a process on the stack, to be looked at. ours: pid is the recorder, whose children have no
 * known parent. */
static void push_children(struct sup *s, struct stack *k, pid_t pid, bool ours)
{
	char name[64];
	static char text[65536]; /* one thread looks */
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	DIR *d = opendir(name);
	const struct proc *parent = ours ? NULL : proc_by_pid(s, pid);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "task/%.12s/children", e->d_name);
		if (procfs_read(pid, name, text, sizeof(text)) <= 0)
			continue;
		for (char *at = text, *end; *at; at = end) {
			pid_t child = (pid_t)strtol(at, &end, 10);
			if (end == at)
				break;
			look_at_process(s, child, parent);
			push_pid(k, child);
		}
	}
	if (d)
		closedir(d);
}

/* Processor time of this thread, ns. */
static int64_t used_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

bool worker_scan(struct worker *w)
{
	struct sup *s = &w->sup;
	struct stack k = {0};
	int64_t start = used_ns();
	s->epoch++;
	struct proc *root = proc_by_pid(s, s->root);
	if (!root && !w->control->ended && (root = proc_first_sight(s, s->root, false)))
		root->image = read_image_word(getpid()); /* a fork of this process, until it is the command */
	uint64_t image = root ? read_image_word(s->root) : 0;
	if (image && image != root->image) {
		root->image = image;
		proc_became(s, root);
	}
	push_children(s, &k, getpid(), true); /* the command, and orphans that came to this process */
	while (k.n)
		push_children(s, &k, k.v[--k.n], false);
	free(k.v);
	int64_t ms = (used_ns() - start) * SHARE / 1000000;
	w->scan_ms = w->scan_ms < SCAN_MIN_MS ? SCAN_MIN_MS : w->scan_ms + 1;
	if (w->scan_ms > SCAN_MAX_MS)
		w->scan_ms = SCAN_MAX_MS;
	if (w->scan_ms < ms)
		w->scan_ms = (int)ms;
	return s->nprocs > 0 || !w->control->ended;
}

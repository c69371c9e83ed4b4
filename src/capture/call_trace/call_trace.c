#include "capture/call_trace/call_trace.h"

#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHAINS = 1024, GATHERED = 32768, PATH_BYTES = 4096, DESCRIPTORS = 256 };

struct row {
	int nr;
	const char *name;
	int fd, at, path, at2, path2; /* arguments, -1 none */
	bool makes;
};
static const struct row rows[] = {
#define CALLED(name, fd, at, path, at2, path2, makes) {SYS_##name, #name, fd, at, path, at2, path2, makes},
#include "capture/call_trace/call_trace.def"
#undef CALLED
};

struct thread {
	struct thread *next; /* in its chain */
	pid_t tid, pid;
	uint64_t execn; /* of the image that this is of */
	int64_t began;
	char name[64]; /* "0.2"; "" not known yet */
	unsigned made; /* threads that it created */
	bool taken, chosen, headed, full;
	struct buf head;    /* taken at the beginning: of a dead process nothing can be read */
	uint64_t loader[2]; /* where the dynamic loader lies: what it calls is not the program's */
	uint64_t bytes;
	struct buf text; /* that is not written yet */
	char file[64];
	char *said[DESCRIPTORS]; /* what was said last of each descriptor */
	/* The call it is in. */
	const struct row *in;
	uint64_t args[6];
	char *path[2]; /* as it gave them */
	bool maps;     /* ... which maps code */
	struct emitted_stacks stacks;
};

struct called {
	int folder;
	char *programs;
	struct thread *threads[CHAINS];
	size_t n;
	unsigned files;          /* ever */
	struct stacker *stacker; /* NULL: nobody asks who called */
};

/* Finds how a call is traced, by number; the rows are as they are read best. */
static const struct row *find_traced_call(int nr)
{
	enum { NUMBERS = 512 };
	static signed char index[NUMBERS];
	static_assert(sizeof(rows) / sizeof(*rows) < 127, "an index is a byte");
	if (!index[0] && !index[1]) {
		for (int i = 0; i < NUMBERS; i++)
			index[i] = -1;
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			if (rows[i].nr >= 0 && rows[i].nr < NUMBERS)
				index[rows[i].nr] = (signed char)i;
	}
	return nr >= 0 && nr < NUMBERS && index[nr] >= 0 ? &rows[index[nr]] : NULL;
}

struct called *called_new(const char *folder, const char *programs)
{
	struct called *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->programs = strdup(programs);
	c->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->folder >= 0 && c->programs)
		return c;
	if (c->folder >= 0)
		close(c->folder);
	free(c->programs);
	free(c);
	return NULL;
}

void called_with_stacks(struct called *c, int socket)
{
	find_traced_call(0); /* the index is made while there is one thread */
	c->stacker = stacker_new(socket);
	if (!c->stacker)
		close(socket);
}

bool called_stacks(const struct called *c, const struct trap *t)
{
	return c->stacker && !t->compat && find_traced_call(t->nr);
}

/* ---- text ---- */

/* A name may have any byte in it; the trace is lines. */
static void append_escaped_name(struct buf *b, const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < ' ' || *p == 127 || *p == '\\')
			buf_printf(b, "\\x%02x", *p);
		else
			buf_char(b, (char)*p);
}

/* A link of /proc/PID. False: it cannot be read, and ret is "". */
static bool link_of(pid_t pid, const char *what, char ret[PATH_BYTES])
{
	char name[64];
	snprintf(name, sizeof(name), "/proc/%d/%s", pid, what);
	ssize_t n = readlink(name, ret, PATH_BYTES - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The head of the thread's trace: its program, how it began, its process and working directory. Kept until there is a
 * call. */
static void take_trace_head(struct sup *s, struct thread *t, const struct proc *p)
{
	struct buf *b = &t->head;
	struct stat st;
	char name[64], path[PATH_BYTES];
	buf_printf(b, "stemma-calls 1\nexe ");
	link_of(t->pid, "exe", path);
	append_escaped_name(b, path);
	snprintf(name, sizeof(name), "/proc/%d/exe", t->pid);
	if (stat(name, &st) == 0)
		buf_printf(b, "\nstate %lld %lld", (long long)st.st_size,
		           st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
	buf_printf(b, "\nbegan %s", t->tid != t->pid ? "thread" : p->execn ? "exec" : "fork");
	buf_printf(b, "\nprocess %d %lld %lld\ncwd ", t->pid, (long long)(p->started / (1000000000 / s->hz)),
	           (long long)t->began);
	link_of(t->pid, "cwd", path);
	append_escaped_name(b, path);
	buf_char(b, '\n');
}

/* How the thread was made is known only after its first calls, perhaps. */
static void prepend_trace_head(struct thread *t)
{
	buf_printf(&t->head, "thread %s\n\n", *t->name ? t->name : "?");
	buf_add(&t->head, t->text.p, t->text.n);
	buf_release(&t->text);
	t->text = t->head;
	t->head = (struct buf){0};
	t->headed = true;
}

/* Appends what has gathered to the thread's file. Where that fails the trace is full: nothing more is written. */
static void flush_call_trace(struct sup *s, struct thread *t)
{
	struct called *c = s->called;
	size_t done;
	if (t->full)
		return;
	if (t->text.failed)
		t->full = true;
	int fd = t->full ? -1 : openat(c->folder, t->file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || io_write(fd, t->text.p, t->text.n, &done) < 0)
		t->full = true; /* no space, no folder: as far as it came */
	if (fd >= 0)
		close(fd);
	buf_reset(&t->text);
	if (t->full)
		buf_release(&t->text);
}

/* Writes where enough has gathered. Beyond CALLED_BYTES it says so, and the trace is full. */
static void flush_call_trace_if_full(struct sup *s, struct thread *t)
{
	if (t->text.n < GATHERED && !t->text.failed)
		return;
	if (!t->headed)
		prepend_trace_head(t);
	t->bytes += t->text.n;
	flush_call_trace(s, t);
	if (t->bytes > CALLED_BYTES && !t->full) {
		buf_printf(&t->text, "g full\ne stopped\n");
		flush_call_trace(s, t);
		t->full = true;
	}
}

/* ---- threads ---- */

/* Where the pointer to the thread is, or is to be put: NULL is there if it is not known. */
static struct thread **traced_thread_slot(struct called *c, pid_t tid)
{
	struct thread **at = &c->threads[(unsigned)tid % CHAINS];
	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

/* Frees what was noted of the call: the thread is in none now. */
static void leave_call(struct thread *t)
{
	for (int i = 0; i < 2; i++) {
		free(t->path[i]);
		t->path[i] = NULL;
	}
	t->in = NULL;
}

/* The thread's trace ends; how: "" where that is not known. A thread that called nothing leaves no file. Frees t. */
static void finish_call_trace(struct sup *s, struct thread *t, const char *how)
{
	struct called *c = s->called;
	struct thread **at = traced_thread_slot(c, t->tid);
	/* One that called nothing leaves nothing. */
	if (t->chosen && !t->full && (t->headed || t->text.n)) {
		if (*how)
			buf_printf(&t->text, "e %s\n", how);
		if (!t->headed)
			prepend_trace_head(t);
		flush_call_trace(s, t);
	}
	leave_call(t);
	for (int i = 0; i < DESCRIPTORS; i++)
		free(t->said[i]);
	buf_release(&t->text);
	buf_release(&t->head);
	emitted_stacks_release(&t->stacks);
	*at = t->next;
	c->n--;
	free(t);
}

/* Is the process one whose calls are traced? By the programs that were named: with a slash by path, else by their
 * last part; all where none was. */
static bool is_chosen(const struct called *c, pid_t pid)
{
	char exe[PATH_BYTES];
	if (!*c->programs)
		return true;
	if (!link_of(pid, "exe", exe))
		return false;
	const char *slash = strrchr(exe, '/');
	for (const char *p = c->programs; *p; p += strcspn(p, ":"), p += *p == ':') {
		size_t n = strcspn(p, ":");
		const char *is = memchr(p, '/', n) || !slash ? exe : slash + 1;
		if (strlen(is) == n && !memcmp(is, p, n))
			return true;
	}
	return false;
}

/* glibc's dynamic loader; musl's is its C library, whose calls are the program's. */
static void find_loader(struct thread *t)
{
	char name[64], line[PATH_BYTES + 128];
	snprintf(name, sizeof(name), "/proc/%d/maps", t->pid);
	FILE *f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long from, to;
		const char *slash = strrchr(line, '/'), *base = slash ? slash + 1 : "";
		if ((strncmp(base, "ld-linux", 8) != 0 && strncmp(base, "ld-2.", 5) != 0 && strncmp(base, "ld64.so", 7) != 0 &&
		     strncmp(base, "ld.so", 5) != 0) ||
		    sscanf(line, "%llx-%llx", &from, &to) != 2)
			continue;
		if (!t->loader[1])
			t->loader[0] = from;
		t->loader[1] = to;
	}
	if (f)
		fclose(f);
}

/* The thread's trace of the program that it runs now; NULL: it is not one to be traced, or there is no memory. */
static struct thread *thread_of(struct sup *s, pid_t tid, struct proc *p)
{
	struct called *c = s->called;
	struct thread **at = traced_thread_slot(c, tid), *t = *at;
	if (t && (t->pid != p->pid || (t->taken && t->execn != p->execn))) {
		finish_call_trace(s, t, t->pid != p->pid ? "" : "exec");
		t = NULL;
	}
	if (!t) {
		at = traced_thread_slot(c, tid);
		t = c->n < CALLED_THREADS ? calloc(1, sizeof(*t)) : NULL;
		if (!t)
			return NULL;
		c->n++;
		t->tid = tid;
		*at = t;
	}
	if (!t->taken) {
		t->taken = true;
		t->pid = p->pid;
		if (tid == p->pid)
			snprintf(t->name, sizeof(t->name), "0");
		t->execn = p->execn;
		t->began = sup_now(s);
		t->chosen = is_chosen(c, p->pid);
		snprintf(t->file, sizeof(t->file), "%d-%d-%u.calls", p->pid, tid, c->files++);
		if (t->chosen) {
			find_loader(t);
			take_trace_head(s, t, p);
		}
	}
	return t;
}

/* A thread that another has just made, before or after its own first call. */
static void name_child(struct sup *s, struct thread *maker, pid_t child)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", maker->pid, child);
	if (stat(path, &st) < 0)
		return;
	struct thread **at = traced_thread_slot(s->called, child), *t = *at;
	if (!t) {
		t = s->called->n < CALLED_THREADS ? calloc(1, sizeof(*t)) : NULL;
		if (!t)
			return;
		s->called->n++;
		t->tid = child;
		t->pid = maker->pid;
		*at = t;
	}
	if (!*t->name && *maker->name && strlen(maker->name) < sizeof(t->name) - 12)
		snprintf(t->name, sizeof(t->name), "%.50s.%u", maker->name, maker->made);
	maker->made++;
}

/* ---- calls ---- */

/* What kind of file a descriptor leads to, in a word; static. link: what /proc/PID/fd/N leads to; it tells terminals
 * from other devices. */
static const char *describe_descriptor_kind(const char *link, const struct stat *st)
{
	return S_ISREG(st->st_mode)    ? "file"
	       : S_ISDIR(st->st_mode)  ? "dir"
	       : S_ISFIFO(st->st_mode) ? "pipe"
	       : S_ISSOCK(st->st_mode) ? "socket"
	       : S_ISCHR(st->st_mode)
	           ? (!strncmp(link, "/dev/pts/", 9) || !strcmp(link, "/dev/tty") ? "terminal" : "device")
	           : "other";
}

/* What the descriptor is, if that is not what was said of it last. */
static void emit_descriptor_kind(struct thread *t, int fd)
{
	char name[64], what[48], link[PATH_BYTES], line[PATH_BYTES + 64];
	struct stat st;
	if (fd < 0)
		return;
	snprintf(what, sizeof(what), "fd/%d", fd);
	snprintf(name, sizeof(name), "/proc/%d/%s", t->tid, what);
	if (!link_of(t->tid, what, link) || stat(name, &st) < 0)
		return; /* it is none, and the call says so */
	bool named = *link == '/';
	snprintf(line, sizeof(line), "%s %s", describe_descriptor_kind(link, &st), named ? link : "");
	if (fd < DESCRIPTORS && t->said[fd] && !strcmp(t->said[fd], line))
		return;
	if (fd < DESCRIPTORS) {
		free(t->said[fd]);
		t->said[fd] = strdup(line);
	}
	buf_printf(&t->text, "d %d ", fd);
	append_escaped_name(&t->text, line);
	buf_char(&t->text, '\n');
}

/* The descriptor of the call that the thread is in; -1 if it takes none. */
static int descriptor_of(const struct thread *t)
{
	return t->in->fd >= 0 ? (int)t->args[t->in->fd] : -1;
}

/* The call with its paths and its descriptor; result as text. */
static void put_call(struct thread *t, const char *result)
{
	int fd = descriptor_of(t);
	for (int i = 0; i < 2; i++)
		if (t->path[i]) {
			buf_printf(&t->text, "a ");
			append_escaped_name(&t->text, t->path[i]);
			buf_char(&t->text, '\n');
		}
	if (fd >= 0)
		buf_printf(&t->text, "c %s %d %s\n", t->in->name, fd, result);
	else
		buf_printf(&t->text, "c %s - %s\n", t->in->name, result);
}

/* Copies the path of argument arg from the thread's memory; "?" where it cannot be read. arg < 0: the call has none. */
static void take_trace_path(struct thread *t, int which, int arg)
{
	char path[PATH_BYTES];
	if (arg < 0)
		return;
	ssize_t n = remote_string(t->tid, t->args[arg], path, sizeof(path));
	t->path[which] = strdup(n < 0 ? "?" : path);
}

/* Code that the process maps: the unwinder has to look again, once before and once after it is there. */
static bool maps_code(const struct trap *t)
{
	return !t->compat && (t->nr == SYS_mmap || t->nr == SYS_mprotect) && (t->args[2] & PROT_EXEC);
}

void called_enter(struct sup *s, const struct trap *t, const struct stands *at)
{
	struct task *k = task_of(s, t->tid);
	struct proc *p = k ? k->proc : NULL;
	if (!p)
		return;
	/* Also where nothing that is recorded was called yet since the exec. */
	if (p->exec && t->call != CALL_execve && t->call != CALL_execveat)
		exec_settle(s, p, t->tid);
	if (p->pid == s->root && !p->execn)
		return; /* not the command yet */
	struct thread *x = thread_of(s, t->tid, p);
	if (!x || !x->chosen || x->full)
		return;
	leave_call(x);
	x->maps = s->called->stacker && maps_code(t);
	if (x->maps)
		stacker_maps(s->called->stacker, x->pid);
	if (t->nr == SYS_exit && !t->compat) {
		finish_call_trace(s, x, "thread");
		return;
	}
	const struct row *r = t->compat ? NULL : find_traced_call(t->nr);
	if (t->compat && !x->headed && !x->text.n)
		buf_printf(&x->text, "g calls of another architecture\n");
	if (!r || (t->ip >= x->loader[0] && t->ip < x->loader[1]))
		return;
	if (t->nr == SYS_mmap && (t->args[3] & MAP_ANONYMOUS))
		return;
	x->in = r;
	memcpy(x->args, t->args, sizeof(x->args));
	take_trace_path(x, 0, r->path);
	take_trace_path(x, 1, r->path2);
	if ((t->nr == SYS_newfstatat || t->nr == SYS_statx) && x->path[0] && !*x->path[0]) {
		leave_call(x); /* of a descriptor: the C library's own question */
		return;
	}
	if (s->called->stacker)
		stacker_emit(s->called->stacker, s, &x->stacks, x->pid, x->tid, x->execn, at, &x->text);
	emit_descriptor_kind(x, descriptor_of(x)); /* now: a close has it no more when it is back */
	if (t->nr == SYS_exit_group) {
		char status[24];
		snprintf(status, sizeof(status), "%d", (int)t->args[0] & 0xff);
		put_call(x, status);
		leave_call(x);
	}
	flush_call_trace_if_full(s, x);
}

void called_leave(struct sup *s, pid_t tid, int64_t rval)
{
	enum { RESTART_FIRST = 512, RESTART_LAST = 516 };
	struct thread *t = *traced_thread_slot(s->called, tid);
	char result[32];
	if (t && t->maps) {
		stacker_maps(s->called->stacker, t->pid);
		t->maps = false;
	}
	if (!t || !t->in || t->full)
		return;
	if (rval <= -RESTART_FIRST && rval >= -RESTART_LAST)
		return leave_call(t); /* a signal: it is about to be made again */
	if (t->in->makes && rval >= 0)
		emit_descriptor_kind(t, (int)rval);
	snprintf(result, sizeof(result), "%lld", (long long)rval);
	/* Numbers of processes and addresses say nothing. */
	bool child = !strcmp(t->in->name, "clone") || !strcmp(t->in->name, "clone3");
	if (rval > 0 && (child || t->in->nr == SYS_wait4 || t->in->nr == SYS_mmap || strstr(t->in->name, "fork")))
		snprintf(result, sizeof(result), "1");
	bool exec = rval == 0 && (t->in->nr == SYS_execve || t->in->nr == SYS_execveat);
	put_call(t, result);
	if (child && rval > 0)
		name_child(s, t, (pid_t)rval);
	leave_call(t);
	if (exec)
		finish_call_trace(s, t, "exec");
	else
		flush_call_trace_if_full(s, t);
}

void called_unseen(struct sup *s, pid_t tid)
{
	struct thread *t = *traced_thread_slot(s->called, tid);
	if (!t || !t->chosen || t->full)
		return;
	leave_call(t);
	buf_printf(&t->text, "g calls went by\n");
}

void called_over(struct sup *s, pid_t pid, int status)
{
	char how[32];
	snprintf(how, sizeof(how), WIFEXITED(status) ? "exit" : "killed %d", WTERMSIG(status));
	if (s->called->stacker)
		stacker_gone(s->called->stacker, pid);
	for (size_t i = 0; i < CHAINS; i++)
		for (struct thread *t = s->called->threads[i], *next; t; t = next) {
			next = t->next;
			if (t->pid == pid)
				finish_call_trace(s, t, how);
		}
}

void called_end(struct sup *s)
{
	for (size_t i = 0; i < CHAINS; i++)
		while (s->called->threads[i])
			finish_call_trace(s, s->called->threads[i], "");
	stacker_release(s->called->stacker);
	close(s->called->folder);
	free(s->called->programs);
	free(s->called);
	s->called = NULL;
}

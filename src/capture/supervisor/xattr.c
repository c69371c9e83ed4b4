/* Extended attributes of regular files (run --xattr): user.NAME of a file is an object of it, read and written by calls
 * that are stopped as opens are.
 *
 * What is read is looked at before the call: an attribute that is there is read, one that is not is no use of it. What
 * is written is known by its value, before the call and at the thread's next stop: it is the one that was to be set, it
 * is the old one and nothing happened, or it is a third one, and then it may have been. */
#include "capture/supervisor/super.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NAME_MAX_X 256     /* XATTR_NAME_MAX and its NUL */
#define VALUE_MAX_X 65536u /* XATTR_SIZE_MAX */
#define ENTRIES 512        /* accesses that are told as one however often they are repeated; beyond that one each */

/* What an execution does with an attribute, one way. */
struct use {
	struct use *next;
	struct proc *proc;
	uint64_t execn, dev, ino, gen, name; /* name: its hash */
	bool write;
	uint64_t seq, calls, bytes;
	int64_t first, last;
};
/* A set or a remove that was let go on. */
struct change {
	struct change *next;
	struct proc *proc;
	pid_t tid;
	int fd; /* the file, O_PATH */
	struct file *file;
	char name[NAME_MAX_X];
	int64_t time;
	bool remove, was_there;
	uint64_t bytes, wanted, was; /* hashes of values */
};
struct xattrs {
	struct use *uses;
	unsigned nuses;
	struct change *changes;
	char value[VALUE_MAX_X];
};

/* 0, -ENOMEM. Freed with s->xattrs. */
int xattr_start(struct sup *s)
{
	s->xattrs = calloc(1, sizeof(*s->xattrs));
	return s->xattrs ? 0 : -ENOMEM;
}

/* ---- telling ---- */

/* The end of an access to an attribute, with all that was called since it began. */
static void end_attribute_use(struct sup *s, struct use *u)
{
	struct event end = {.access_end = {.access = u->seq,
	                                   .until = u->last,
	                                   .evidence = u->write ? TERM_evidence_must : TERM_evidence_none,
	                                   .count = u->calls,
	                                   .exact = 1,
	                                   .first = u->first,
	                                   .last = u->last,
	                                   .known = u->write ? 2 : 1}};
	*(u->write ? &end.access_end.bytes_written : &end.access_end.bytes_read) = u->bytes;
	sup_event(s, EVENT_access_end, sup_now(s), u->proc, &end);
}

/* The hash by which an attribute's name is found. */
static uint64_t attribute_hash(const char *name)
{
	return hash_bytes(name, strlen(name));
}

/* What others do with it from here on comes after what was done. NULL: nobody, all of p's are over. */
static void uses_end(struct sup *s, const struct proc *p, const struct file *f, uint64_t name)
{
	for (struct use **at = &s->xattrs->uses, *u; (u = *at);) {
		bool over = f ? u->proc != p && u->ino == f->ino && u->dev == f->dev && u->gen == f->gen && u->name == name
		              : u->proc == p;
		if (!over) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		end_attribute_use(s, u);
		free(u);
		s->xattrs->nuses--;
	}
}

/* The attribute as an object of its file, and its name there: /. and @ (doc/xattr.md). */
static uint64_t attribute_object(struct sup *s, struct proc *p, const struct file *f, const char *name, unsigned op,
                                 int64_t time)
{
	const uint64_t numbers[] = {f->gen, TERM_kind_xattr};
	uint64_t gen = hash_more(hash_bytes(numbers, sizeof(numbers)), name, strlen(name));
	uint64_t num = file_within(s, f, TERM_kind_xattr, gen, sup_now(s));
	struct buf path = {0};
	if (f->path && f->path[0] == '/') {
		buf_printf(&path, "%s//.@%s", f->path, name);
		struct event ev = {.name = {.op = op, .file = num, .path = buf_view(&path)}};
		if (!path.failed)
			sup_event(s, EVENT_name, time, p, &ev);
	}
	buf_release(&path);
	return num;
}

/* One call on an attribute. Calls of the same kind by the same execution are one access; not sure: only that it may
 * have been. */
static void emit_use(struct sup *s, struct proc *p, const struct file *f, const char *name, bool write, bool made,
                     bool sure, uint64_t bytes, int64_t from, int64_t to)
{
	uint64_t hash = attribute_hash(name);
	uses_end(s, p, f, hash);
	struct use *u = s->xattrs->uses;
	while (u && !(u->proc == p && u->execn == p->execn && u->write == write && u->name == hash && u->ino == f->ino &&
	              u->dev == f->dev && u->gen == f->gen))
		u = u->next;
	if (!u) {
		uint64_t num = attribute_object(s, p, f, name, made ? TERM_nameop_create : TERM_nameop_seen, from);
		struct event ev = {.access = {.file = num,
		                              .mode = !write ? ACCESS_READ
		                                      : sure ? ACCESS_WRITE | ACCESS_TRUNC
		                                             : ACCESS_WRITE,
		                              .via = TERM_via_data,
		                              .sure = sure,
		                              .api = TERM_api_other}};
		struct use one = {.proc = p, .execn = p->execn, .dev = f->dev, .ino = f->ino, .gen = f->gen, .name = hash};
		one.write = write;
		one.first = from;
		one.seq = sup_event(s, EVENT_access, from, p, &ev);
		u = sure && s->xattrs->nuses < ENTRIES ? malloc(sizeof(*u)) : NULL;
		if (!u) {
			one.calls = 1;
			one.bytes = bytes;
			one.last = to;
			if (sure)
				end_attribute_use(s, &one); /* else it may have been: an access whose end says nothing */
			return;
		}
		*u = one;
		u->next = s->xattrs->uses;
		s->xattrs->uses = u;
		s->xattrs->nuses++;
	}
	u->calls++;
	u->bytes += bytes;
	u->last = to;
}

/* ---- values ---- */

/* The value's bytes, or -errno; its hash. */
static ssize_t read_attribute(struct sup *s, int fd, const char *name, uint64_t *ret_hash)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t n = getxattr(path, name, s->xattrs->value, VALUE_MAX_X);
	*ret_hash = n < 0 ? 0 : hash_bytes(s->xattrs->value, (size_t)n);
	return n < 0 ? -errno : n;
}

/* Has it happened? back: the call has returned. False: not to be told yet. */
static bool change_settle(struct sup *s, struct change *c, bool back)
{
	uint64_t now;
	int64_t to = sup_now(s);
	ssize_t n = read_attribute(s, c->fd, c->name, &now);
	bool there = n >= 0, done = c->remove ? !there : there && now == c->wanted;
	if (!done && !back)
		return false;
	if (c->remove) {
		if (done && c->was_there) {
			attribute_object(s, c->proc, c->file, c->name, TERM_nameop_unlink, c->time);
			uses_end(s, NULL, c->file, attribute_hash(c->name));
		}
	} else if (done) {
		emit_use(s, c->proc, c->file, c->name, true, !c->was_there, true, c->bytes, c->time, to);
	} else if (there != c->was_there || (there && now != c->was)) {
		emit_use(s, c->proc, c->file, c->name, true, !c->was_there, false, c->bytes, c->time, to);
	}
	close(c->fd);
	c->file->pins--;
	file_drop(s, c->file);
	free(c);
	return true;
}

/* Oldest first: those of a thread that is back, of a process that is over, or (f) of one file, as far as they show. */
static void settle_changes(struct sup *s, const struct proc *p, pid_t tid, const struct file *f)
{
	struct change *oldest = NULL, *c, **at = &s->xattrs->changes;
	while ((c = *at)) {
		if (f ? c->file != f : c->proc != p || (tid && c->tid != tid)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->next = oldest;
		oldest = c;
	}
	while ((c = oldest)) {
		oldest = c->next;
		if (!change_settle(s, c, !f)) {
			c->next = s->xattrs->changes;
			s->xattrs->changes = c;
		}
	}
}

void xattr_end(struct sup *s, struct proc *p)
{
	if (!s->xattrs)
		return;
	settle_changes(s, p, 0, NULL);
	uses_end(s, p, NULL, 0);
}

/* ---- calls ---- */

/* What a call is about to set. False: its value cannot be read, or is too long. */
static bool to_set(struct sup *s, const struct trap *t, struct change *c)
{
	bool set = t->call == CALL_setxattr || t->call == CALL_lsetxattr || t->call == CALL_fsetxattr;
	c->remove = !set;
	c->bytes = set ? t->args[3] : 0;
	uint64_t n = c->bytes;
	if (n > VALUE_MAX_X || (n && remote_read(t->tid, t->args[2], s->xattrs->value, n) != (ssize_t)n))
		return false;
	c->wanted = hash_bytes(s->xattrs->value, n);
	return true;
}

/* A read is told at once; what is to be set or removed waits until the call's result shows. */
static void handle_attribute_call(struct sup *s, struct proc *p, const struct trap *t, bool by_fd, bool follow,
                                  bool reads)
{
	char name[NAME_MAX_X];
	struct where w;
	struct statx st;
	struct rooted r = proc_rooted(p);
	struct left left;
	int rc = -ENOENT;
	where_none(&w);
	sup_leave(s, &left);
	/* Most that is asked for is the system's: security, access lists; or its size only. */
	bool wanted = remote_string(t->tid, t->args[1], name, sizeof(name)) >= 0 && !strncmp(name, "user.", 5) &&
	              (!reads || t->args[3]);
	if (wanted && by_fd)
		where_fd(t->tid, (int)t->args[0], &w);
	if (wanted && (by_fd || where_init(r, t->tid, AT_FDCWD, t->args[0], follow, &w) == 0))
		rc = where_look(&w, by_fd || follow, &st);
	if (!sup_back(s, &left) || rc < 0) {
		where_release(&w);
		return;
	}
	int fd = -1;
	struct file *f = NULL;
	if (S_ISREG(st.stx_mode)) {
		fd = openat(w.dirfd, w.path, O_PATH | O_CLOEXEC | (by_fd || follow ? 0 : O_NOFOLLOW));
		f = fd >= 0 ? file_get(s, &w, by_fd || follow, &st) : NULL;
	}
	where_release(&w);
	if (!f || f->kind != TERM_kind_regular)
		goto out;
	f->pins++;
	settle_changes(s, NULL, 0, f);
	int64_t now = sup_now(s);
	if (reads) {
		uint64_t hash;
		ssize_t n = read_attribute(s, fd, name, &hash);
		if (n >= 0 && (uint64_t)n <= t->args[3])
			emit_use(s, p, f, name, false, false, true, (uint64_t)n, now, now + 1);
	} else {
		struct change *c = calloc(1, sizeof(*c));
		if (c && to_set(s, t, c)) {
			memcpy(c->name, name, sizeof(name));
			c->was_there = read_attribute(s, fd, name, &c->was) >= 0;
			c->next = s->xattrs->changes;
			c->proc = p;
			c->tid = t->tid;
			c->fd = fd;
			c->file = f;
			c->time = now;
			s->xattrs->changes = c;
			return;
		}
		free(c);
	}
	f->pins--;
	file_drop(s, f);
out:
	if (fd >= 0)
		close(fd);
}

void xattr_trap(struct sup *s, struct proc *p, const struct trap *t)
{
	if (!s->xattrs)
		return;
	if (s->xattrs->changes)
		settle_changes(s, p, t->tid, NULL);
	switch (t->call) {
	case CALL_getxattr:
	case CALL_lgetxattr:
	case CALL_fgetxattr:
		handle_attribute_call(s, p, t, t->call == CALL_fgetxattr, t->call == CALL_getxattr, true);
		break;
	case CALL_setxattr:
	case CALL_removexattr:
		handle_attribute_call(s, p, t, false, true, false);
		break;
	case CALL_lsetxattr:
	case CALL_lremovexattr:
		handle_attribute_call(s, p, t, false, false, false);
		break;
	case CALL_fsetxattr:
	case CALL_fremovexattr:
		handle_attribute_call(s, p, t, true, true, false);
		break;
	default:
		break;
	}
}

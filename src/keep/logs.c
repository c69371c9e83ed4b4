#include "keep/logs.h"

#include "base/io.h"
#include "event/log_lease.h"
#include "event/log_place.h"
#include "keep/write.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 5000 /* for a run that is about to end */

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int keep_logs_oom(struct err *err)
{
	return err_set(err, ENOMEM, "cannot read the logs");
}

/* N.stl or N.M.stl, in a folder host/day: a slot. false: any other name; *ret is as it was, or holds a number without
 * use. */
static bool is_slot(const char *name, unsigned *ret)
{
	char *end;
	if (!isdigit((unsigned char)name[0]))
		return false;
	unsigned long n = strtoul(name, &end, 10);
	if (n > 1000000)
		return false;
	*ret = (unsigned)n;
	if (*end == '.' && isdigit((unsigned char)end[1]))
		strtoul(end + 1, &end, 10);
	return !strcmp(end, ".stl");
}

/* Adds a segment of the log. parts: the folders below logs; only a segment in host/day has a slot. -ENOMEM,
 * reported. */
static int append_keep_segment(struct keep_logs *l, const char *path, const char *const parts[], unsigned depth,
                               const char *name, const struct stat *st, struct err *err)
{
	uint32_t at;
	struct keep_segment *s = vec_add(&l->segments);
	if (!s)
		return keep_logs_oom(err);
	*s = (struct keep_segment){.path = strdup(path), .size = (uint64_t)st->st_size, .inode = st->st_ino};
	for (int i = 0; i < LOG_LEASE_PLACES; i++)
		s->lease[i] = -1;
	if (depth == 2 && is_slot(name, &s->slot)) {
		s->host = strdup(parts[0]);
		s->day = strdup(parts[1]);
	}
	if (!s->path || (depth == 2 && !s->host != !s->day) || collect_path(&l->w, path, &at) < 0)
		return keep_logs_oom(err);
	return 0;
}

static int walk_log_folder(struct keep_logs *l, const char *dir, const char *parts[], unsigned depth, struct err *err);

/* The name must have more than the end. */
static bool ends_so(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);
	return n > k && !strcmp(name + n - k, end);
}

/* What lies at path, which is called name: a segment is taken in, a folder is walked. What is neither, or vanished, is
 * 0. What a killed keeper left is removed, unless the store is shared. */
static int walk_log_entry(struct keep_logs *l, const char *path, const char *name, const char *parts[], unsigned depth,
                          struct err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode) && depth < 4) {
		parts[depth] = name;
		return walk_log_folder(l, path, parts, depth + 1, err);
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	if (ends_so(name, ".stl"))
		return append_keep_segment(l, path, parts, depth, name, &st, err);
	if (ends_so(name, ".stl.new") && !l->shared)
		unlink(path); /* a keeper was killed between two of its steps */
	return 0;
}

/* A folder that is not there is empty. -errno, reported. */
static int walk_log_folder(struct keep_logs *l, const char *dir, const char *parts[], unsigned depth, struct err *err)
{
	DIR *d = opendir(dir);
	if (!d)
		return errno == ENOENT ? 0 : err_set(err, errno, "cannot read the logs in '%s'", dir);
	int rc = 0;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		char *path;
		if (log_place_hidden(e->d_name, depth))
			continue;
		if (asprintf(&path, "%s/%s", dir, e->d_name) < 0) {
			rc = keep_logs_oom(err);
			break;
		}
		rc = walk_log_entry(l, path, e->d_name, parts, depth, err);
		free(path);
	}
	closedir(d);
	return rc;
}

/* Compares two sessions in the order in which they were written, so that a segment is read through once. */
static int session_cmp(const void *pa, const void *pb)
{
	const struct keep_session *a = pa, *b = pb;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Sorts the frames of l by session; sessions hold a range of them. -ENOMEM, reported. */
static int find_keep_sessions(struct keep_logs *l, struct err *err)
{
	const struct collect_frame *v = l->w.frames.v;
	if (l->w.frames.n)
		qsort(l->w.frames.v, l->w.frames.n, sizeof(*l->w.frames.v), collect_compare_frames);
	for (size_t i = 0, k; i < l->w.frames.n; i = k) {
		struct keep_session *s = vec_add(&l->sessions);
		if (!s)
			return keep_logs_oom(err);
		*s = (struct keep_session){.number = v[i].session, .first = i, .segment = v[i].segment, .offset = v[i].offset};
		for (k = i; k < l->w.frames.n && v[k].session == v[i].session; k++)
			s->bytes += v[k].end - v[k].offset;
		s->n = k - i;
	}
	if (l->sessions.n)
		qsort(l->sessions.v, l->sessions.n, sizeof(*l->sessions.v), session_cmp);
	return 0;
}

int keep_logs_open(const char *home, struct err *err, struct keep_logs **ret)
{
	struct keep_logs *l = calloc(1, sizeof(*l));
	const char *parts[8] = {0};
	char *logs = NULL;
	int rc = 0;
	if (!l)
		return keep_logs_oom(err);
	l->lock = -1;
	l->wait_ms = WAIT_MS;
	l->home = realpath(home, NULL);
	if (!l->home || asprintf(&logs, "%s/logs", l->home) < 0) {
		rc = err_set(err, l->home ? ENOMEM : errno, "cannot open the record '%s'", home);
		logs = NULL;
		goto out;
	}
	int dir = open(logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		rc = err_set(err, errno, "cannot open '%s'", logs);
		goto out;
	}
	l->shared = !io_is_local(dir);
	close(dir);
	rc = log_lease_slot(l->home, "", "keeping", 0, WAIT_MS, &l->lock);
	if (rc < 0) {
		rc = err_set(err, rc == -EWOULDBLOCK ? 0 : -rc, "another stemma forget or gc is at work on '%s'", l->home);
		rc = rc == 0 ? -EBUSY : rc;
		goto out;
	}
	rc = walk_log_folder(l, logs, parts, 0, err);
	for (uint32_t i = 0; rc == 0 && i < l->segments.n; i++) {
		uint64_t end;
		rc = collect_scan(&l->w, i, 0, UINT64_MAX, err, &end);
	}
	if (rc == 0)
		rc = find_keep_sessions(l, err);
out:
	free(logs);
	if (rc < 0)
		keep_logs_close(l);
	else
		*ret = l;
	return rc;
}

void keep_logs_patience(struct keep_logs *l, unsigned ms)
{
	l->wait_ms = ms;
}

/* NULL is no error. Others may change the segments again. */
void keep_logs_close(struct keep_logs *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->segments.n; i++) {
		struct keep_segment *s = &l->segments.v[i];
		free(s->path);
		free(s->host);
		free(s->day);
		for (unsigned k = 0; k < LOG_LEASE_PLACES; k++)
			if (s->lease[k] >= 0)
				close(s->lease[k]);
	}
	if (l->lock >= 0)
		close(l->lock);
	log_reader_close(l->reader);
	vec_release(&l->segments);
	vec_release(&l->sessions);
	collect_release(&l->w);
	free(l->home);
	free(l);
}

/* The reader stands behind the frame, whose events are to be read. -EBUSY, reported: something else stands there by
 * now. */
static int read_keep_frame(struct keep_logs *l, const struct collect_frame *f, struct err *err)
{
	struct log_frame_info info;
	const char *path = l->segments.v[f->segment].path;
	if (!l->reader || l->open_at != f->segment) {
		log_reader_close(l->reader);
		l->reader = NULL;
		int rc = log_reader_open(path, err, &l->reader);
		l->open_at = f->segment;
		if (rc < 0)
			return rc;
	}
	log_reader_seek(l->reader, f->offset);
	int rc = log_reader_frame(l->reader, &info);
	if (rc <= 0 || info.offset != f->offset || info.session != f->session)
		return err_set(err, rc < 0 ? -rc : EBUSY, "'%s' changed while it was read", path);
	return 0;
}

int keep_logs_events(struct keep_logs *l, const struct keep_session *s, struct err *err,
                     int (*say)(void *arg, const struct event *ev), void *arg)
{
	uint64_t seq = 0;
	int rc = 0;
	for (size_t i = s->first; rc == 0 && i < s->first + s->n; i++) {
		const struct collect_frame *f = &l->w.frames.v[i];
		struct event ev;
		if (f->count && f->seq + f->count - 1 <= seq)
			continue; /* met already */
		rc = read_keep_frame(l, f, err);
		while (rc == 0 && log_reader_event(l->reader, &ev) == 1)
			if (ev.seq > seq) {
				seq = ev.seq;
				rc = say(arg, &ev);
			}
	}
	return rc;
}

/* Two segments of one slot have one lease. */
static bool is_slot_held(const struct keep_logs *l, const struct keep_segment *s)
{
	for (size_t i = 0; i < l->segments.n; i++) {
		const struct keep_segment *o = &l->segments.v[i];
		if (o != s && o->host && o->lease[0] >= 0 && o->slot == s->slot && !strcmp(o->host, s->host) &&
		    !strcmp(o->day, s->day))
			return true;
	}
	return false;
}

/* Leases the slot that writers of the segment lease. 0 also where it is held already. -EBUSY, reported with a hint: a
 * run writes to it, or may on another host. */
static int hold_slot(struct keep_logs *l, struct keep_segment *s, struct err *err)
{
	char host[256];
	keep_host(host, sizeof(host));
	if (l->shared && strcmp(host, s->host) != 0) {
		err_set(err, 0, "'%s' is written on the host %s, and only that host knows whether a run writes to it now",
		        s->path, s->host);
		err_hint(err, "run the command on %s", s->host);
		return -EBUSY;
	}
	if (is_slot_held(l, s))
		return 0;
	int rc = log_lease_hold(l->home, s->host, s->day, s->slot, l->wait_ms, s->lease);
	if (rc == -EWOULDBLOCK) {
		err_set(err, 0, "a run is being recorded into '%s'", s->path);
		err_hint(err, "try again when it, and what it left running, has ended");
		return -EBUSY;
	}
	return rc < 0 ? err_set(err, -rc, "cannot lease the slot of '%s'", s->path) : 0;
}

int keep_logs_hold(struct keep_logs *l, struct keep_segment *s, struct err *err)
{
	struct stat st;
	int rc = s->host && s->lease[0] < 0 ? hold_slot(l, s, err) : 0;
	if (rc < 0)
		return rc;
	if (stat(s->path, &st) < 0 || (uint64_t)st.st_size != s->size || st.st_ino != s->inode) {
		err_set(err, 0, "'%s' has changed since it was read", s->path);
		return -EAGAIN;
	}
	return 0;
}

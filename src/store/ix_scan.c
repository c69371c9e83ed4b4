/* ix_scan.c - what is new in the logs: segments that have grown, and all frames of the sessions that they tell of. */
#include "event/log_place.h"
#include "store/index.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int load_segments(struct ix *x)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_segment_all, x->err);
	if (!st)
		return -EIO;
	int rc;
	while ((rc = store_step(x->s, st, x->err)) == 1) {
		struct str path = column_str(st, 1);
		struct ix_segment *s = vec_add(&x->segments);
		if (!s) {
			rc = ix_oom(x);
			break;
		}
		uint64_t done = (uint64_t)sqlite3_column_int64(st, 2);
		*s = (struct ix_segment){
		    .id = (uint64_t)sqlite3_column_int64(st, 0), .path = strndup(path.p, path.n), .done = done, .from = done};
		if (!s->path) {
			rc = ix_oom(x);
			break;
		}
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* Below home/logs by its path there, else by the path given. */
static int full_path(const struct ix *x, const char *path, char *out, size_t size)
{
	int n = path[0] == '/' ? snprintf(out, size, "%s", path) : snprintf(out, size, "%s/logs/%s", x->s->home, path);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int segment_cmp(const void *pa, const void *pb)
{
	const struct ix_segment *a = pa, *b = pb;
	return strcmp(a->path, b->path);
}

static int add_segment(struct ix *x, const char *path, size_t known, uint64_t size)
{
	size_t lo = 0, hi = known; /* those that were known are sorted */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (strcmp(x->segments.v[mid].path, path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < known && !strcmp(x->segments.v[lo].path, path)) {
		if (size < x->segments.v[lo].done) /* not the file it was */
			x->segments.v[lo].done = x->segments.v[lo].from = 0;
		x->segments.v[lo].changed = size != x->segments.v[lo].done;
		return 0;
	}
	struct ix_segment *s = vec_add(&x->segments);
	if (!s)
		return ix_oom(x);
	*s = (struct ix_segment){.path = strdup(path), .changed = true, .is_new = true};
	return s->path ? 0 : ix_oom(x);
}

/* Finds the segments below logs: <host>/<day>/<slot>.stl, of any depth up to 4. */
static int walk(struct ix *x, const char *below, unsigned depth, size_t known)
{
	char dir[4096], path[4096], full[4096];
	if (full_path(x, below, dir, sizeof(dir)) < 0)
		return 0;
	DIR *d = opendir(dir);
	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_set(x->err, errno, "cannot read the logs in '%s'", dir);
	int rc = 0;
	struct dirent *e;
	while (rc == 0 && (e = readdir(d))) {
		if (log_place_hidden(e->d_name, depth))
			continue;
		if (snprintf(path, sizeof(path), "%s%s%s", below, below[0] ? "/" : "", e->d_name) >= (int)sizeof(path) ||
		    full_path(x, path, full, sizeof(full)) < 0)
			continue;
		size_t n = strlen(e->d_name);
		struct stat st;
		if (stat(full, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			rc = depth < 4 ? walk(x, path, depth + 1, known) : 0;
		else if (S_ISREG(st.st_mode) && n > 4 && !strcmp(e->d_name + n - 4, ".stl"))
			rc = add_segment(x, path, known, (uint64_t)st.st_size);
	}
	closedir(d);
	return rc;
}

int ix_session_info(struct ix *x, struct str info, struct gsession *g, struct ix_session *ret)
{
	struct cur c = cur_of(info);
	uint64_t host = cur_u(&c), boot = cur_u(&c);
	if (g) {
		uint32_t hw = words_add(&x->g.words, store_word(x->s, host));
		uint32_t bw = words_add(&x->g.words, store_word(x->s, boot));
		if (hw == VEC_NONE || bw == VEC_NONE)
			return ix_oom(x);
		g->host = graph_host(&x->g, hw, bw);
		if (g->host == VEC_NONE)
			return ix_oom(x);
	}
	for (int i = 0; i < 5; i++) /* pidns, run, tool, mode, last */
		cur_u(&c);
	bool holes = cur_u(&c) & 2;
	if (ret)
		ret->holes = holes;
	cur_z(&c); /* began */
	uint64_t n = cur_u(&c), v = 0;
	for (; ret && n && !c.bad; n--) {
		struct ix_place *p = vec_add(&ret->places);
		if (!p)
			return ix_oom(x);
		p->segment = cur_u(&c);
		p->from = cur_u(&c);
		p->to = p->from + cur_u(&c);
	}
	for (int list = 0; ret && list < 2; list++) {
		struct ids *ids = list ? &ret->paths : &ret->processes;
		n = cur_u(&c);
		for (v = 0; n && !c.bad; n--)
			if (ids_add(ids, v += cur_u(&c)) < 0)
				return ix_oom(x);
	}
	return c.bad ? -ENOTRECOVERABLE : 0;
}

/* Was every frame found in [from, ..) of the session known before? Then nothing is new in it. */
static int known_session(struct ix *x, uint64_t number, uint64_t last_seq, bool *ret)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_session_by_number, x->err);
	if (!st)
		return -EIO;
	*ret = false;
	sqlite3_bind_int64(st, 1, (int64_t)number);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 1));
		for (int i = 0; i < 6; i++)
			cur_u(&c);
		uint64_t last = cur_u(&c), flags = cur_u(&c);
		*ret = !c.bad && !(flags & 2) && last_seq <= last;
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

static int frame_cmp(const void *pa, const void *pb)
{
	const struct gather_frame *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Takes out the frames of sessions that are known already, adds the places where the others were met before. */
static int whole_sessions(struct ix *x)
{
	size_t kept = 0;
	tombs_filter(x->tombs, &x->w);
	if (x->w.frames.n)
		qsort(x->w.frames.v, x->w.frames.n, sizeof(*x->w.frames.v), frame_cmp);
	size_t n = x->w.frames.n;
	VEC(struct ix_place) old = {0}; /* segment: index in the gather */
	int rc = 0;
	for (size_t i = 0, k; rc == 0 && i < n; i = k) {
		uint64_t session = x->w.frames.v[i].session, last = 0;
		for (k = i; k < n && x->w.frames.v[k].session == session; k++) {
			const struct gather_frame *f = &x->w.frames.v[k];
			if (f->count && f->seq + f->count - 1 > last)
				last = f->seq + f->count - 1;
		}
		bool known = false;
		if (!x->fresh)
			rc = known_session(x, session, last, &known);
		if (rc < 0 || known)
			continue;
		memmove(&x->w.frames.v[kept], &x->w.frames.v[i], (k - i) * sizeof(*x->w.frames.v));
		kept += k - i;
		if (x->fresh)
			continue;
		sqlite3_stmt *st = store_stmt(x->s, SQL_session_by_number, x->err);
		if (!st) {
			rc = -EIO;
			break;
		}
		sqlite3_bind_int64(st, 1, (int64_t)session);
		struct ix_session info = {0};
		rc = store_step(x->s, st, x->err);
		if (rc == 1)
			rc = ix_session_info(x, column_str(st, 1), NULL, &info);
		sqlite3_reset(st);
		for (size_t p = 0; rc == 0 && p < info.places.n; p++) {
			struct ix_place *slot = vec_add(&old);
			if (slot)
				*slot = info.places.v[p];
			else
				rc = ix_oom(x);
		}
		vec_release(&info.places);
		vec_release(&info.processes);
		vec_release(&info.paths);
	}
	x->w.frames.n = kept;
	for (size_t p = 0; rc == 0 && p < old.n; p++)
		for (uint32_t i = 0; i < x->segments.n; i++) {
			if (x->segments.v[i].id != old.v[p].segment)
				continue;
			struct err gone = {0}; /* a segment that was taken away */
			rc = gather_scan(&x->w, i, old.v[p].from, old.v[p].to, &gone, NULL);
			if (rc < 0 && rc != -ENOMEM)
				rc = 0;
			break;
		}
	vec_release(&old);
	tombs_filter(x->tombs, &x->w); /* what lies between those */
	return rc;
}

int ix_scan(struct ix *x)
{
	int rc = load_segments(x);
	if (rc < 0)
		return rc;
	if (x->segments.n)
		qsort(x->segments.v, x->segments.n, sizeof(*x->segments.v), segment_cmp);
	size_t known = x->segments.n;
	if (x->o->only_segment) {
		struct stat st;
		if (stat(x->o->only_segment, &st) < 0)
			return err_set(x->err, errno, "cannot open '%s'", x->o->only_segment);
		char *path = realpath(x->o->only_segment, NULL), logs[4096];
		int n = snprintf(logs, sizeof(logs), "%s/logs/", x->s->home);
		bool below = path && n > 0 && (size_t)n < sizeof(logs) && !strncmp(path, logs, (size_t)n);
		rc = path ? add_segment(x, below ? path + n : path, known, (uint64_t)st.st_size) : -errno;
		free(path);
	} else {
		rc = walk(x, "", 0, known);
	}
	if (rc < 0)
		return rc;
	if (x->segments.n > known)
		qsort(x->segments.v + known, x->segments.n - known, sizeof(*x->segments.v), segment_cmp);
	for (size_t i = 0; i < x->segments.n; i++) {
		struct ix_segment *s = &x->segments.v[i];
		if (!s->id)
			s->id = x->next_segment++;
		char full[4096];
		uint32_t at;
		if (full_path(x, s->path, full, sizeof(full)) < 0)
			full[0] = '\0';
		if (gather_path(&x->w, full, &at) < 0)
			return ix_oom(x);
		if (!s->changed)
			continue;
		x->stats.segments++;
		struct err unread = {0};
		rc = gather_scan(&x->w, at, s->done, UINT64_MAX, &unread, &s->done);
		if (rc == -ENOENT || rc == -EACCES)
			s->changed = false; /* taken away meanwhile, or another user's */
		else if (rc < 0)
			return err_set(x->err, 0, "%s", unread.text), rc;
	}
	x->stats.frames = x->w.frames.n;
	x->stats.skipped_bytes = x->w.damage.skipped;
	x->stats.torn_bytes = x->w.damage.torn;
	x->stats.newer_frames = x->w.damage.newer;
	rc = whole_sessions(x);
	if (rc < 0)
		return rc;
	bool moved = false;
	for (size_t i = 0; i < x->segments.n; i++)
		moved |= x->segments.v[i].changed && x->segments.v[i].done != x->segments.v[i].from;
	return x->w.frames.n || moved || ix_damage_is_new(x);
}

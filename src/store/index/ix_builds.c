/* ix_builds.c - the rows of builds, one for each compiler's command. They belong to a session, and go when it is read
 * again. A row's pack: the parts that builds.c reads, in its order. */
#include "store/index/index.h"
#include "store/read.h"

#include "base/hash.h"

#include <errno.h>

/* Deletes the session's rows, before it is written anew. 0, or -errno with a sentence. */
static int clear_session_rows(struct ix *x, enum store_sql what, uint64_t session)
{
	sqlite3_stmt *st = store_stmt(x->s, what, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	return store_run_stmt(x->s, st, x->err);
}

/* A word of the dictionary: what many builds share. */
static void append_interned_or_none(struct ix *x, struct buf *out, struct str s)
{
	uint32_t word = intern_add(&x->g.words, s);
	uint64_t id = 0;
	if (s.n && (word == VEC_NONE || ix_interned(x, word, &id) < 0))
		out->failed = true;
	buf_varint(out, s.n ? id : 0);
}

/* Length, then bytes. */
static void append_build_string(struct buf *out, struct str s)
{
	buf_varint(out, s.n);
	buf_str(out, s);
}

/* Appends a list of texts as a decoded list has it: the number, and the bytes of all. */
static void append_build_list(struct buf *out, const struct strlist *l)
{
	buf_varint(out, l->count);
	append_build_string(out, l->raw);
}

/* Decodes an event of a build. False: the bytes are no event. ret points into the words of the graph. */
static bool decode_build_event(struct ix *x, const struct gbuild *g, struct event *ret)
{
	struct str bytes = intern_get(&x->g.words, g->bytes);
	const unsigned char *p = (const unsigned char *)bytes.p;
	return event_decode(&p, p + bytes.n, 0, ret) == 0;
}

/* Appends the build as the store has it. */
static void put_build(struct ix *x, struct buf *out, const struct gbuild *g, const struct event *ev)
{
	const struct event_build *b = &ev->build;
	buf_varint(out, g->key.seq);
	buf_zigzag(out, g->key.time);
	buf_varint(out, b->pid);
	buf_varint(out, b->started);
	append_build_list(out, &b->argv);
	append_build_list(out, &b->args);
	append_build_list(out, &b->gaps);
	buf_varint(out, b->uid);
	buf_zigzag(out, b->began);
	buf_varint(out, b->ending);
	buf_varint(out, b->code);
	buf_varint(out, b->tree);
	buf_varint(out, b->files);
	append_build_string(out, b->note);
	append_interned_or_none(x, out, b->cwd);
	append_interned_or_none(x, out, b->compiler);
	append_interned_or_none(x, out, b->version);
	append_interned_or_none(x, out, b->target);
	append_interned_or_none(x, out, b->user);
	append_interned_or_none(x, out, b->commit);
	buf_varint(out, b->env.count);
	append_interned_or_none(x, out, b->env.raw);
}

/* Appends what is known of a file of a build. */
static void append_build_file(struct ix *x, struct buf *out, const struct event_build_file *f)
{
	buf_varint(out, f->role);
	buf_varint(out, f->size);
	buf_zigzag(out, f->mtime);
	append_interned_or_none(x, out, f->path);
	append_interned_or_none(x, out, f->digest);
	append_interned_or_none(x, out, f->id);
	append_interned_or_none(x, out, f->detail);
}

/* What it made is found by what it is. Does nothing for an empty s. 0, -errno. */
static int put_key(struct ix *x, char kind, struct str s, uint64_t build)
{
	sqlite3_stmt *st = s.n ? store_stmt(x->s, SQL_build_key_put, x->err) : NULL;
	if (!s.n)
		return 0;
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)build_key(kind, s));
	sqlite3_bind_int64(st, 2, (int64_t)build);
	return store_run_stmt(x->s, st, x->err);
}

/* Files the build's row under what it is: its note, and of each thing that it made, in v[0..n), digest, build-id, and
 * size with time. 0, -errno. */
static int put_build_keys(struct ix *x, const struct gbuild *build, const struct gbuild *v, size_t n, uint64_t row)
{
	struct event ev;
	int rc = decode_build_event(x, build, &ev) ? put_key(x, 'n', ev.build.note, row) : 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		uint64_t stamp[2];
		if (!decode_build_event(x, &v[i], &ev) || ev.build_file.role != TERM_role_output)
			continue;
		rc = put_key(x, 'd', ev.build_file.digest, row);
		if (rc == 0)
			rc = put_key(x, 'i', ev.build_file.id, row);
		if (rc == 0 && ev.build_file.mtime != TIME_NONE)
			rc = put_key(x, 'm', build_stamp(stamp, ev.build_file.size, ev.build_file.mtime), row);
	}
	return rc;
}

/* A build and the files behind it, v[0..n), packed. */
static void pack_build(struct ix *x, const struct gbuild *g, const struct event *build, const struct gbuild *v,
                       size_t n, struct buf *out)
{
	struct buf files = {0};
	struct event ev;
	size_t readable = 0;
	put_build(x, out, g, build);
	for (size_t i = 0; i < n; i++)
		if (decode_build_event(x, &v[i], &ev)) {
			append_build_file(x, &files, &ev.build_file);
			readable++;
		}
	buf_varint(out, readable);
	buf_str(out, buf_view(&files));
	out->failed |= files.failed;
	buf_release(&files);
}

/* The build at *i and the files behind it; *i moves past them. 0, -errno. */
static int write_build(struct ix *x, size_t *i)
{
	const struct gbuild *g = &x->g.builds.v[(*i)++], *files = g + 1;
	struct buf out = {0}, *identity = &x->b1;
	struct event ev;
	size_t n = 0;
	if (g->file || !decode_build_event(x, g, &ev)) { /* its build is missing: a log with a hole */
		x->stats.unknown_refs++;
		return 0;
	}
	while (*i + n < x->g.builds.n && files[n].file && files[n].session == g->session)
		n++;
	*i += n;
	pack_build(x, g, &ev, files, n, &out);
	buf_reset(identity);
	identity_build(identity, x->g.sessions.v[g->session].number, g->key.seq);
	sqlite3_stmt *st = store_stmt(x->s, SQL_build_put, x->err);
	int rc = !st || out.failed || identity->failed ? ix_oom(x) : 0;
	if (rc == 0) {
		sqlite3_bind_int64(st, 1, (int64_t)x->sessions.v[g->session].id);
		sqlite3_bind_int64(st, 2, (int64_t)(identity_hash(identity).hi >> 1));
		bind_str(st, 3, buf_view(&out));
		rc = store_run_stmt(x->s, st, x->err);
	}
	if (rc == 0)
		rc = put_build_keys(x, g, files, n, (uint64_t)sqlite3_last_insert_rowid(x->s->db));
	buf_release(&out);
	return rc;
}

/* 0, or -errno with a sentence. Sessions that are read anew lose their rows first; so in calls, reported and summaries.
 */
int ix_write_builds(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->n_new; i++)
		if (x->sessions.v[i].reloaded) {
			rc = clear_session_rows(x, SQL_build_key_clear, x->sessions.v[i].id);
			if (rc == 0)
				rc = clear_session_rows(x, SQL_build_clear, x->sessions.v[i].id);
		}
	for (size_t i = 0; rc == 0 && i < x->g.builds.n;)
		rc = write_build(x, &i);
	return rc;
}

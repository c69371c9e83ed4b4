/* builds.c - compilers' commands: the rows that ix_builds.c writes. */
#include "store/read.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

uint64_t build_key(char kind, struct str s)
{
	return hash_more((unsigned char)kind, s.p, s.n);
}

struct str build_stamp(uint64_t room[2], uint64_t size, int64_t mtime)
{
	room[0] = size;
	room[1] = (uint64_t)mtime;
	return str_n((const char *)room, 2 * sizeof(*room));
}

/* Points into the row. */
static struct strlist read_build_list(struct cur *c)
{
	struct strlist l = {.count = cur_u(c)};
	l.raw = cur_str(c);
	return l;
}

/* Words are copied: the cache of words may give their room to others. Until all are there a copy is known by its
 * place. */
struct text_copies {
	struct buf bytes;
};

/* Copies the interned text; *ret holds an offset in w until resolve_text. */
static void intern_text_append(struct store *s, struct text_copies *w, uint64_t id, struct str *ret)
{
	struct str text = id ? store_interned(s, id) : str_n("", 0);
	*ret = str_n((const char *)w->bytes.n, text.n);
	buf_str(&w->bytes, text);
}

/* The offset becomes a pointer, when no more text is appended. */
static void resolve_text(const struct text_copies *w, struct str *s)
{
	s->p = s->n ? w->bytes.p + (size_t)s->p : "";
}

struct given {
	struct buf pack; /* a copy of the row: the statement is over before anybody looks */
	struct text_copies words;
	VEC(struct store_build_file) files;
};

/* The texts of a build that are words: they are copied together, and made into strings when all are there. */
static unsigned build_words(struct store_build *b, struct str *ret[8])
{
	struct str *const all[] = {&b->cwd,  &b->compiler, &b->version, &b->target,
	                           &b->user, &b->commit,   &b->env.raw, &b->host};
	memcpy(ret, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

/* The files of a build, behind all else in its row. 0, -ENOMEM; c->bad: it is cut off. */
static int read_build_files(struct store *s, struct cur *c, struct given *g)
{
	for (uint64_t n = cur_u(c); n && !c->bad; n--) {
		struct store_build_file *f = vec_add(&g->files);
		if (!f)
			return -ENOMEM;
		*f = (struct store_build_file){.role = (unsigned)cur_u(c)};
		f->size = cur_u(c);
		f->mtime = cur_z(c);
		intern_text_append(s, &g->words, cur_u(c), &f->path);
		intern_text_append(s, &g->words, cur_u(c), &f->digest);
		intern_text_append(s, &g->words, cur_u(c), &f->build_id);
		intern_text_append(s, &g->words, cur_u(c), &f->detail);
	}
	return 0;
}

/* Makes the copied texts, which do not move any more, into strings. */
static void resolve_build_texts(struct given *g, struct store_build *b)
{
	struct str *word[8];
	unsigned n = build_words(b, word);
	for (unsigned i = 0; i < n; i++)
		resolve_text(&g->words, word[i]);
	for (size_t i = 0; i < g->files.n; i++) {
		struct store_build_file *f = &g->files.v[i];
		resolve_text(&g->words, &f->path);
		resolve_text(&g->words, &f->digest);
		resolve_text(&g->words, &f->build_id);
		resolve_text(&g->words, &f->detail);
	}
}

/* The public ids of the build and of the execution that was its command. */
static void set_build_ids(struct store *s, const struct ssession *session, struct store_build *b)
{
	struct buf id = {0};
	identity_build(&id, b->session, b->seq);
	identity_text('b', identity_hash(&id), &b->pub);
	if (session && b->pid) {
		char room[64];
		struct str boot = store_interned(s, session->boot);
		size_t n = boot.n < sizeof(room) ? boot.n : sizeof(room);
		memcpy(room, boot.p, n);
		buf_reset(&id);
		/* A wrapper is the first program of its process after the fork that made it. */
		identity_exec(&id, str_n(room, n), session->pidns, b->pid, (int64_t)b->started, 1);
		identity_text('x', identity_hash(&id), &b->exec);
	}
	buf_release(&id);
}

/* ret points into g, which given_release frees. 0 or -errno. */
static int decode_build_row(struct store *s, sqlite3_stmt *st, struct given *g, struct store_build *ret)
{
	buf_reset(&g->pack);
	buf_str(&g->pack, column_str(st, 2));
	struct cur c = cur_of(buf_view(&g->pack));
	const struct ssession *session = store_session(s, (uint64_t)sqlite3_column_int64(st, 1));
	struct store_build b = {.id = (uint64_t)sqlite3_column_int64(st, 0), .session = session ? session->number : 0};
	struct str *word[8];
	build_words(&b, word);
	g->words.bytes.n = g->files.n = 0;
	b.seq = cur_u(&c);
	b.time = cur_z(&c);
	b.pid = cur_u(&c);
	b.started = cur_u(&c);
	b.argv = read_build_list(&c);
	b.args = read_build_list(&c);
	b.gaps = read_build_list(&c);
	b.uid = cur_u(&c);
	b.began = cur_z(&c);
	b.ending = cur_u(&c);
	b.code = cur_u(&c);
	b.tree = cur_u(&c);
	b.expected = cur_u(&c);
	b.note = cur_str(&c);
	for (unsigned i = 0; i < 6; i++) /* those before the environment */
		intern_text_append(s, &g->words, cur_u(&c), word[i]);
	b.env.count = cur_u(&c);
	intern_text_append(s, &g->words, cur_u(&c), &b.env.raw);
	intern_text_append(s, &g->words, session ? session->host : 0, &b.host);
	if (read_build_files(s, &c, g) < 0)
		return -ENOMEM;
	if (c.bad || g->words.bytes.failed || g->pack.failed)
		return c.bad && !g->pack.failed ? -ENOTRECOVERABLE : -ENOMEM;
	resolve_build_texts(g, &b);
	b.files = g->files.v;
	b.nfiles = g->files.n;
	set_build_ids(s, session, &b);
	*ret = b;
	return 0;
}

static void given_release(struct given *g)
{
	buf_release(&g->pack);
	buf_release(&g->words.bytes);
	vec_release(&g->files);
}

int store_build(struct store *s, store_id id, int (*each)(void *arg, const struct store_build *), void *arg)
{
	struct given g = {0};
	struct store_build b;
	sqlite3_stmt *st = store_stmt(s, SQL_build_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	int rc = store_step(s, st, NULL);
	if (rc == 1)
		rc = decode_build_row(s, st, &g, &b);
	else if (rc == 0)
		rc = -ENOENT;
	sqlite3_reset(st); /* each may ask for others */
	if (rc == 0)
		rc = each(arg, &b);
	given_release(&g);
	return rc == -ENOENT ? 0 : rc;
}

int store_builds(struct store *s, store_id **ret, size_t *ret_n)
{
	struct ids v = {0};
	sqlite3_stmt *st = store_stmt(s, SQL_build_all, NULL);
	if (!st)
		return -EIO;
	int rc = store_column(s, st, &v);
	if (rc < 0) {
		free(v.v);
		return rc;
	}
	*ret = v.v;
	*ret_n = v.n;
	return 0;
}

/* Adds the ids of rows whose key has this hash: some may be of another text. 0 or -errno. */
static int find_by_key(struct store *s, char kind, struct str what, struct ids *out)
{
	sqlite3_stmt *st = store_stmt(s, SQL_build_by_key, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)build_key(kind, what));
	return store_column(s, st, out);
}

int store_builds_of(struct store *s, struct str digest, struct str build_id, struct str note, store_id **ret,
                    size_t *ret_n)
{
	struct ids found = {0};
	int rc = build_id.n ? find_by_key(s, 'i', build_id, &found) : 0;
	if (rc == 0 && digest.n)
		rc = find_by_key(s, 'd', digest, &found);
	if (rc == 0 && note.n)
		rc = find_by_key(s, 'n', note, &found);
	if (rc < 0) {
		free(found.v);
		return rc;
	}
	ids_sort(&found);
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}

int store_builds_stamped(struct store *s, uint64_t size, int64_t mtime, store_id **ret, size_t *ret_n)
{
	struct ids found = {0};
	uint64_t stamp[2];
	int rc = find_by_key(s, 'm', build_stamp(stamp, size, mtime), &found);
	if (rc < 0) {
		free(found.v);
		return rc;
	}
	ids_sort(&found);
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}

/* Copies the public id of a build. arg: a struct pubid, which gets the build's. Always 0. */
static int take_pub(void *arg, const struct store_build *b)
{
	*(struct pubid *)arg = b->pub;
	return 0;
}

/* The builds whose hashes begin with the n digits, appended. 0, -errno. */
static int builds_by_digits(struct store *s, const char *digits, size_t n, struct ids *out)
{
	char lo[17] = "0000000000000000", hi[17] = "ffffffffffffffff";
	memcpy(lo, digits, n < 16 ? n : 16);
	memcpy(hi, digits, n < 16 ? n : 16);
	sqlite3_stmt *st = store_stmt(s, SQL_build_by_pub, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)(strtoull(lo, NULL, 16) >> 1));
	sqlite3_bind_int64(st, 2, (int64_t)(strtoull(hi, NULL, 16) >> 1));
	return store_column(s, st, out);
}

int store_build_by_pubid(struct store *s, const char *text, store_id *ret)
{
	size_t n = text[0] == 'b' ? strlen(text + 1) : 0;
	if (n < 4 || n > 24 || strspn(text + 1, "0123456789abcdef") != n)
		return 0;
	struct ids found = {0};
	int rc = builds_by_digits(s, text + 1, n, &found), hits = 0;
	for (size_t i = 0; rc == 0 && i < found.n; i++) {
		struct pubid p;
		rc = store_build(s, found.v[i], take_pub, &p);
		if (rc == 0 && strncmp(p.text, text, n + 1) == 0 && hits++ == 0)
			*ret = found.v[i];
	}
	free(found.v);
	return rc < 0 ? rc : hits > 1 ? -ENOTUNIQ : hits;
}

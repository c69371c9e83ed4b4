/* notes.c - what people wrote about runs and files. A session's row holds its notes; LIST_NOTE says which sessions to
 * look into. */
#include "store/read.h"

#include <errno.h>
#include <stdlib.h>

struct note_row {
	struct note_info info;
	uint64_t session, seq;
	size_t text, ntext, user, nuser, host, nhost; /* places */
};
struct note_list {
	VEC(struct note_row) v;
	struct buf text;
};

/* Its offset in l->text, which moves. */
static size_t copy_note_text(struct note_list *l, struct str s, size_t *ret_n)
{
	size_t at = l->text.n;
	buf_str(&l->text, s);
	*ret_n = s.n;
	return at;
}

/* n of the version with that public id, or of the one that was current at t; 0 if there is none. */
static int note_version_at(struct store *s, store_id file, const char *pub, int64_t t, uint64_t *ret)
{
	store_id id = 0;
	char kind = 0;
	*ret = 0;
	if (*pub) {
		int rc = store_by_pubid(s, pub, &kind, &id);
		if (rc == 1 && kind == 'v' && version_file(id) == file)
			*ret = version_n(id);
		return rc < 0 && rc != -ENOTUNIQ ? rc : 0;
	}
	int rc = store_version_of(s, file, 0, &id);
	if (rc <= 0)
		return rc;
	for (uint64_t n = version_n(id); n; n--) {
		struct version_info v;
		rc = store_version(s, version_id(file, n), &v);
		if (rc < 0)
			return rc;
		/* What was there from before has no beginning. */
		if (rc == 1 && (v.start == TIME_NONE || v.start <= t)) {
			*ret = n;
			return 0;
		}
	}
	return 0;
}

/* A note as its session's row has it. text, version, user: words. */
struct packed_note {
	struct note_row row;
	uint64_t text, version, user;
};

/* Damage stays in c->bad; text, version and user are numbers of interned texts. */
static struct packed_note unpack_note(struct store *s, struct cur *c)
{
	struct packed_note n = {0};
	n.row.info.time = time_add(s->base, cur_z(c));
	n.row.seq = cur_u(c);
	n.row.info.run = cur_u(c);
	n.row.info.file = cur_u(c);
	n.text = cur_u(c);
	n.version = cur_u(c);
	n.user = cur_u(c);
	return n;
}

/* Adds the note, with its words, to the list. 0, -ENOMEM, -errno. */
static int add_note(struct store *s, struct packed_note *n, uint64_t host, struct note_list *l)
{
	struct str pub = store_interned(s, n->version);
	char pub_text[32] = "";
	int rc = 0;
	if (pub.n < sizeof(pub_text) && pub.n)
		memcpy(pub_text, pub.p, pub.n);
	if (n->row.info.file)
		rc = note_version_at(s, n->row.info.file, pub_text, n->row.info.time, &n->row.info.version);
	n->row.text = copy_note_text(l, store_interned(s, n->text), &n->row.ntext);
	n->row.user = copy_note_text(l, store_interned(s, n->user), &n->row.nuser);
	n->row.host = copy_note_text(l, store_interned(s, host), &n->row.nhost);
	struct note_row *slot = vec_add(&l->v);
	if (!slot || l->text.failed)
		return -ENOMEM;
	*slot = n->row;
	return rc;
}

/* Is the note on what was asked for? */
static bool is_note_on(const struct note_info *n, enum notes_of of, store_id id)
{
	return of == NOTES_RUN ? n->run == id : of == NOTES_FILE ? n->file == id : true;
}

/* Adds the session's notes on that run or file (NOTES_ALL: all). 0 or -errno. */
static int read_notes(struct store *s, uint64_t session, enum notes_of of, store_id id, struct note_list *l)
{
	struct buf info = {0};
	struct cur c = {0};
	uint64_t run;
	int rc = read_session_rest(s, session, &info, &c, &run);
	if (rc == 1) {
		const struct ssession *from = store_session(s, session);
		uint64_t host = from ? from->host : 0, number = from ? from->number : 0;
		rc = 0;
		for (uint64_t n = cur_u(&c); n && !c.bad; n--)
			read_session_gap(s, &c);
		for (uint64_t n = cur_u(&c); rc == 0 && n && !c.bad; n--) {
			struct packed_note note = unpack_note(s, &c);
			note.row.session = number;
			if (!c.bad && is_note_on(&note.row.info, of, id))
				rc = add_note(s, &note, host, l);
		}
		if (rc == 0 && c.bad)
			rc = -ENOTRECOVERABLE;
	}
	buf_release(&info);
	return rc < 0 ? rc : 0;
}

/* By time, then by session and seq. */
static int row_cmp(const void *pa, const void *pb)
{
	const struct note_row *a = pa, *b = pb;
	if (a->info.time != b->info.time)
		return a->info.time < b->info.time ? -1 : 1;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* A note that an import told of once more is one note: the same words of the same person at the same moment. v is in
 * order of time. */
static bool is_same_note(const struct note_list *l, const struct note_row *a, const struct note_row *b)
{
	const char *p = l->text.p;
	return a->info.run == b->info.run && a->info.file == b->info.file && a->info.version == b->info.version &&
	       str_eq(str_n(p + a->text, a->ntext), str_n(p + b->text, b->ntext)) &&
	       str_eq(str_n(p + a->user, a->nuser), str_n(p + b->user, b->nuser)) &&
	       str_eq(str_n(p + a->host, a->nhost), str_n(p + b->host, b->nhost));
}

/* What several logs have of one note is there once; they are sorted. */
static void drop_repeated_notes(struct note_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->v.n; i++) {
		bool told = false;
		for (size_t k = n; k > 0 && !told && l->v.v[k - 1].info.time == l->v.v[i].info.time; k--)
			told = is_same_note(l, &l->v.v[k - 1], &l->v.v[i]);
		if (!told)
			l->v.v[n++] = l->v.v[i];
	}
	l->v.n = n;
}

int store_notes(struct store *s, enum notes_of of, store_id id, struct notes *ret)
{
	struct ids sessions = {0};
	struct note_list l = {0};
	*ret = (struct notes){0};
	int rc = lists_get(s, list_key(LIST_NOTE, of == NOTES_ALL ? 0 : id << 2 | of), &sessions);
	ids_sort(&sessions);
	for (size_t i = 0; rc == 0 && i < sessions.n; i++)
		rc = read_notes(s, sessions.v[i], of, id, &l);
	if (rc == 0 && l.v.n) {
		qsort(l.v.v, l.v.n, sizeof(*l.v.v), row_cmp);
		drop_repeated_notes(&l);
		ret->v = calloc(l.v.n, sizeof(*ret->v));
		rc = ret->v ? 0 : -ENOMEM;
		for (size_t i = 0; rc == 0 && i < l.v.n; i++) {
			const struct note_row *r = &l.v.v[i];
			ret->v[i] = r->info;
			ret->v[i].text = str_n(l.text.p + r->text, r->ntext);
			ret->v[i].user = str_n(l.text.p + r->user, r->nuser);
			ret->v[i].host = str_n(l.text.p + r->host, r->nhost);
		}
		if (rc == 0) {
			ret->n = l.v.n;
			ret->text = l.text.p;
			l.text = (struct buf){0};
		}
	}
	free(sessions.v);
	vec_release(&l.v);
	buf_release(&l.text);
	return rc;
}

/* n is empty then. */
void notes_release(struct notes *n)
{
	free(n->v);
	free(n->text);
	*n = (struct notes){0};
}

#include "archive/submit.h"

#include "base/hash.h"
#include "base/map.h"
#include "import/forgotten.h"
#include "keep/write.h"
#include "summary/read_any.h"
#include "summary/summary_redact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (1u << 20)
#define SESSION_SUMMARIES 10000 /* then a new session: a segment is closed between sessions only */

struct submit {
	const char *home, *set;
	struct log_writer *writer; /* NULL: none is open */
	size_t written;
	struct table known; /* hashes of texts, and of runs, that are here */
	VEC(uint64_t) hashes;
	struct forgotten forgotten;
	bool looked; /* forgotten is filled */
	struct buf text;
};

/* Remembers that a summary with this hash is in the record already. 0, -ENOMEM. */
static int note_known_hash(struct submit *u, uint64_t hash)
{
	uint64_t *slot = vec_add(&u->hashes);
	if (!slot)
		return -ENOMEM;
	*slot = hash;
	return table_add(&u->known, hash_fold(hash), (uint32_t)(u->hashes.n - 1)) ? 0 : -ENOMEM;
}

/* Whether the summary or ULID of this hash was sent or seen before. */
static bool is_hash_known(const struct submit *u, uint64_t hash)
{
	uint32_t at;
	for (size_t pos = TABLE_START; (at = table_next(&u->known, hash_fold(hash), &pos)) != VEC_NONE;)
		if (u->hashes.v[at] == hash)
			return true;
	return false;
}

/* A visitor of summaries: notes the hashes of one and of its ULID. 0, -errno. */
static int know_summary(void *arg, const struct summary_info *m)
{
	int rc = note_known_hash(arg, m->hash);
	return rc == 0 && m->ulid.n ? note_known_hash(arg, hash_str(m->ulid)) : rc;
}

int submit_open(const char *home, struct store *s, const char *set, struct err *err, struct submit **ret)
{
	struct submit *u = calloc(1, sizeof(*u));
	int rc = u ? 0 : -ENOMEM;
	if (u) {
		u->home = home;
		u->set = set;
	}
	if (rc == 0 && s)
		rc = store_summaries(s, 0, know_summary, u);
	if (rc < 0) {
		submit_close(u, NULL);
		return err_set(err, -rc, "cannot read the summaries");
	}
	*ret = u;
	return 0;
}

/* ---- one ---- */

/* The tombstones are read at the first question. 1, 0, -errno with a sentence. */
static int was_forgotten(struct submit *u, const char *run, struct err *err)
{
	int rc = u->looked ? 0 : forgotten_read(&u->forgotten, u->home, err);
	u->looked = rc == 0;
	return rc < 0 ? rc : forgotten_run(&u->forgotten, str_of(run));
}

/* Ends the session in which summaries are written. 0, also without one; -errno with a sentence. */
static int end_archive_session(struct submit *u, struct err *err)
{
	int rc = u->writer ? keep_end(u->writer, err) : 0;
	u->writer = NULL;
	return rc;
}

/* Writes u->text as an event. A new session begins after each SESSION_SUMMARIES. 0; -errno with a sentence. */
static int write_one(struct submit *u, const struct parsed_summary *t, struct err *err)
{
	int rc = u->writer && u->written % SESSION_SUMMARIES == 0 ? end_archive_session(u, err) : 0;
	if (rc == 0 && !u->writer)
		rc = keep_begin(u->home, err, &u->writer);
	if (rc < 0)
		return rc;
	struct event ev = {.kind = EVENT_summary,
	                   .time = keep_now(),
	                   .summary = {.run = str_of(t->summary.run ? t->summary.run : ""),
	                               .text = buf_view(&u->text),
	                               .source = str_of(summary_form_name(t->form)),
	                               .set = str_of(u->set)}};
	u->written++;
	if (!log_writer_add(u->writer, &ev))
		return err_set(err, EFBIG, "cannot write to the store");
	return 0;
}

/* Redacts it and writes it, unless it is there already or its run was forgotten; r counts which. 0; -errno with a
 * sentence. */
static int add_one(struct submit *u, struct parsed_summary *t, struct err *err, struct submit_report *r)
{
	struct summary *m = &t->summary;
	r->read++;
	int rc = m->run ? was_forgotten(u, m->run, err) : 0;
	if (rc > 0)
		r->forgotten++;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	buf_reset(&u->text);
	rc = summary_redact(m, NULL);
	rc = rc > 0 ? 0 : rc;
	if (rc == 0)
		rc = summary_json(m, false, false, &u->text);
	if (rc < 0 || u->text.failed)
		return err_set(err, ENOMEM, "cannot take the summary in");
	uint64_t hash = hash_str(buf_view(&u->text)), run = m->run ? hash_str(str_of(m->run)) : 0;
	if (is_hash_known(u, hash) || (m->run && is_hash_known(u, run))) {
		r->repeated++;
		return 0;
	}
	rc = write_one(u, t, err);
	if (rc == 0 && (note_known_hash(u, hash) < 0 || (m->run && note_known_hash(u, run) < 0)))
		rc = err_set(err, ENOMEM, "cannot take the summary in");
	r->added += rc == 0;
	return rc;
}

/* ---- texts ---- */

/* So much of the text is to be read at once: up to where a value ends and the next one begins a line. */
static size_t find_chunk_end(const char *text, size_t n)
{
	if (n <= CHUNK)
		return n;
	const char *end = memmem(text + CHUNK, n - CHUNK, "}\n{", 3);
	return end ? (size_t)(end - text) + 2 : n;
}

int submit_text(struct submit *u, const char *text, size_t n, struct err *err, struct submit_report *ret)
{
	int rc = 0;
	*ret = (struct submit_report){0};
	do {
		size_t part = find_chunk_end(text, n);
		struct summary_list list;
		rc = summary_read_any(text, part, err, &list);
		if (rc < 0)
			break;
		for (size_t i = 0; rc == 0 && i < list.n; i++)
			rc = add_one(u, &list.v[i], err, ret);
		summary_list_release(&list);
		text += part;
		n -= part;
	} while (rc == 0 && n);
	return rc;
}

int submit_close(struct submit *u, struct err *err)
{
	if (!u)
		return 0;
	int rc = end_archive_session(u, err);
	table_release(&u->known);
	vec_release(&u->hashes);
	forgotten_release(&u->forgotten);
	buf_release(&u->text);
	free(u);
	return rc;
}

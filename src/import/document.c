#include "import/document.h"

#include "base/hash.h"
#include "import/constraints.h"
#include "import/imported.h"
#include "import/logs.h"

#define DAY ((int64_t)86400 * 1000000000)

/* Does the document tell of a time that is yet to come? now: ns; a day is granted to clocks. */
static bool in_future(const struct imported *t, int64_t now)
{
	int64_t most = INT64_MIN;
	for (size_t i = 0; i < t->activities.n; i++) {
		most = t->activities.v[i].start > most ? t->activities.v[i].start : most;
		most = t->activities.v[i].end > most ? t->activities.v[i].end : most;
	}
	for (size_t i = 0; i < t->accesses.n; i++)
		most = t->accesses.v[i].hi > most ? t->accesses.v[i].hi : most;
	return now < INT64_MAX - DAY && most > now + DAY;
}

struct circle {
	bool found;
	uint32_t statement;
};

/* Finds the first circle among all violations. */
static void note_circle(void *arg, const struct violation *v)
{
	struct circle *c = arg;
	if (v->number != 42 || v->remark || c->found)
		return;
	c->found = true;
	c->statement = v->n ? v->statements[0] : 0;
}

/* What was made of itself, in however many steps, cannot be told in any order. 0, -EBADMSG with a sentence, -ENOMEM. */
static int check_circles(struct imported *t)
{
	struct circle c = {.found = false};
	long n = doc_check(t->d, note_circle, &c);
	if (n < 0)
		return imported_oom(t);
	return c.found ? imported_wrong(t, &t->d->st.v[c.statement], "cyclic derivation") : 0;
}

int import_document(const char *home, const char *path, int64_t now, struct err *err,
                    struct import_document_report *ret)
{
	struct buf bytes = {0}, segment = {0};
	struct doc d;
	struct forgotten gone = {.keepers = {0}};
	struct imported t = {
	    .d = &d, .name = path[0] == '-' && !path[1] ? "standard input" : path, .err = err, .now = now, .gone = &gone};
	struct str host;
	doc_init(&d);
	int rc = doc_load(&d, path, &bytes, err);
	uint64_t hash = hash_bytes(bytes.p ? bytes.p : "", bytes.n);
	buf_release(&bytes);
	if (rc == 0)
		rc = check_circles(&t);
	if (rc == 0)
		rc = forgotten_read(&gone, home, err);
	if (rc == 0)
		rc = imported_collect(&t);
	if (rc == 0)
		rc = imported_events(&t, hash, &segment, &host);
	if (rc == 0 && (segment.n || !t.left_out)) /* else all of it was forgotten */
		rc = import_segment(home, host, hash, segment.p, segment.n, err);
	if (rc >= 0) {
		*ret = (struct import_document_report){.statements = d.st.n,
		                                       .passed = t.passed,
		                                       .executions = t.activities.n,
		                                       .versions = t.versions.n,
		                                       .accesses = t.accesses.n,
		                                       .forgotten = t.left_out,
		                                       .skipped = d.skipped,
		                                       .skipped_line = d.skipped_line,
		                                       .unread_times = d.unread_times,
		                                       .added = rc == 1,
		                                       .future = in_future(&t, now)};
		rc = 0;
	}
	imported_release(&t);
	forgotten_release(&gone);
	doc_release(&d);
	buf_release(&segment);
	return rc;
}

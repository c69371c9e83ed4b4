#include "import/check.h"

#include "import/constraints.h"

#include <errno.h>

#define SHOWN_MAX 8 /* statements of one violation: cycles may be long */

struct check_lines {
	const struct doc *d;
	check_line *say;
	void *arg;
	struct buf line;
	struct check_report report;
};

/* A constraint that does not hold, or a remark, and the statements that say so, as lines. */
static void report_violation(void *arg, const struct violation *v)
{
	struct check_lines *c = arg;
	struct buf *b = &c->line;
	c->report.remarks += v->remark;
	buf_reset(b);
	buf_printf(b, "%s %u (%s)%s", v->remark ? "remark on constraint" : "constraint", v->number,
	           constraint_name(v->number), v->remark ? ": the times told say otherwise" : "");
	c->say(c->arg, buf_view(b));
	for (size_t i = 0; i < v->n && i < SHOWN_MAX; i++) {
		const struct doc_statement *st = &c->d->st.v[v->statements[i]];
		buf_reset(b);
		buf_str(b, str_of("    "));
		doc_print(c->d, st, b);
		if (st->place) {
			buf_str(b, str_of("  "));
			doc_place(c->d, st, b);
		}
		c->say(c->arg, buf_view(b));
	}
	if (v->n > SHOWN_MAX) {
		buf_reset(b);
		buf_printf(b, "    and %zu more", v->n - SHOWN_MAX);
		c->say(c->arg, buf_view(b));
	}
}

/* Checks a document that was read. 0; -ENOMEM with a sentence. */
static int check_whole_document(const struct doc *d, check_line *say, void *arg, struct err *err,
                                struct check_report *ret)
{
	struct check_lines c = {.d = d, .say = say, .arg = arg, .report = {.statements = d->st.n}};
	long n = doc_check(d, report_violation, &c);
	buf_release(&c.line);
	if (n < 0)
		return err_set(err, ENOMEM, "cannot check the document");
	c.report.violations = (uint64_t)n;
	c.report.skipped = d->skipped + d->unread_times;
	c.report.skipped_line = d->skipped_line;
	*ret = c.report;
	return 0;
}

int check_document(const char *path, check_line *say, void *arg, struct err *err, struct check_report *ret)
{
	struct buf bytes = {0};
	struct doc d;
	doc_init(&d);
	int rc = doc_load(&d, path, &bytes, err);
	buf_release(&bytes);
	if (rc == 0)
		rc = check_whole_document(&d, say, arg, err, ret);
	doc_release(&d);
	return rc;
}

/* 0, -errno with a sentence; violations are told to say. */
int check_source(struct prov_source *p, check_line *say, void *arg, struct err *err, struct check_report *ret)
{
	struct doc d;
	doc_init(&d);
	int rc = doc_from_source(&d, p, err);
	if (rc == 0)
		rc = check_whole_document(&d, say, arg, err, ret);
	doc_release(&d);
	return rc;
}

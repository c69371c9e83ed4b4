#include "summary/read_any.h"

#include "base/vec.h"
#include "summary/kickstart.h"
#include "summary/resource_monitor.h"
#include "summary/summary_read.h"

#include <errno.h>
#include <stdlib.h>

static const char *const words[SUMMARY_FORMS] = {"stemma", "resource-monitor", "kickstart"};

const char *summary_form_name(enum summary_form f)
{
	return words[f];
}

/* -ENOENT: there is none of that name. */
int summary_form_by_name(const char *word)
{
	for (int f = 0; f < SUMMARY_FORMS; f++)
		if (strcmp(words[f], word) == 0)
			return f;
	return -ENOENT;
}

/* l is empty then. */
void summary_list_release(struct summary_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		summary_release(&l->v[i].summary);
	free(l->v);
	*l = (struct summary_list){0};
}

/* Takes one of many: 0 to go on, else what summary_each is to return. *s is released after it; to keep it, copy it and
 * leave summary_init behind. */
typedef int summary_taker(void *arg, enum summary_form form, struct summary *s);

struct each {
	summary_taker *take;
	void *arg;
	size_t n; /* that were taken */
};

/* Gives s away. 0, or what e->take returned. */
static int report_summary(struct each *e, enum summary_form form, struct summary *s)
{
	int rc = e->take(e->arg, form, s);
	summary_release(s);
	e->n += rc == 0;
	return rc;
}

/* ---- JSON: objects, or lists of them ---- */

/* Reads one summary and hands it on. 0, -errno with a sentence. */
static int read_json_summary(struct each *e, json_t *v, struct err *err)
{
	struct summary s;
	bool theirs = json_is_object(v) && !json_object_get(v, "format") && resource_monitor_is(v);
	int rc = theirs ? resource_monitor_read(v, err, &s) : summary_from_json(v, err, &s);
	return rc < 0 ? rc : report_summary(e, theirs ? SUMMARY_RESOURCE_MONITOR : SUMMARY_STEMMA, &s);
}

/* Reads summaries in JSON and hands each on. 0, what the taker gave, -EBADMSG, -ENOMEM, with a sentence. */
static int read_json_summaries(struct each *e, struct str text, struct err *err)
{
	struct jin in;
	json_t *v;
	char why[200];
	int rc;
	if (jin_open(&in, text.p, text.n) < 0)
		return err_set(err, ENOMEM, "cannot read the summaries");
	while ((rc = jin_next(&in, &v, why)) == 1) {
		size_t i = 0;
		rc = json_is_array(v) ? 0 : read_json_summary(e, v, err);
		while (rc == 0 && i < json_array_size(v))
			rc = read_json_summary(e, json_array_get(v, i++), err);
		json_decref(v);
		if (rc != 0) {
			jin_release(&in);
			return rc;
		}
	}
	jin_release(&in);
	if (rc < 0)
		err_set(err, 0, "the text is not JSON: %s", why);
	return rc;
}

/* ---- lines ---- */

/* Reads kickstart's records and hands each on. 0, what the taker gave, -errno with a sentence. */
static int read_kickstart_records(struct each *e, struct str text, struct err *err)
{
	struct summary s;
	size_t n;
	int rc;
	while ((rc = kickstart_read(text, err, &s, &n)) == 0) {
		if ((rc = report_summary(e, SUMMARY_KICKSTART, &s)) != 0)
			return rc;
		text = str_n(text.p + n, text.n - n);
	}
	return rc == -ENODATA ? 0 : rc;
}

/* Reads resource_monitor's summaries and hands each on. 0, what the taker gave, -errno with a sentence. */
static int read_monitor_lines(struct each *e, struct str text, struct err *err)
{
	struct summary s;
	size_t n;
	int rc;
	while ((rc = resource_monitor_read_lines(text, err, &s, &n)) == 0) {
		if ((rc = report_summary(e, SUMMARY_RESOURCE_MONITOR, &s)) != 0)
			return rc;
		text = str_n(text.p + n, text.n - n);
	}
	return rc == -ENODATA ? 0 : rc;
}

/* Is the first character after blanks one of `any`? */
static bool begins_with_any(struct str text, const char *any)
{
	size_t i = 0;
	while (i < text.n && strchr(" \t\r\n", text.p[i]) && text.p[i])
		i++;
	return i < text.n && text.p[i] && strchr(any, text.p[i]);
}

/* word ends with NUL. */
static bool contains_text(struct str text, const char *word)
{
	return memmem(text.p, text.n, word, strlen(word)) != NULL;
}

/* Reports why the text is no summary. -EBADMSG with the sentence. */
static int refuse_summaries(struct err *err, const char *sentence)
{
	return err_set(err, 0, "%s", sentence), -EBADMSG;
}

/* One after the other, as they are read, so that memory is needed for one (and, of JSON, for the text). 0, and there
 * was at least one; else -errno with a sentence, and those before were taken. */
static int summary_each(const char *text, size_t n, summary_taker *taker, void *arg, struct err *err)
{
	struct each e = {.take = taker, .arg = arg};
	struct str all = str_n(text, n);
	struct err why = {0};
	int rc;
	if (begins_with_any(all, "{[") && !str_starts(all, str_of("[cluster-")) && !str_starts(all, str_of("[seqexec-")))
		rc = read_json_summaries(&e, all, &why);
	else if (kickstart_is(all))
		rc = read_kickstart_records(&e, all, &why);
	else if (contains_text(all, "<invocation"))
		rc = refuse_summaries(&why, "kickstart's records in XML (before Pegasus 5) are not read");
	else if (resource_monitor_is_text(all))
		rc = read_monitor_lines(&e, all, &why);
	else
		rc = refuse_summaries(&why, "this is not a summary of stemma, resource_monitor or kickstart");
	if (rc == 0 && !e.n)
		rc = refuse_summaries(&why, "there is no summary in it");
	if (rc < 0 && why.text[0])
		err_set(err, 0, "%s%.0zu%s%s", e.n ? "summary " : "", e.n ? e.n + 1 : 0, e.n ? ": " : "", why.text);
	return rc;
}

struct gathered {
	struct summary_list l;
	size_t cap;
};

/* Takes what s holds. 0, -ENOMEM; then s has it still. */
static int append_parsed_summary(void *arg, enum summary_form form, struct summary *s)
{
	struct gathered *g = arg;
	if (!vec_has_room(g->l.v, g->l.n, g->cap))
		return -ENOMEM;
	g->l.v[g->l.n++] = (struct parsed_summary){form, *s};
	summary_init(s);
	return 0;
}

int summary_read_any(const char *text, size_t n, struct err *err, struct summary_list *ret)
{
	struct gathered g = {0};
	int rc = summary_each(text, n, append_parsed_summary, &g, err);
	if (rc == 0) {
		*ret = g.l;
		return 0;
	}
	summary_list_release(&g.l);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "cannot read the summaries") : rc;
}

int summary_write_as(enum summary_form f, const struct summary *s, bool with_processes, struct buf *ret)
{
	if (f == SUMMARY_RESOURCE_MONITOR)
		return resource_monitor_write(s, ret);
	if (f == SUMMARY_KICKSTART)
		return kickstart_write(s, ret);
	int rc = summary_json(s, with_processes, true, ret);
	if (rc == 0)
		buf_char(ret, '\n');
	return rc == 0 && ret->failed ? -ENOMEM : rc;
}

/* report.c - makes the data of a page, and the page. */
#include "base/base64.h"
#include "report/report_int.h"
#include "report/report_page.h"
#include "report/report_reads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The public ids of all nodes by number, without their letter: 12 bytes each, as one text in base64. -errno, or 0. */
static int write_ids(const struct report *r, struct buf *b)
{
	struct buf ids = {0};
	int rc = 0;
	for (size_t i = 0; i < r->n_nodes && rc >= 0; i++) {
		const struct report_node *node = &r->nodes[r->order[i]];
		struct pubid pub = {0};
		struct version_info v;
		unsigned byte;
		if (node->exec)
			rc = store_exec_pub(r->a->store, node->id, &pub);
		else if ((rc = store_version(r->a->store, node->id, &v)) > 0)
			pub = v.pub;
		for (size_t k = 0; k < 12 && rc > 0; k++)
			buf_char(&ids, sscanf(pub.text + 1 + 2 * k, "%2x", &byte) == 1 ? (char)byte : 0);
	}
	buf_str(b, str_of("\"ids\":\""));
	base64_append(b, buf_view(&ids));
	buf_char(b, '"');
	b->failed |= ids.failed;
	buf_release(&ids);
	return rc < 0 ? rc : 0;
}

/* Numbers of the nodes of the lineage that are not sure. */
static void write_unsure(const struct report *r, struct buf *b)
{
	bool any = false;
	buf_str(b, str_of("\"unsure\":["));
	for (size_t i = 0; i < r->n_nodes; i++) {
		const struct report_node *node = &r->nodes[r->order[i]];
		if (node->sure || r->order[i] >= r->lineage_nodes)
			continue;
		buf_printf(b, "%s%zu", any ? "," : "", i);
		any = true;
	}
	buf_str(b, str_of("],\n\"outside\":["));
	any = false;
	for (size_t i = 0; i < r->n_nodes; i++) {
		if (r->order[i] < r->lineage_nodes)
			continue;
		buf_printf(b, "%s%zu", any ? "," : "", i);
		any = true;
	}
	buf_char(b, ']');
}

/* A new object: the words of a set by their numbers, or with what they mean, by themselves. */
static json_t *terms_json(enum term_set set, uint64_t first, uint64_t last, bool meaning)
{
	json_t *o = json_object();
	char key[24];
	for (uint64_t i = first; i <= last; i++) {
		snprintf(key, sizeof(key), "%llu", (unsigned long long)i);
		if (meaning)
			js_text(o, term_name(set, i), term_meaning(set, i));
		else
			js_text(o, key, term_name(set, i));
	}
	return o;
}

/* What is no table. -errno, or 0, with a sentence where the other run is the reason. */
static int make_rest(struct report *r, struct err *err, json_t *o)
{
	char base[24];
	js_num(o, "format", 1);
	js_text(o, "stemma", STEMMA_VERSION);
	snprintf(base, sizeof(base), "%lld", (long long)r->base);
	js_text(o, "base", base);
	js_put(o, "kinds", terms_json(SET_kind, 1, TERM_kind_xattr, false));
	js_put(o, "endings", terms_json(SET_ending, 0, 3, false));
	js_put(o, "via", terms_json(SET_via, 0, TERM_via_submit, true));
	js_put(o, "evidence", terms_json(SET_reading, 0, TERM_reading_counted, true));
	js_put(o, "notes", json_incref(r->node_notes));
	json_t *omitted = json_object();
	for (int k = 0; k < OMIT_COUNT; k++)
		if (r->l.omitted[k])
			js_num(omitted, lineage_omit_name[k], r->l.omitted[k]);
	js_put(o, "omitted", omitted);
	int rc = report_about(r, o);
	if (rc == 0)
		rc = report_lineage_picture(r, o);
	return rc < 0 ? rc : report_against(r, err, o);
}

/* The object without its last brace, so that more can follow. -errno, or 0. */
static int write_rest(struct report *r, struct err *err, struct buf *b)
{
	json_t *o = json_object();
	int rc = make_rest(r, err, o);
	char *text = rc == 0 ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	if (rc == 0 && !text)
		rc = -ENOMEM;
	if (rc == 0)
		buf_add(b, text, strlen(text) - 1);
	free(text);
	return rc;
}

/* Appends who reads what. -errno, or 0. */
static int write_reads(struct report *r, struct buf *b)
{
	struct report_reads reads;
	const int rc = report_reads_make(r, &reads);
	if (rc == 0)
		report_reads_write(&reads, b);
	report_reads_release(&reads);
	return rc;
}

/* Writes all data of the page. -errno, or 0. */
static int write_all(struct report *r, struct err *err, struct buf *data)
{
	int rc = write_rest(r, err, data);
	buf_str(data, str_of(",\n"));
	if (rc == 0)
		rc = report_resources(r, err, data);
	buf_str(data, str_of(",\n"));
	if (rc == 0)
		rc = write_reads(r, data);
	buf_str(data, str_of(",\n"));
	if (rc == 0)
		rc = write_ids(r, data);
	buf_str(data, str_of(",\n"));
	write_unsure(r, data);
	buf_str(data, str_of(",\n"));
	report_write_hows(r, data);
	for (int k = 0; k < REPORT_TABLES; k++) {
		buf_str(data, str_of(",\n"));
		report_table_write(&r->t[k], data);
	}
	buf_str(data, str_of(",\n"));
	report_words_write(&r->words, data);
	buf_str(data, str_of("}\n"));
	return rc < 0 ? rc : data->failed ? -ENOMEM : 0;
}

/* It may not be used afterwards. */
static void report_release(struct report *r)
{
	for (int k = 0; k < REPORT_TABLES; k++)
		report_table_release(&r->t[k]);
	report_words_release(&r->words);
	lineage_release(&r->l);
	shape_release(&r->shape);
	idmap_release(&r->at);
	idmap_release(&r->stage_at);
	idmap_release(&r->run_at);
	idmap_release(&r->gaps_at);
	fold_memo_release(&r->folds);
	stages_free(r->stages);
	free(r->nodes);
	free(r->order);
	free(r->edges);
	free(r->hows);
	free(r->gap_sets);
	json_decref(r->node_notes);
}

int report_make(const struct answer_source *a, const struct report_request *q, struct err *err, struct buf *ret)
{
	struct report r = {
	    .a = a,
	    .q = q,
	    .options = {.direction = LINEAGE_UP, .skew = a->skew, .system_extra = a->system_extra},
	    .node_notes = json_object(),
	};
	struct buf data = {0};
	bool viewing = store_view_begin(a->store, VIEW_WALK) == 0; /* many small questions */
	for (int k = 0; k < REPORT_TABLES; k++)
		r.t[k].kind = (enum report_table_kind)k;
	int rc = r.node_notes ? stages_new(a->store, &r.stages) : -ENOMEM;
	if (rc == 0)
		rc = report_gather(&r, err);
	if (rc == 0 && q->picture) {
		rc = report_draw(&r, err, ret);
		goto out;
	}
	if (rc == 0)
		rc = report_fill_nodes(&r);
	if (rc == 0)
		rc = report_fill_edges(&r);
	if (rc == 0)
		rc = write_all(&r, err, &data);
out:
	if (viewing)
		store_view_end(a->store);
	if (rc == 0 && !q->picture)
		report_page(buf_view(&data), q->served, ret);
	if (rc == 0 && ret->failed)
		rc = -ENOMEM;
	buf_release(&data);
	report_release(&r);
	if (rc < 0 && !err->text[0])
		err_set(err, -rc, "cannot make the report");
	return rc < 0 ? rc : 0;
}

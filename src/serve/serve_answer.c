#include "serve/serve_answer.h"

#include "answer/found.h"
#include "answer/progress.h"
#include "answer/runs.h"
#include "answer/table/run_columns.h"
#include "base/clock.h"
#include "base/memory.h"
#include "lib/record.h"
#include "serve/serve_pages.h"
#include "serve/serve_problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK_NS = 1000000000 }; /* runs that go on are looked for so often, which reads all of /proc, and damage */

/* ---- the record ---- */

/* The next question opens it again. */
static void close_record(struct serve_answerer *a)
{
	stemma_close(a->record);
	a->record = NULL;
}

/* Looks at the file of the index. 0, -errno. */
static int index_stat(const struct stemma_record *r, struct stat *ret)
{
	return stat(store_index_path(r->source.store), ret) < 0 ? -errno : 0;
}

/* Is what is open still the index that lies there? */
static bool is_still_there(const struct serve_answerer *a)
{
	struct stat st;
	return a->record && a->record->source.store && index_stat(a->record, &st) == 0 && st.st_dev == a->dev &&
	       st.st_ino == a->ino;
}

int serve_answerer_open(struct serve_answerer *a, struct stemma_error *err)
{
	struct stat st = {0};
	int rc = 0;
	if (!is_still_there(a)) {
		close_record(a);
		rc = stemma_open(a->home, STEMMA_READ_ONLY, &a->record, err);
		if (rc == 0)
			rc = index_stat(a->record, &st);
		if (rc == 0)
			rc = store_keep_small(a->record->source.store, SERVE_PAGES_KIB, NULL);
		a->dev = st.st_dev;
		a->ino = st.st_ino;
	}
	if (rc)
		return rc;
	if (clock_now_ns(CLOCK_MONOTONIC) - a->looked > LOOK_NS) {
		uint64_t places = 0, recordings = 0;
		live_release(&a->live);
		rc = stemma_damage(a->record, &places, &recordings, err);
		a->damaged = places || recordings;
		a->looked = clock_now_ns(CLOCK_MONOTONIC);
	}
	a->record->source.live = &a->live;
	return rc;
}

/* ---- answers that come in pages ---- */

/* Reports why a page of rows cannot be given. As record_fail; -ESTALE, of a cursor whose row is gone, and -ENOENT
 * have sentences of their own. */
static int fail_page(int rc, const struct err *e, struct stemma_error *err)
{
	if (rc == -ESTALE)
		return record_fail(rc, &(struct err){.text = "the row that the cursor names is gone"}, "", err);
	return rc == -ENOENT ? record_fail_to_resolve(rc, e, err) : record_fail(rc, e, "cannot read the record", err);
}

/* How many rows a page has. */
static uint64_t rows_of(const struct serve_request *q)
{
	return q->number[SERVE_P_limit] ? q->number[SERVE_P_limit] : SERVE_ROWS;
}

/* Answers a request for a page of runs. 0; else what record_fail gives, with a sentence. */
static int ask_runs_page(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	const struct serve_request *asked = q->arg;
	json_t *o = NULL;
	int rc = runs_page_json(&r->source, asked->number[SERVE_P_all], asked->text[SERVE_P_cursor], rows_of(asked), &o);
	return rc < 0 ? fail_page(rc, NULL, err) : record_give_json(o, q->ret, err);
}

/* A record_question: runs by settings and metrics. 0, or a code with err's sentence. */
static int ask_table(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	const struct serve_request *asked = q->arg;
	struct err e = {0};
	json_t *o = NULL;
	const int rc = run_table_json(
	    &r->source, &(struct over_runs_question){asked->text[SERVE_P_where], asked->text[SERVE_P_of], NULL, 0}, &e, &o);
	return rc < 0 ? fail_page(rc, &e, err) : record_give_json(o, q->ret, err);
}

/* A record_question: the runs that go on. 0, or a code with err's sentence. */
static int ask_progress(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	json_t *o = NULL;
	const int rc = progress_json(&r->source, &o);
	return rc < 0 ? fail_page(rc, NULL, err) : record_give_json(o, q->ret, err);
}

/* A record_question of a page of what matches; *q->ret is the caller's. 0, or a code with err's sentence. */
static int ask_found_page(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	const struct serve_request *asked = q->arg;
	struct err e = {0};
	struct expr *x = NULL;
	enum expr_kind kind = EXPR_ANY;
	struct found f;
	json_t *o = NULL;
	char *words[] = {(char *)(uintptr_t)asked->text[SERVE_P_q], NULL};
	int rc = expr_parse(words, 1, &e, &x, &kind);
	if (rc == 0)
		rc = found_make(&r->source, x, kind == EXPR_ANY ? EXPR_FILES : kind, asked->number[SERVE_P_all], &e, &f);
	expr_free(x);
	if (rc < 0)
		return fail_page(rc, &e, err);
	rc = found_page_json(&r->source, &f, asked->text[SERVE_P_cursor], rows_of(asked), &o);
	found_rows_release(&f);
	return rc < 0 ? fail_page(rc, &e, err) : record_give_json(o, q->ret, err);
}

/* ---- the others ---- */

/* Of a word that may mean anything, only runs. 0; else what record_fail gives, with a sentence. */
static int show_run(struct stemma_record *r, const struct serve_request *q, char **ret, struct stemma_error *err)
{
	struct stemma_target t;
	int rc = stemma_resolve(r, q->text[SERVE_P_id], &t, err);
	if (rc)
		return rc;
	if (t.kind != STEMMA_RUN)
		return record_fail(STEMMA_NOTHING, NULL, "it is not a run", err);
	return stemma_show(r, t.id, q->number[SERVE_P_all] ? STEMMA_ALL : 0, ret, err);
}

/* STEMMA_ flags of the question. */
static unsigned lineage_flags(const struct serve_request *q)
{
	static const struct {
		enum serve_parameter p;
		unsigned flag;
	} flags[] = {{SERVE_P_all, STEMMA_ALL},
	             {SERVE_P_certain, STEMMA_CERTAIN},
	             {SERVE_P_down, STEMMA_DOWN},
	             {SERVE_P_forks, STEMMA_FORKS},
	             {SERVE_P_stages, STEMMA_STAGES}};
	unsigned all = 0;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		all |= q->number[flags[i].p] ? flags[i].flag : 0;
	return all;
}

/* Answers a request from the record. *ret: JSON, the caller's. 0, or a code as stemma_open's with err's sentence. */
static int ask_record(struct stemma_record *r, const struct serve_request *q, char **ret, struct stemma_error *err)
{
	const struct record_question page = {.ask = q->route == SERVE_R_runs       ? ask_runs_page
	                                            : q->route == SERVE_R_progress ? ask_progress
	                                            : q->route == SERVE_R_table    ? ask_table
	                                                                           : ask_found_page,
	                                     .arg = (void *)(uintptr_t)q,
	                                     .ret = ret};
	switch (q->route) {
	case SERVE_R_runs:
	case SERVE_R_find:
	case SERVE_R_progress:
	case SERVE_R_table:
		return record_ask(r, &page, err);
	case SERVE_R_run:
		return show_run(r, q, ret, err);
	case SERVE_R_why:
		return stemma_why(r, q->text[SERVE_P_file], q->number[SERVE_P_all] ? STEMMA_ALL : 0, ret, err);
	case SERVE_R_lineage:
		if (q->number[SERVE_P_all] && q->number[SERVE_P_stages])
			return record_fail(-EINVAL, NULL, "all and stages do not go together", err);
		return stemma_lineage(r, q->text[SERVE_P_file], lineage_flags(q), (unsigned)q->number[SERVE_P_depth], ret, err);
	case SERVE_R_diff:
		return stemma_diff(r, q->text[SERVE_P_a], q->text[SERVE_P_b], ret, err);
	case SERVE_R_trust:
		return stemma_trust(r, (const char *const[]){q->text[SERVE_P_page_id], NULL}, NULL, NULL, ret, err);
	case SERVE_R_page_run:
	case SERVE_R_page_file:
	case SERVE_R_page_compare:
		return serve_page(r, q, ret, err);
	default:
		break;
	}
	return record_fail(-EINVAL, NULL, "it is no question to the record", err);
}

/* ---- what became of it ---- */

/* The status of HTTP for what the library returns. */
static unsigned status_of(int rc)
{
	switch (rc) {
	case 0:
		return 200;
	case STEMMA_NOTHING:
		return 404;
	case -EINVAL:
		return 400;
	case -ESTALE:
		return 410;
	case -ENOMEM:
	case -E2BIG:
		return 507;
	case -ENOENT: /* the index: it is being made */
	case -ENOTRECOVERABLE:
	case -EBUSY:
	case -EPROTO:
		return 503;
	default:
		return 500;
	}
}

void serve_answer(struct serve_answerer *a, const struct serve_request *q, struct serve_answered *ret)
{
	struct stemma_error err = {0};
	char *text = NULL;
	const unsigned lacks = memory_lacks();
	const bool page = serve_routes[q->route].kind == SERVE_page;
	*ret = (struct serve_answered){.type = page ? SERVE_HTML : "application/json"};
	int rc = serve_answerer_open(a, &err);
	const bool opened = rc == 0;
	if (opened)
		rc = ask_record(a->record, q, &text, &err);
	if (memory_lacks() != lacks) /* much leaves out what it has no memory for */
		rc = record_fail(-ENOMEM, NULL, "a request may not have so much memory", &err);
	ret->status = opened || rc == -ENOMEM ? status_of(rc) : 503;
	ret->damaged = a->damaged;
	if (rc == 0) {
		const size_t n = strlen(text);
		ret->body = (struct buf){.p = text, .n = n, .cap = n + 1};
		buf_char(&ret->body, '\n');
		return;
	}
	free(text);
	if (ret->status == 503 || ret->status == 500)
		close_record(a);
	ret->retry_after = ret->status == 503;
	if (page)
		serve_page_problem(err.text, err.hint, &ret->body);
	else
		serve_answer_problem(ret, ret->status, err.text, err.hint);
}

void serve_answer_problem(struct serve_answered *ret, unsigned status, const char *detail, const char *hint)
{
	buf_release(&ret->body);
	ret->status = status;
	ret->type = SERVE_PROBLEM_TYPE;
	serve_problem(status, detail, hint, &ret->body);
}

/* r is empty then. */
void serve_answered_release(struct serve_answered *r)
{
	buf_release(&r->body);
	*r = (struct serve_answered){0};
}

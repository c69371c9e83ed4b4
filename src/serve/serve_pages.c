#include "serve/serve_pages.h"

#include "base/unsafe_char.h"
#include "base/utf8.h"
#include "query/target.h"
#include "report/report.h"
#include "report/report_page.h"

#include <errno.h>
#include <string.h>

static const char shell_html[] = {
#include "serve_shell.inc"
};
static const char shell_script[] = {
#include "serve_script.inc"
};

/* ---- files ---- */

struct str serve_shell(enum serve_route route, const char **ret_type)
{
	*ret_type = SERVE_HTML;
	if (route == SERVE_R_home || route == SERVE_R_search || route == SERVE_R_page_table || route == SERVE_R_page_trust)
		return str_n(shell_html, sizeof(shell_html));
	*ret_type = "text/javascript; charset=utf-8";
	if (route == SERVE_R_site_js)
		return str_n(shell_script, sizeof(shell_script));
	if (route == SERVE_R_report_js)
		return report_page_script();
	*ret_type = "text/css; charset=utf-8";
	return route == SERVE_R_page_css ? report_page_style() : str_n(NULL, 0);
}

/* ---- runs and files ---- */

/* What a page can be of, or compared with. 0, or a code with err's sentence. TARGET_EXEC: a run or a file. */
static int find_subject(struct stemma_record *r, const char *name, enum target_kind kind, struct target *ret,
                        struct stemma_error *err)
{
	struct err e = {0};
	int rc = target_any(r->source.store, name, kind == TARGET_FILE, &e, ret);
	if (rc <= 0)
		return record_fail_to_resolve(rc, &e, err);
	if (ret->kind == TARGET_EXEC || (kind != TARGET_EXEC && ret->kind != kind))
		return record_fail(STEMMA_NOTHING, NULL, kind == TARGET_RUN ? "it is not a run" : "it is not a run or file",
		                   err);
	if (ret->kind == TARGET_FILE && !ret->file.version)
		return record_fail(STEMMA_NOTHING, NULL, "only the name of the file is recorded, not its content", err);
	return 0;
}

/* A record_question: the page as HTML, in *asked->ret. 0, or a code with err's sentence. */
static int ask_page(struct stemma_record *r, const struct record_question *asked, struct stemma_error *err)
{
	const struct serve_request *q = asked->arg;
	struct report_request page = {.most = SERVE_PAGE_NODES, .served = true};
	struct err e = {0};
	struct buf html = {0};
	int rc;
	if (q->route == SERVE_R_page_compare) {
		page.name = q->text[SERVE_P_b];
		page.against = q->text[SERVE_P_a];
		rc = find_subject(r, page.name, TARGET_EXEC, &page.target, err);
		if (rc == 0)
			rc = find_subject(r, page.against, TARGET_EXEC, &page.other, err);
		if (rc == 0 && page.target.kind != page.other.kind)
			return record_fail(-EINVAL, NULL, "the two are of different kinds", err);
	} else {
		const bool run = q->route == SERVE_R_page_run;
		page.name = q->text[run ? SERVE_P_page_id : SERVE_P_file];
		rc = find_subject(r, page.name, run ? TARGET_RUN : TARGET_FILE, &page.target, err);
	}
	if (rc)
		return rc;
	rc = report_make(&r->source, &page, &e, &html);
	if (rc == 0)
		return record_give_text(&html, asked->ret, err);
	buf_release(&html);
	return record_fail(rc, &e, "cannot make the page", err);
}

int serve_page(struct stemma_record *r, const struct serve_request *q, char **ret, struct stemma_error *err)
{
	const struct record_question page = {.ask = ask_page, .arg = (void *)(uintptr_t)q, .ret = ret};
	return record_ask(r, &page, err);
}

/* ---- errors ---- */

/* Appends a text of a user's as text of HTML. What is no UTF-8, or acts, becomes U+FFFD. */
static void put_html(struct buf *b, const char *text)
{
	const struct str s = str_of(text);
	uint32_t c;
	for (size_t i = 0, n; i < s.n; i += n) {
		n = utf8_char(s.p + i, s.n - i, &c);
		if (!n || unsafe_char(c)) {
			n = n ? n : 1;
			buf_str(b, str_of("\xef\xbf\xbd"));
		} else if (n == 1 && strchr("<>&\"'", s.p[i])) {
			buf_printf(b, "&#%u;", (unsigned)c);
		} else {
			buf_add(b, s.p + i, n);
		}
	}
}

void serve_page_problem(const char *detail, const char *hint, struct buf *ret)
{
	buf_str(ret, str_of("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	                    "<title>stemma</title>\n<link rel=\"stylesheet\" href=\"assets/page.css\">\n"
	                    "<main><header><h1>There is no such page</h1>\n<p><bdi>"));
	put_html(ret, detail);
	buf_str(ret, str_of("</bdi></p>\n<p class=\"note\">"));
	put_html(ret, hint ? hint : "");
	buf_str(ret, str_of("</p>\n<p><a href=\"./\">Runs</a></p></header></main>\n</html>\n"));
}

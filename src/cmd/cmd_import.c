/* stemma import: the record of another machine, taken into this one. */
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "import/document.h"
#include "import/logs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What was read and added: one row each, for JSON. */
#define ROWS(X)                                                                                                        \
	X(segments, r->segments)                                                                                           \
	X(blocks, r->blocks)                                                                                               \
	X(sessions, r->sessions)                                                                                           \
	X(new_segments, r->new_segments)                                                                                   \
	X(new_blocks, r->new_blocks)                                                                                       \
	X(new_bytes, r->new_bytes)                                                                                         \
	X(skipped_bytes, r->damage.skipped)                                                                                \
	X(torn_bytes, r->damage.torn)                                                                                      \
	X(newer_blocks, r->damage.newer)                                                                                   \
	X(forgotten_blocks, r->forgotten)                                                                                  \
	X(contradicting_blocks, r->clashing)                                                                               \
	X(forgetting_blocks, r->forgetting)                                                                                \
	X(passed_over, r->passed)

/* For printf's %llu. */
static unsigned long long ull(uint64_t n)
{
	return n;
}

/* The plural's ending. */
static const char *s_of(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* What was not taken in, whatever the output. */
static void report_passed_over(const char *path, const struct import_logs_report *r)
{
	if (r->damage.skipped)
		report("'%s': %llu byte%s damaged and skipped", path, ull(r->damage.skipped), str_were(r->damage.skipped));
	if (r->damage.torn)
		report("'%s': the last %llu byte%s an incomplete frame and skipped", path, ull(r->damage.torn),
		       str_were(r->damage.torn));
	if (r->damage.newer)
		report("'%s': %llu frame%s of a newer version of stemma skipped", path, ull(r->damage.newer),
		       r->damage.newer == 1 ? " was" : "s were");
	if (r->clashing)
		report("'%s': skipped %llu frame%s that contradict%s records here", path, ull(r->clashing), s_of(r->clashing),
		       r->clashing == 1 ? "s" : "");
	if (r->forgotten)
		report("'%s': skipped %llu frame%s of forgotten records", path, ull(r->forgotten), s_of(r->forgotten));
	if (r->forgetting) {
		report("'%s': skipped %llu frame%s that would remove records of another host", path, ull(r->forgetting),
		       s_of(r->forgetting));
		report_hint("to remove these records here, use stemma forget");
	}
	if (r->passed)
		report("'%s': skipped %llu symbolic link%s or folder%s nested too deeply", path, ull(r->passed),
		       s_of(r->passed), s_of(r->passed));
}

/* Imports an event log, and prints what was taken in. list: JSON, NULL: text. A status, reported. */
static int import_log(const char *home, const char *path, json_t *list)
{
	struct err err = {0};
	struct import_logs_report done = {0}, *r = &done;
	if (import_logs(home, path, &err, r) < 0)
		return report_err(&err, STATUS_SELF);
	report_passed_over(path, r);
	if (!r->blocks) {
		report("'%s' contains no event log", path);
		return STATUS_NOTHING;
	}
	if (list) {
		json_t *one = json_object();
		js_text(one, "source", path);
		js_text(one, "kind", "log");
#define X(name, value) js_num(one, #name, value);
		ROWS(X)
#undef X
		js_add(list, one);
		return STATUS_OK;
	}
	struct buf name = {0};
	fmt_name(&name, str_of(path));
	if (!r->new_blocks && (r->forgotten || r->clashing))
		printf("%s: nothing new\n", buf_cstr(&name));
	else if (r->new_blocks)
		printf("%s: %llu of %llu frame%s added (%llu session%s)\n", buf_cstr(&name), ull(r->new_blocks), ull(r->blocks),
		       s_of(r->blocks), ull(r->sessions), s_of(r->sessions));
	else
		printf("%s: nothing new, all %llu frame%s (%llu session%s) are present\n", buf_cstr(&name), ull(r->blocks),
		       s_of(r->blocks), ull(r->sessions), s_of(r->sessions));
	buf_release(&name);
	return STATUS_OK;
}

/* Imports a PROV document, and prints what was taken in. list: JSON, NULL: text. STATUS_NOTHING: a part of it could
 * not be read. A status, reported. */
static int import_prov(const char *home, const char *path, json_t *list)
{
	struct err err = {0};
	struct import_document_report r;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (import_document(home, path, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, &err, &r) < 0)
		return report_err(&err, STATUS_SELF);
	if (r.passed)
		report("'%s': %llu statement%s no representation in the record and %s skipped", path, ull(r.passed),
		       r.passed == 1 ? " has" : "s have", r.passed == 1 ? "was" : "were");
	if (r.forgotten)
		report("'%s': %llu statement%s about forgotten records: skipped", path, ull(r.forgotten),
		       r.forgotten == 1 ? " is" : "s are");
	if (r.skipped)
		report("'%s' is not complete: %llu part%s, the first at line %u, could not be read and %s skipped", path,
		       ull(r.skipped), s_of(r.skipped), r.skipped_line, r.skipped == 1 ? "was" : "were");
	if (r.unread_times)
		report("'%s': %llu time%s could not be read and %s unknown", path, ull(r.unread_times), s_of(r.unread_times),
		       r.unread_times == 1 ? "is" : "are");
	if (r.future)
		report("'%s' contains times in the future", path);
	const int whole = r.skipped ? STATUS_NOTHING : STATUS_OK;
	if (list) {
		json_t *one = json_object();
		js_text(one, "source", path);
		js_text(one, "kind", "prov");
		js_bool(one, "added", r.added);
		js_num(one, "statements", r.statements);
		js_num(one, "passed_over", r.passed);
		js_num(one, "forgotten", r.forgotten);
		js_num(one, "parts_left_out", r.skipped);
		js_num(one, "times_not_read", r.unread_times);
		js_num(one, "executions", r.executions);
		js_num(one, "versions", r.versions);
		js_num(one, "accesses", r.accesses);
		js_add(list, one);
		return whole;
	}
	struct buf name = {0};
	const char *part = r.skipped ? " of a part of it" : "";
	fmt_name(&name, str_of(path));
	if (r.added)
		printf("%s: %llu statement%s%s added (%llu execution%s, %llu version%s)\n", buf_cstr(&name), ull(r.statements),
		       s_of(r.statements), part, ull(r.executions), s_of(r.executions), ull(r.versions), s_of(r.versions));
	else
		printf("%s: nothing new%s\n", buf_cstr(&name), r.forgotten ? "" : ", it was imported before");
	buf_release(&name);
	return whole;
}

/* Folders and what begins as a block does, or is called like a segment, are logs; everything else is a document. */
static bool is_log(const char *path)
{
	struct stat st;
	char magic[3] = "";
	size_t n = strlen(path);
	if (strcmp(path, "-") == 0)
		return false;
	if (stat(path, &st) < 0 || S_ISDIR(st.st_mode))
		return true; /* the sentence about what is not there comes from there */
	if (n > 4 && strcmp(path + n - 4, ".stl") == 0)
		return true;
	int fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) && memcmp(magic, "STL", sizeof(magic)) == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

/* Gives the exit status, the worst of all operands. */
int cmd_import(struct cmd *c, const struct opts_import *o)
{
	struct err err = {0};
	char *home = NULL;
	if (!c->n_operands)
		return report_usage(c, "import needs a file or folder");
	if (store_places(cmd_home(c), &err, &home, NULL) < 0)
		return report_err(&err, STATUS_SELF);
	json_t *list = o->json ? json_array() : NULL;
	int status = STATUS_OK;
	for (int i = 0; i < c->n_operands; i++) {
		const char *path = c->operands[i];
		int s = is_log(path) ? import_log(home, path, list) : import_prov(home, path, list);
		status = s > status ? s : status;
	}
	free(home);
	if (list) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "imports", list);
		int s = js_print(all, false);
		status = s > status ? s : status;
	}
	return status;
}

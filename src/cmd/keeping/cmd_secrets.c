/* stemma secrets: search the record, a run, or files that were exported for secrets; take them out of the record. */
#include "base/io.h"
#include "cmd/keeping/keeping.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "keep/secrets.h"
#include "query/target.h"
#include "redact/redact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN 4 /* characters of a secret at most, and at most a quarter of it */
#define DEEP 32 /* folders */

struct secrets {
	struct cmd *c;
	const struct opts_secrets *o;
	json_t *list;
	uint64_t found;
	const char *file; /* that is searched; line */
	uint64_t line;
};

/* What of a secret may be shown. */
static struct str printable_beginning(struct str secret)
{
	size_t n = secret.n / 4 < SHOWN ? secret.n / 4 : SHOWN;
	for (size_t i = 0; i < n; i++)
		if (secret.p[i] < 0x20 || secret.p[i] > 0x7e)
			n = i;
	return str_n(secret.p, n);
}

/* Never the whole secret: its family, length and first letters. at: NULL: in a file. */
static void print_secret(struct secrets *s, const char *family, struct str secret, const struct keep_secret *at)
{
	struct str begins = printable_beginning(secret);
	s->found++;
	if (s->list) {
		json_t *e = json_object();
		js_text(e, "family", family);
		js_str(e, "begins", begins);
		js_num(e, "length", secret.n);
		if (at) {
			js_text(e, "event", at->event);
			js_str_if(e, "of", at->what);
			js_str_if(e, "run", at->run);
			js_time(e, "time", at->time);
			js_big(e, "session", at->session);
			js_big(e, "seq", at->seq);
		} else {
			js_text(e, "file", s->file);
			js_num(e, "line", s->line);
		}
		js_add(s->list, e);
		return;
	}
	struct buf b = {0};
	buf_printf(&b, "%-20s ", family);
	buf_str(&b, begins);
	buf_printf(&b, "...%*s ", (int)(SHOWN - begins.n), "");
	if (at) {
		buf_printf(&b, "%-10s ", at->event);
		if (at->run.n)
			buf_printf(&b, "run %.*s ", (int)at->run.n, at->run.p);
		fmt_time(&b, at->time, true);
		if (at->what.n) {
			buf_printf(&b, "  ");
			fmt_name(&b, at->what);
		}
	} else {
		fmt_name(&b, str_of(s->file));
		buf_printf(&b, ":%llu", (unsigned long long)s->line);
	}
	puts(buf_cstr(&b));
	buf_release(&b);
}

/* Prints a secret. For keep's callbacks: one that is in the record. arg: as of print_secret. */
static void in_record(void *arg, const struct keep_secret *k)
{
	print_secret(arg, k->family, k->secret, k);
}

/* Prints a secret. For callbacks: one that is in a file, of which no more is known. */
static void print_file_secret(void *arg, const char *family, struct str secret)
{
	print_secret(arg, family, secret, NULL);
}

/* ---- files ---- */

/* A status, reported. */
static int search_file(struct secrets *s, const char *path)
{
	struct redact_watch watch = {print_file_secret, s};
	struct buf out = {0};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	FILE *f = fopen(path, "re");
	if (!f) {
		report("cannot read '%s': %s", path, strerror(errno));
		return STATUS_SELF;
	}
	s->file = path;
	s->line = 0;
	while ((n = getline(&line, &cap, f)) > 0) {
		s->line++;
		buf_reset(&out);
		redact_text_watched(&watch, &out, str_n(line, (size_t)n));
	}
	bool bad = ferror(f) || out.failed;
	if (bad)
		report("cannot read all of '%s'", path);
	free(line);
	buf_release(&out);
	fclose(f);
	return bad ? STATUS_SELF : STATUS_OK;
}

/* A file, or all files of a folder; links are not followed there. At most DEEP folders deep. A status, reported. */
static int search_path(struct secrets *s, const char *path, unsigned depth)
{
	struct stat st;
	if ((depth ? lstat(path, &st) : stat(path, &st)) < 0) {
		report("cannot read '%s': %s", path, strerror(errno));
		return STATUS_SELF;
	}
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) ? search_file(s, path) : STATUS_OK;
	DIR *d = depth < DEEP ? opendir(path) : NULL;
	int status = d ? STATUS_OK : STATUS_SELF;
	if (!d)
		report("cannot read the folder '%s'", path);
	for (struct dirent *e; d && status == STATUS_OK && (e = readdir(d));) {
		char *name = NULL;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (asprintf(&name, "%s/%s", path, e->d_name) < 0) {
			report("out of memory");
			status = STATUS_SELF;
			break;
		}
		status = search_path(s, name, depth + 1);
		free(name);
	}
	if (d)
		closedir(d);
	return status;
}

/* ---- the record ---- */

/* Searches the record for secrets, and takes them out if that was asked for. run: "" all of them. A status,
 * reported. */
static int search_record(struct secrets *s, struct str run)
{
	struct err err = {0};
	struct keep_logs *logs;
	struct keep_secrets_options o = {.run = run, .redact = s->o->redact, .found = in_record, .arg = s};
	struct keep_secrets_stats stats = {0};
	if (keep_logs_open(store_home(s->c->store), &err, &logs) < 0)
		return report_err(&err, STATUS_SELF);
	int status = keeping_secrets(s->c, logs, &o, &stats);
	if (status == STATUS_OK && stats.segments && !s->list)
		printf("removed %llu secret%s from %llu event%s, %llu segment%s rewritten\n", (unsigned long long)stats.secrets,
		       stats.secrets == 1 ? "" : "s", (unsigned long long)stats.events, stats.events == 1 ? "" : "s",
		       (unsigned long long)stats.segments, stats.segments == 1 ? "" : "s");
	return status;
}

/* A file, a folder, or a run. A status, reported. */
static int search_operand(struct secrets *s, const char *text)
{
	struct cmd *c = s->c;
	struct err err = {0};
	struct target t;
	struct run_info run;
	char ulid[27];
	if (*text != '@' && access(text, F_OK) == 0) {
		if (s->o->redact)
			return report_usage(c, "'%s' is a file: redact the record and export it again", text);
		return search_path(s, text, 0);
	}
	int status = c->store ? STATUS_OK : cmd_store(c, false);
	if (status != STATUS_OK)
		return status;
	int r = target_any(c->store, text, false, &err, &t);
	if (r <= 0)
		return report_err(&err, r < 0 ? cmd_target_status(r) : STATUS_NOTHING);
	if (t.kind != TARGET_RUN)
		return report_usage(c, "secrets searches a record, a run or a text file");
	if (store_run(c->store, t.id, &run) != 1 || run.ulid.n >= sizeof(ulid)) {
		report("cannot look up the run");
		return STATUS_SELF;
	}
	memcpy(ulid, run.ulid.p, run.ulid.n);
	return search_record(s, str_n(ulid, run.ulid.n));
}

/* Gives the exit status: STATUS_NOTHING if it found some and did not remove them. */
int cmd_secrets(struct cmd *c, const struct opts_secrets *o)
{
	struct secrets s = {.c = c, .o = o};
	int status = STATUS_OK;
	if (o->json && !(s.list = json_array())) {
		report("out of memory");
		return STATUS_SELF;
	}
	if (!c->n_operands) {
		status = cmd_store(c, false);
		if (status == STATUS_OK)
			status = search_record(&s, str_of(""));
	}
	for (int i = 0; i < c->n_operands && status == STATUS_OK; i++)
		status = search_operand(&s, c->operands[i]);
	if (s.list && status == STATUS_OK) {
		json_t *all = json_object();
		js_bool(all, "redacted", o->redact);
		js_put(all, "secrets", s.list);
		status = js_print(all, false);
	} else if (s.list) {
		json_decref(s.list);
	}
	/* As fsck: 1 where something is wrong. */
	return status == STATUS_OK && s.found && !o->redact ? STATUS_NOTHING : status;
}

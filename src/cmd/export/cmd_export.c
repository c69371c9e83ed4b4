/* stemma export: the record, or a part of it, in another system's format. */
#include "cmd/cmd.h"
#include "cmd/export/export_check.h"
#include "cmd/ui/destination.h"
#include "export/export.h"
#include "query/find/when.h"
#include "query/target.h"
#include "trust/rerun/rerun.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ids {
	store_id *v;
	size_t n;
};

/* Adds a run to the list. False: no memory. */
static bool append_run_id(struct ids *l, store_id id)
{
	store_id *v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (!v)
		return false;
	l->v = v;
	l->v[l->n++] = id;
	return true;
}

struct selection {
	struct ids versions, runs, execs, highlight;
};

static void selection_release(struct selection *s)
{
	free(s->versions.v);
	free(s->runs.v);
	free(s->execs.v);
	free(s->highlight.v);
}

/* Selects what a word names for the export. highlight: text is a file that is to stand out. A status, reported. */
static int add_target(struct cmd *c, const char *text, bool only_file, struct selection *s, bool highlight)
{
	struct target t;
	int status = cmd_target(c, text, only_file, &t);
	if (status != STATUS_OK)
		return status;
	if (t.kind == TARGET_FILE && !t.file.version) {
		report("only the name of '%s' is recorded, not its content", text);
		return STATUS_NOTHING;
	}
	if (highlight && t.kind != TARGET_FILE)
		return report_usage(c, "--highlight takes a file");
	struct ids *to = highlight               ? &s->highlight
	                 : t.kind == TARGET_FILE ? &s->versions
	                 : t.kind == TARGET_RUN  ? &s->runs
	                                         : &s->execs;
	if (!append_run_id(to, t.kind == TARGET_FILE ? t.file.version : t.id)) {
		report("out of memory");
		return STATUS_SELF;
	}
	return STATUS_OK;
}

/* Adds all operands, and what is to be highlighted. Gives the exit status. */
static int select_targets(struct cmd *c, const struct opts_export *o, struct selection *s)
{
	int status = STATUS_OK;
	for (int i = 0; status == STATUS_OK && i < c->n_operands; i++)
		status = add_target(c, c->operands[i], c->n_operands - i <= c->n_after_dashes, s, false);
	if (status == STATUS_OK && o->highlight)
		status = add_target(c, o->highlight, true, s, true);
	return status;
}

/* Reads a time of the command line. *ret: TIME_NONE if text is NULL. An exit status. */
static int parse_when(struct cmd *c, const char *text, int64_t now, int64_t *ret)
{
	*ret = TIME_NONE;
	if (!text || when_parse(text, now, ret) == 0)
		return STATUS_OK;
	return report_usage(c, "'%s' is not a time such as 2h, 90d or 2026-01-31T14:00", text);
}

/* Writes the export to standard output or a file. path: NULL: standard output; a file is replaced only when all is
 * written. A status, reported. */
static int write_document(struct prov_source *p, const struct export_format *f, const struct export_options *eo,
                          const char *path)
{
	struct destination d;
	struct out out;
	struct err err = {0};
	int status = destination_open(path, &d);
	if (status != STATUS_OK)
		return status;
	if (out_open(&out, d.fd) < 0) {
		report("out of memory");
		return destination_close(path, &d, STATUS_SELF);
	}
	int r = f->write(p, &out, eo, &err), w = out_close(&out);
	if (w < 0) {
		report("cannot write '%s': %s", path ? path : "standard output", strerror(-w));
		status = STATUS_SELF;
	} else if (r < 0)
		status = report_err(&err, STATUS_SELF);
	return destination_close(path, &d, status);
}

/* Gives the exit status. */
static int list_formats(void)
{
	for (size_t i = 0; i < export_n_formats; i++)
		printf("%-14s %s\n", export_formats[i].name, export_formats[i].meaning);
	return STATUS_OK;
}

/* Whether a rerun made it, in a store of its own. */
static bool is_own_run(void *arg, store_id run)
{
	struct cmd *c = arg;
	return rerun_is_own(c->store, run, store_home(c->store)) == 1;
}

/* A status, reported. Files that were left out are counted. */
static int write_selected(struct cmd *c, const struct opts_export *o, const struct export_format *f,
                          struct prov_source *p, const struct selection *s)
{
	struct err err = {0};
	uint64_t left_out = 0;
	int status = STATUS_OK;
	struct export_options eo = {.target = o->output,
	                            .with_files = o->files,
	                            .is_own = is_own_run,
	                            .is_own_arg = c,
	                            .left_out = &left_out,
	                            .highlight = s->highlight.v,
	                            .n_highlight = s->highlight.n};
	if (f->target == TARGET_STREAM)
		status = write_document(p, f, &eo, o->output);
	else if (f->write(p, NULL, &eo, &err) < 0)
		status = report_err(&err, STATUS_SELF);
	if (status == STATUS_OK && left_out)
		report("left out: %llu file%s missing, changed since, or not readable by everyone",
		       (unsigned long long)left_out, left_out == 1 ? "" : "s");
	return status;
}

/* Gives the exit status. */
int cmd_export(struct cmd *c, const struct opts_export *o)
{
	struct timespec now;
	struct err err = {0};
	struct prov_select sel = {.lineage = {.direction = o->down ? LINEAGE_DOWN : LINEAGE_UP,
	                                      .depth = (unsigned)o->depth,
	                                      .all = o->all,
	                                      .fork = o->fork,
	                                      .certain = o->certain}};
	if (o->formats)
		return list_formats();
	if (o->check && c->n_operands)
		return export_check_documents(c);
	if (!o->format && !o->check)
		return report_usage(c, "export needs --format; --formats lists the formats");
	const struct export_format *f = o->check ? NULL : export_format(o->format);
	if (!f && !o->check)
		return report_usage(c, "unknown format '%s'; --formats lists the formats", o->format);
	if (o->depth > UINT_MAX)
		return report_usage(c, "--depth %llu is too large", (unsigned long long)o->depth);
	if (f && f->target == TARGET_DIRECTORY && !o->output)
		return report_usage(c, "format '%s' makes a directory and needs --output", o->format);
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	int status = parse_when(c, o->since, ns, &sel.since);
	if (status == STATUS_OK)
		status = parse_when(c, o->until, ns, &sel.until);
	if (status == STATUS_OK)
		status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	sel.lineage.wholes = f && export_is_of_files(f);
	sel.lineage.skew = config_duration(&c->config, CONFIG_skew);
	sel.lineage.system_extra = config_get(&c->config, CONFIG_system);

	struct selection s = {.versions = {0}};
	struct prov_source *p = NULL;
	status = select_targets(c, o, &s);
	if (status == STATUS_OK) {
		sel.versions = s.versions.v;
		sel.n_versions = s.versions.n;
		sel.runs = s.runs.v;
		sel.n_runs = s.runs.n;
		sel.execs = s.execs.v;
		sel.n_execs = s.execs.n;
		if (prov_open(c->store, &sel, &err, &p) < 0)
			status = report_err(&err, STATUS_SELF);
	}
	if (status == STATUS_OK)
		status = o->check ? export_check_source(p) : write_selected(c, o, f, p, &s);
	prov_close(p);
	selection_release(&s);
	return status;
}

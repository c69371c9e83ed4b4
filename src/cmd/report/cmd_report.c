/* stemma report: a run or a file as one page for a browser. */
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/ui/destination.h"
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES 50000 /* of a page of about 10 MB, which a browser still opens within seconds */

/* Reads a number of nodes. False: it is no number. */
static bool read_nodes(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	*ret = n;
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* False: it is the word of none. */
static bool read_picture(const char *word, enum report_picture *ret)
{
	static const char *const words[] = {[REPORT_GANTT] = "gantt", [REPORT_READS] = "reads", [REPORT_SERIES] = "series"};
	for (unsigned i = REPORT_GANTT; i <= REPORT_SERIES; i++) {
		*ret = (enum report_picture)i;
		if (strcmp(words[i], word) == 0)
			return true;
	}
	return false;
}

/* What a page can be of, or compared with. The status. A status, reported. */
static int find_subject(struct cmd *c, const char *name, bool only_file, struct target *ret)
{
	int status = cmd_target(c, name, only_file, ret);
	if (status != STATUS_OK)
		return status;
	if (ret->kind == TARGET_EXEC)
		return report_usage(c, "'%s' is an execution; report takes a run or a file", name);
	if (ret->kind == TARGET_FILE && !ret->file.version) {
		report("only the name of '%s' is recorded, not its content", name);
		return STATUS_NOTHING;
	}
	return STATUS_OK;
}

/* Writes the page to standard output or a file. path: NULL: standard output; a file is replaced only when all is
 * written. A status, reported. */
static int write_page(const struct buf *page, const char *path)
{
	struct destination d;
	int status = destination_open(path, &d);
	if (status != STATUS_OK)
		return status;
	int r = io_write(d.fd, page->p, page->n, NULL);
	if (r < 0) {
		report("cannot write '%s': %s", path ? path : "standard output", strerror(-r));
		status = STATUS_SELF;
	}
	return destination_close(path, &d, status);
}

/* What cannot be meant. The status; *ret is what the options say. */
static int read_report_options(const struct cmd *c, const struct opts_report *o, struct report_request *ret)
{
	*ret = (struct report_request){.most = NODES, .series = o->series, .against = o->against};
	if (c->n_operands != 1)
		return report_usage(c, "report needs one run or file");
	if (o->picture && !read_picture(o->picture, &ret->picture))
		return report_usage(c, "picture '%.40s' is not one of gantt, reads, series", o->picture);
	if (o->picture && o->against)
		return report_usage(c, "--picture or --against, not both");
	if (o->nodes && !read_nodes(o->nodes, &ret->most))
		return report_usage(c, "--nodes %.40s is not a number", o->nodes);
	if ((!o->output || strcmp(o->output, "-") == 0) && c->out.tty)
		return report_usage(c, "standard output is a terminal: use --output FILE");
	ret->name = c->operands[0];
	return STATUS_OK;
}

/* A status, reported. */
static int find_subjects(struct cmd *c, struct report_request *q)
{
	int status = find_subject(c, q->name, c->n_after_dashes > 0, &q->target);
	if (status == STATUS_OK && q->against)
		status = find_subject(c, q->against, false, &q->other);
	if (status == STATUS_OK && q->against && q->other.kind != q->target.kind)
		return report_usage(c, "'%s' and '%s' are of different kinds", q->name, q->against);
	return status;
}

/* Gives the exit status. */
int cmd_report(struct cmd *c, const struct opts_report *o)
{
	struct err err = {0};
	struct buf page = {0};
	struct report_request q;
	int status = read_report_options(c, o, &q);
	if (status == STATUS_OK)
		status = cmd_store(c, o->no_index);
	if (status == STATUS_OK)
		status = find_subjects(c, &q);
	if (status != STATUS_OK)
		return status;
	int r = report_make(cmd_source(c), &q, &err, &page);
	bool mistaken = r == -EINVAL || r == -EBADMSG; /* in what was given to it */
	status = r < 0 ? report_err(&err, mistaken ? STATUS_USAGE : STATUS_SELF) : write_page(&page, o->output);
	buf_release(&page);
	return status;
}

/* stemma methods: the paragraph for the methods section of a paper. */
#include "cmd/methods/methods_view.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <stdlib.h>

enum format { METHODS_TEXT, METHODS_MARKDOWN, METHODS_JSON, METHODS_CFF, METHODS_NONE };

/* The format that the options ask for. METHODS_NONE: a word that is none. */
static enum format format_of(const struct opts_methods *o)
{
	static const char *const words[] = {"text", "markdown", "json", "cff"};
	if (!o->format)
		return o->json ? METHODS_JSON : METHODS_TEXT;
	for (int i = 0; i < METHODS_NONE; i++)
		if (strcmp(o->format, words[i]) == 0)
			return (enum format)i;
	return METHODS_NONE;
}

/* A status, reported. */
static int print_methods(struct cmd *c, const struct methods *m, enum format format)
{
	struct methods_view v = {.c = c, .m = m, .markdown = format == METHODS_MARKDOWN};
	json_t *json = NULL;
	int r = format == METHODS_JSON  ? methods_json(cmd_source(c), m, &json)
	        : format == METHODS_CFF ? methods_write_cff(&v)
	                                : methods_write_text(&v);
	int status = STATUS_OK;
	if (r < 0)
		status = cmd_report_unread(c->store, "describe the methods");
	else if (json)
		status = js_print(json, false);
	else
		fwrite(v.b.p, 1, v.b.n, stdout);
	buf_release(&v.b);
	return status;
}

/* Gives the exit status. STATUS_NOTHING: nobody was seen making it. */
int cmd_methods(struct cmd *c, const struct opts_methods *o)
{
	enum format format = format_of(o);
	struct file_target t;
	struct methods m;
	if (format == METHODS_NONE)
		return report_usage(c, "format '%.40s' is not one of text, markdown, json, cff", o->format);
	if (c->n_operands != 1)
		return report_usage(c, "methods needs exactly one file");
	int status = cmd_store(c, o->no_index);
	if (status == STATUS_OK)
		status = cmd_file(c, c->operands[0], &t);
	if (status != STATUS_OK)
		return status;
	if (!t.version) {
		report("only the name of '%s' is recorded, not its content", c->operands[0]);
		return STATUS_NOTHING;
	}
	if (methods_find(cmd_source(c), t.version, &m) < 0)
		return cmd_report_unread(c->store, "find what made the file");
	if (!m.steps.n) {
		report("no program was seen making '%s'", c->operands[0]);
		report_hint("stemma why '%s' prints what is known about the file", c->operands[0]);
		status = STATUS_NOTHING;
	} else {
		if (!t.n && t.disk != DISK_SAME)
			report("'%s' is not as recorded: this describes its last recorded version", c->operands[0]);
		status = print_methods(c, &m, format);
	}
	methods_release(&m);
	return status;
}

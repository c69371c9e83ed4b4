/* stemma fsck: check the logs and the index against each other. */
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

struct report {
	json_t *findings; /* NULL: print */
};

/* arg is a struct report: into its JSON, or printed. */
static void print_finding(void *arg, const char *line)
{
	struct report *r = arg;
	if (r->findings) {
		js_add(r->findings, js_string(str_of(line)));
		return;
	}
	struct buf b = {0};
	fmt_name(&b, str_of(line));
	puts(buf_cstr(&b));
	buf_release(&b);
}

/* Gives the exit status: STATUS_NOTHING if there are problems. */
int cmd_fsck(struct cmd *c, const struct opts_fsck *o)
{
	struct err err = {0};
	if (c->n_operands)
		return report_usage(c, "fsck takes no arguments");
	bool damaged = false;
	int status = cmd_store_as_it_is(c, &damaged);
	if (status != STATUS_OK)
		return status;
	struct report r = {.findings = o->json ? json_array() : NULL};
	if (damaged)
		print_finding(&r, "the index is damaged; stemma index --rebuild rebuilds it from the logs");
	int n = store_fsck(c->store, print_finding, &r, &err);
	n = n < 0 ? n : n + damaged;
	if (n < 0) {
		json_decref(r.findings);
		return report_err(&err, STATUS_SELF);
	}
	if (o->json) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "findings", r.findings);
		status = js_print(all, false);
		return status != STATUS_OK ? status : n ? STATUS_NOTHING : STATUS_OK;
	}
	if (n)
		report("%d finding%s", n, n == 1 ? "" : "s");
	else
		report("no problems found");
	return n ? STATUS_NOTHING : STATUS_OK;
}

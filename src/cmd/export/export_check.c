#include "cmd/export/export_check.h"

#include "cmd/ui/columns.h"
#include "import/check.h"

#include <stdio.h>

/* Prints a line of what is wrong with a document. arg: the document's name, NULL the record. Lines that begin with a
 * blank go on with the one before. */
static void print_check_line(void *arg, struct str line)
{
	struct buf b = {0};
	const char *name = arg;
	if (name && line.n && line.p[0] != ' ') {
		fmt_name(&b, str_of(name));
		buf_str(&b, str_of(": "));
	}
	fmt_name(&b, line);
	puts(buf_cstr(&b));
	buf_release(&b);
}

/* Reports whether a document is valid PROV. name: as print_check_line. STATUS_NOTHING: it is not valid, or parts
 * could not be read. */
static int report_check_verdict(const char *name, const struct check_report *r)
{
	const char *colon = name ? ": " : "";
	unsigned long long n = r->violations;
	name = name ? name : "";
	if (n)
		report("%s%s%llu violation%s of PROV-CONSTRAINTS", name, colon, n, n == 1 ? "" : "s");
	else
		report(r->skipped ? "%s%sincomplete: the readable part is valid, %llu statement%s"
		                  : "%s%svalid, %llu statement%s",
		       name, colon, (unsigned long long)r->statements, str_plural(r->statements));
	if (r->skipped)
		report("%s%s%llu part%s could not be read, the first at line %u", name, colon, (unsigned long long)r->skipped,
		       str_plural(r->skipped), r->skipped_line);
	return n || r->skipped ? STATUS_NOTHING : STATUS_OK;
}

int export_check_documents(const struct cmd *c)
{
	int status = STATUS_OK;
	for (int i = 0; i < c->n_operands; i++) {
		struct err err = {0};
		struct check_report r;
		char *name = c->operands[i];
		int s = check_document(name, print_check_line, name, &err, &r) < 0 ? report_err(&err, STATUS_SELF)
		                                                                   : report_check_verdict(name, &r);
		status = s > status ? s : status;
	}
	return status;
}

/* STATUS_OK: valid; STATUS_NOTHING: violations, which are printed; STATUS_SELF. */
int export_check_source(struct prov_source *p)
{
	struct err err = {0};
	struct check_report r;
	return check_source(p, print_check_line, NULL, &err, &r) < 0 ? report_err(&err, STATUS_SELF)
	                                                             : report_check_verdict(NULL, &r);
}

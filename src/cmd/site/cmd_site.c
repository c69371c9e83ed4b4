/* stemma site: the record in a database, for the questions of many. */
#include "answer/fmt.h"
#include "cmd/site/site_tables.h"
#include "cmd/ui/js_print.h"
#include "site/database.h"
#include "site/load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Gives the exit status. */
static int print_load(const struct opts_site *o, const struct load_result *r)
{
	if (o->json) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_num(all, "rows", r->rows);
		js_num(all, "written_rows", r->written);
		js_num(all, "written_bytes", r->bytes);
		js_num(all, "pieces", r->pieces);
		js_num(all, "changed_pieces", r->changed);
		if (r->has_index) {
			js_num(all, "index_pages", r->index_pages);
			js_num(all, "changed_index_pages", r->index_changed);
		}
		return js_print(all, false);
	}
	struct buf size = {0};
	fmt_size(&size, r->bytes, false);
	printf("%llu row%s, of which %llu %s written", (unsigned long long)r->rows, str_plural(r->rows),
	       (unsigned long long)r->written, r->written == 1 ? "was" : "were");
	if (r->has_index)
		printf("; %llu page%s of the index, of which %llu %s written", (unsigned long long)r->index_pages,
		       str_plural(r->index_pages), (unsigned long long)r->index_changed,
		       r->index_changed == 1 ? "was" : "were");
	printf(" (%s)\n", buf_cstr(&size));
	buf_release(&size);
	return STATUS_OK;
}

/* Loads this store into the database. Gives the exit status. */
static int load_into(struct cmd *c, const struct opts_site *o, const char *url)
{
	struct err err = {0};
	struct load_result r;
	struct database *to = NULL;
	struct utsname host;
	char *home = NULL, *source = NULL;
	int status = cmd_store_exists(c);
	if (status != STATUS_OK)
		return status;
	uname(&host);
	if (database_open(url, &err, &to) < 0 || load_begin(to, &err) < 0)
		status = report_err(&err, STATUS_SELF);
	else if ((status = cmd_store(c, o->no_index)) != STATUS_OK)
		;
	else if (store_places(cmd_home(c), &err, &home, NULL) < 0)
		status = report_err(&err, STATUS_SELF);
	else if (asprintf(&source, "%s:%s", host.nodename, home) < 0)
		status = report_lack(STATUS_SELF);
	else if (load_record(to, c->store, &(struct load_options){source, o->replace, o->questions}, &err, &r) < 0)
		status = report_err(&err, STATUS_SELF);
	else
		status = print_load(o, &r);
	database_close(to);
	free(source);
	free(home);
	return status;
}

/* Gives the exit status. */
int cmd_site(struct cmd *c, const struct opts_site *o)
{
	const bool load = c->n_operands && !strcmp(c->operands[0], "load");
	if (c->n_operands != 2 || (!load && !site_is_table(c->operands[0])))
		return report_usage(
		    c, "site needs load, programs, libraries, compilers, built or files, and then postgresql://HOST/DATABASE");
	if (!database_is_url(c->operands[1]))
		return report_usage(c, "'%s' is not the URL of a database: use postgresql://HOST/DATABASE", c->operands[1]);
	if (!load && (o->replace || o->questions || o->no_index))
		return report_usage(c, "--replace, --questions and --no-index are for 'load' only");
	if (load && (o->path || o->unread_since || o->count))
		return report_usage(c, "--path, --unread-since and --max-count are not for 'load'");
	return load ? load_into(c, o, c->operands[1]) : site_print_table(c, o, c->operands[0], c->operands[1]);
}

/* stemma site: the record in a database, for the questions of many. */
#include "answer/fmt.h"
#include "cmd/site/site_tables.h"
#include "cmd/site/site_wait.h"
#include "cmd/ui/js_print.h"
#include "site/builder.h"
#include "site/database.h"
#include "site/load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* HOST:FOLDER, which the database knows the record by; to be freed. NULL: reported. */
static char *record_name(const struct cmd *c)
{
	struct err err = {0};
	struct utsname host;
	char *home = NULL, *name = NULL;
	uname(&host);
	if (store_places(cmd_home(c), &err, &home, NULL) < 0)
		report_err(&err, STATUS_SELF);
	else if (asprintf(&name, "%s:%s", host.nodename, home) < 0)
		report_lack(STATUS_SELF), name = NULL;
	free(home);
	return name;
}

/* Loads this store into the database. Gives the exit status. */
static int load_into(struct cmd *c, const struct opts_site *o, const char *url)
{
	struct err err = {0};
	struct load_result r;
	struct database *to = NULL;
	char *source = NULL;
	int status = cmd_store_exists(c);
	if (status != STATUS_OK)
		return status;
	if (database_open(url, &err, &to) < 0 || load_begin(to, &err) < 0)
		status = report_err(&err, STATUS_SELF);
	else if ((status = cmd_store(c, o->no_index)) != STATUS_OK)
		;
	else if (!(source = record_name(c)))
		status = STATUS_SELF;
	else if (load_record(to, c->store,
	                     &(struct load_options){.source = source, .replace = o->replace, .index = o->questions}, &err,
	                     &r) < 0)
		status = report_err(&err, STATUS_SELF);
	else
		status = print_load(o, &r);
	database_close(to);
	free(source);
	return status;
}

/* ---- a builder ---- */

struct building {
	struct cmd *c;
	const struct opts_site *o;
	struct database *to; /* NULL: not connected */
	struct builder b;
	char *logs;                                 /* the folder */
	struct stat index, wal;                     /* of the index, as they were before the last look */
	bool loaded;                                /* that state is in the database, under this epoch */
	char said[sizeof(((struct err *)0)->text)]; /* what was reported last; the same is not said again */
};

/* Says why nothing is loaded, once. */
static void tell_once(struct building *x, const struct err *err)
{
	if (strcmp(x->said, err->text) != 0)
		report_err(err, STATUS_SELF);
	snprintf(x->said, sizeof(x->said), "%s", err->text);
}

/* Whether two looks at a file saw the same. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim));
}

/* The index and its journal, as they are now; one that is not there is zero. */
static void look_at_index(const struct cmd *c, struct stat *index, struct stat *wal)
{
	char *path = NULL, *journal = NULL;
	struct err ignored = {0};
	memset(index, 0, sizeof(*index));
	memset(wal, 0, sizeof(*wal));
	if (store_places(cmd_home(c), &ignored, NULL, &path) == 0 && stat(path, index) < 0)
		memset(index, 0, sizeof(*index));
	if (path && asprintf(&journal, "%s-wal", path) >= 0 && stat(journal, wal) < 0)
		memset(wal, 0, sizeof(*wal));
	free(journal);
	free(path);
}

/* Loads, in the state that the open store has. 0; -ESTALE; -errno with a sentence. */
static int load_state(struct building *x, struct err *err)
{
	struct load_result r;
	const struct load_options how = {
	    .source = x->b.name, .builder = &x->b, .replace = x->b.replace, .index = x->o->questions && !x->loaded};
	int rc = load_begin(x->to, err);
	rc = rc < 0 ? rc : load_record(x->to, x->c->store, &how, err, &r);
	if (rc < 0)
		return rc;
	x->b.replace = false;
	x->said[0] = '\0';
	if (r.written || r.index_changed)
		print_load(x->o, &r), fflush(stdout);
	return 0;
}

/* Brings the index up to date, and the database if it is this builder's to write. A failure is told, and tried again
 * the next time. */
static void build_once(struct building *x)
{
	struct err err = {0};
	struct stat index, wal, now, now_wal;
	const uint64_t epoch = x->b.epoch;
	if (access(x->logs, F_OK) < 0)
		return;
	look_at_index(x->c, &index, &wal);
	int rc = x->to ? 0 : database_open(x->b.url, &err, &x->to);
	if (rc == 0 && cmd_store(x->c, x->o->no_index) == STATUS_OK) {
		rc = builder_claim(&x->b, x->to, x->c->store, &err);
		look_at_index(x->c, &now, &now_wal);
		x->loaded = x->loaded && epoch == x->b.epoch;
		const bool same = x->loaded && is_same_file(&now, &x->index) && is_same_file(&now_wal, &x->wal);
		if (rc == 1 && !same) {
			rc = load_state(x, &err);
			x->loaded = rc == 0;
		}
		x->index = index;
		x->wal = wal;
	}
	store_close(x->c->store);
	x->c->store = NULL;
	if (err.text[0])
		tell_once(x, &err);
	if (rc < 0) { /* whatever it was, the next one begins anew: also the transaction */
		x->loaded = false;
		database_close(x->to);
		database_close(x->b.sign);
		x->to = x->b.sign = NULL;
	}
}

/* Until a signal comes. Gives the exit status. */
static int load_watch(struct cmd *c, const struct opts_site *o, const char *url)
{
	struct building x = {.c = c, .o = o, .b = {.url = url, .replace = o->replace}};
	struct err err = {0};
	int64_t interval;
	char *home = NULL;
	int status = site_interval(c, "--interval", o->interval, 10000000000, &interval);
	if (status == STATUS_OK && site_interval(c, "--take-over", o->take_over, 60000000000, &x.b.lasts) != STATUS_OK)
		status = STATUS_USAGE;
	if (status != STATUS_OK)
		return status;
	if (store_places(cmd_home(c), &err, &home, NULL) < 0)
		status = report_err(&err, STATUS_SELF);
	else if (!(x.b.name = record_name(c)) || asprintf(&x.logs, "%s/logs", home) < 0)
		status = STATUS_SELF;
	site_wait_begin();
	if (status == STATUS_OK) {
		do
			build_once(&x);
		while (site_wait(interval));
		builder_resign(&x.b, x.to);
	}
	database_close(x.to);
	database_close(x.b.sign);
	free((char *)(uintptr_t)x.b.name);
	free(x.logs);
	free(home);
	return status;
}

/* Gives the exit status. */
int cmd_site(struct cmd *c, const struct opts_site *o)
{
	const bool load = c->n_operands && !strcmp(c->operands[0], "load");
	if (c->n_operands != 2 || (!load && !site_is_table(c->operands[0])))
		return report_usage(c, "site needs load, programs, libraries, compilers, built, files or hosts, and then "
		                       "postgresql://HOST/DATABASE");
	if (!database_is_url(c->operands[1]))
		return report_usage(c, "'%s' is not the URL of a database: use postgresql://HOST/DATABASE", c->operands[1]);
	if (!load && (o->replace || o->questions || o->no_index))
		return report_usage(c, "--replace, --questions and --no-index are for 'load' only");
	if (load && (o->path || o->unread_since || o->count))
		return report_usage(c, "--path, --unread-since and --max-count are not for 'load'");
	if (!load && (o->watch || o->interval || o->take_over))
		return report_usage(c, "--watch, --interval and --take-over are for 'load' only");
	if (!o->watch && (o->interval || o->take_over))
		return report_usage(c, "--interval and --take-over require --watch");
	if (o->watch)
		return load_watch(c, o, c->operands[1]);
	return load ? load_into(c, o, c->operands[1]) : site_print_table(c, o, c->operands[0], c->operands[1]);
}

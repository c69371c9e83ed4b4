/* workflows_print.c - `stemma lineage --workflows`: which workflow made what another one used. */
#include "cmd/lineage/workflows_print.h"

#include "answer/entities.h"
#include "answer/stages/workflows.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <stdlib.h>

#define ARGV_MAX 120 /* bytes of a command line */
#define USERS_MAX 4  /* workflows that used one version which are named */

/* Appends what names a workflow. head: with time and stages. 1; 0: the record does not have it; -errno. */
static int put_workflow(const struct workflows *w, uint32_t i, bool head, struct buf *b)
{
	struct strlist argv;
	struct str ulid;
	int r = workflow_argv(w, i, &argv, &ulid);
	if (r <= 0)
		return r;
	fmt_name(b, fmt_run(ulid));
	buf_printf(b, "  ");
	if (head) {
		fmt_time(b, w->v[i].start, true);
		buf_printf(b, "  ");
	}
	fmt_argv(b, &argv, true, ARGV_MAX);
	if (head && w->v[i].stages)
		buf_printf(b, "  (%zu stage%s)", w->v[i].stages, str_plural(w->v[i].stages));
	return r;
}

/* Appends the name of a version. 1; 0: the record does not have it; -errno. */
static int put_version(const struct workflows *w, store_id version, struct buf *b)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(w->s, version, &v);
	if (r > 0)
		r = store_file(w->s, v.file, &f);
	if (r > 0)
		version_name(b, &v, &f);
	return r;
}

/* ": used by A, ? B and 3 more", but not by the workflow that made it. Negative if that failed. */
static int put_users(const struct workflows *w, const struct workflow_shared *x, uint32_t but, struct buf *b)
{
	size_t shown = 0, more = 0;
	int r = 1;
	for (size_t k = 0; k < x->n_users && r >= 0; k++) {
		if (x->users[k].workflow == but)
			continue;
		if (shown == USERS_MAX) {
			more++;
			continue;
		}
		buf_printf(b, "%s%s", shown++ ? ", " : ": used by ", x->users[k].sure ? "" : "? ");
		r = put_workflow(w, x->users[k].workflow, false, b);
	}
	if (more)
		buf_printf(b, " and %zu more", more);
	return r;
}

/* Cut to the width of a terminal. b stays as it is. */
static void print_line(const struct screen *out, const struct buf *b, enum style s)
{
	struct buf line = {0};
	buf_str(&line, buf_view(b));
	if (out->tty)
		fmt_fit(&line, 0, (size_t)out->width, out->utf8);
	printf("%s%s%s\n", style_on(out, s), buf_cstr(&line), style_off(out));
	buf_release(&line);
}

/* A version by one of its makers. */
struct made {
	int64_t start; /* of the maker */
	uint32_t maker, shared;
	bool sure;
};

/* Compares two made versions by the maker's start, then maker and place: an order of its own for each. */
static int by_maker(const void *pa, const void *pb)
{
	const struct made *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->maker != b->maker ? (a->maker > b->maker) - (a->maker < b->maker)
	                            : (a->shared > b->shared) - (a->shared < b->shared);
}

/* Prints a version that one workflow made and others used. 0, -errno. */
static int print_made(const struct workflows *w, const struct screen *out, const struct made *m, bool head)
{
	struct buf b = {0};
	int r = head ? put_workflow(w, m->maker, true, &b) : 1;
	if (head)
		print_line(out, &b, STYLE_RUN);
	buf_reset(&b);
	buf_printf(&b, "  %smade ", m->sure ? "" : "? ");
	r = r < 0 ? r : put_version(w, w->shared[m->shared].version, &b);
	r = r < 0 ? r : put_users(w, &w->shared[m->shared], m->maker, &b);
	print_line(out, &b, STYLE_FILE);
	buf_release(&b);
	return r < 0 ? r : 0;
}

/* Prints all versions that workflows share, by who made them. 0, -errno. */
static int print_makers(const struct workflows *w, const struct screen *out)
{
	size_t n = 0;
	int r = 0;
	for (size_t k = 0; k < w->n_shared; k++)
		n += w->shared[k].n_makers;
	struct made *v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	n = 0;
	for (uint32_t k = 0; k < w->n_shared; k++)
		for (size_t m = 0; m < w->shared[k].n_makers; m++)
			v[n++] = (struct made){w->v[w->shared[k].makers[m].workflow].start, w->shared[k].makers[m].workflow, k,
			                       w->shared[k].makers[m].sure};
	qsort(v, n, sizeof(*v), by_maker);
	for (size_t i = 0; i < n && r == 0; i++)
		r = print_made(w, out, &v[i], i == 0 || v[i].maker != v[i - 1].maker);
	free(v);
	return r;
}

/* Versions that no workflow made. 0, -errno. */
static int print_outside(const struct workflows *w, const struct screen *out)
{
	struct buf b = {0};
	int r = 1;
	for (size_t k = 0; k < w->n_shared && r >= 0; k++) {
		if (w->shared[k].n_makers)
			continue;
		buf_reset(&b);
		r = put_version(w, w->shared[k].version, &b);
		buf_printf(&b, " external");
		r = r < 0 ? r : put_users(w, &w->shared[k], UINT32_MAX, &b);
		print_line(out, &b, STYLE_FILE);
	}
	buf_release(&b);
	return r < 0 ? r : 0;
}

/* Prints what workflows share. 0, negative. */
static int print_all(const struct workflows *w, const struct screen *out)
{
	int r = print_outside(w, out);
	return r < 0 ? r : print_makers(w, out);
}

int workflows_print(struct cmd *c, store_id file, bool json)
{
	struct workflows w;
	json_t *o = NULL;
	int status = STATUS_SELF;
	int r = workflows_find(cmd_source(c), file, &w);
	bool none = r == 0 && !w.n_shared;
	if (r == 0)
		r = json ? workflows_json(&w, &o) : print_all(&w, &c->out);
	if (r < 0)
		cmd_report_unread(c->store, "find the workflows");
	else if (json)
		status = js_print(o, false);
	else
		status = STATUS_OK;
	workflows_release(&w);
	if (r == 0 && none && !json)
		report("no workflow used what another one made");
	return status == STATUS_OK && none ? STATUS_NOTHING : status;
}

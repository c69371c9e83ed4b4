/* stemma archive: statistics of what tasks used, and summaries that others made. */
#include "archive/submit.h"
#include "base/io.h"
#include "cmd/archive/archive.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "keep/write.h"
#include "summary/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEYS_MAX 8
#define DESCRIPTION_MAX 4096 /* bytes; it goes with each summary of the set */
#define TEXT_MAX (1u << 30)  /* of one submitted file */

/* ---- submitting ---- */

/* Takes the summaries of one file into the archive. STATUS_OK, or STATUS_NOTHING where not all was taken in, which
 * was reported. list: with json. */
static int submit_file(struct submit *u, const char *path, bool json, json_t *list)
{
	struct err err = {0};
	struct buf text = {0}, line = {0};
	struct submit_report r = {0};
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	int rc = strcmp(path, "-") == 0 ? io_read_rest(STDIN_FILENO, TEXT_MAX, &text) : io_read_file(path, TEXT_MAX, &text);
	if (rc < 0)
		err_set(&err, -rc, "cannot read '%s'", path);
	bool was_read = rc == 0;
	if (rc == 0)
		rc = submit_text(u, text.p ? text.p : "", text.n, &err, &r);
	buf_release(&text);
	if (rc < 0 && was_read)
		report("'%s': %s", name, err.text);
	else if (rc < 0)
		report_err(&err, 0);
	if (json) {
		json_t *one = json_object();
		js_text(one, "source", path);
		js_num(one, "summaries", r.read);
		js_num(one, "added", r.added);
		js_num(one, "repeated", r.repeated);
		js_num(one, "forgotten", r.forgotten);
		js_add(list, one);
	} else if (rc == 0 || r.added) {
		fmt_name(&line, str_of(name));
		buf_printf(&line, ": %zu of %zu summar%s added", r.added, r.read, r.read == 1 ? "y" : "ies");
		if (r.repeated)
			buf_printf(&line, ", %zu %s already present", r.repeated, r.repeated == 1 ? "was" : "were");
		if (r.forgotten)
			buf_printf(&line, ", %zu %s of what was forgotten here", r.forgotten, r.forgotten == 1 ? "is" : "are");
		puts(buf_cstr(&line));
		buf_release(&line);
	}
	return rc < 0 ? STATUS_NOTHING : STATUS_OK;
}

/* The worst status of all files. A store is made if there is none. */
static int submit_all(struct cmd *c, const struct opts_archive *o)
{
	struct err err = {0};
	struct submit *u;
	char *home = NULL;
	if (!c->n_operands)
		return report_usage(c, "--submit needs files, or - for standard input");
	int rc = store_places(cmd_home(c), &err, &home, NULL);
	if (rc < 0)
		return report_err(&err, STATUS_SELF);
	char *logs = NULL;
	bool there = asprintf(&logs, "%s/logs", home) >= 0 && access(logs, F_OK) == 0;
	free(logs);
	int status = there ? cmd_store(c, false) : STATUS_OK;
	if (status == STATUS_OK && submit_open(home, c->store, o->describe ? o->describe : "", &err, &u) < 0)
		status = report_err(&err, STATUS_SELF);
	else if (status == STATUS_OK) {
		json_t *list = o->json ? json_array() : NULL;
		for (int i = 0; i < c->n_operands; i++) {
			int one = submit_file(u, c->operands[i], o->json, list);
			status = one > status ? one : status;
		}
		if (submit_close(u, &err) < 0)
			status = report_err(&err, STATUS_SELF);
		if (o->json) {
			json_t *all = json_object();
			js_num(all, "format", 1);
			js_put(all, "submitted", list);
			int printed = js_print(all, false);
			status = printed == STATUS_OK ? status : printed;
		}
	}
	free(home);
	return status;
}

/* ---- what is asked for ---- */

static const unsigned char usual[] = {FIGURE_wall_time, FIGURE_cpu_time, FIGURE_memory_resident_peak,
                                      FIGURE_bytes_read};

/* Figures by their keys, each once; without any the usual ones. A status, reported. */
static int take_figures(struct cmd *c, unsigned char *ret, size_t *ret_n)
{
	size_t n = 0;
	for (int i = 0; i < c->n_operands; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s", c->operands[i]);
		for (char *p = name; *p; p++)
			*p = *p == '-' ? '_' : *p;
		int f = figure_by_name(name);
		if (f < 0) {
			report_usage(c, "unknown figure '%.60s'", c->operands[i]);
			report_hint("man stemma-archive lists the figures, for example wall_time, cpu_time, memory_resident_peak");
			return STATUS_USAGE;
		}
		if (!memchr(ret, f, n))
			ret[n++] = (unsigned char)f;
	}
	if (!n) {
		memcpy(ret, usual, sizeof(usual));
		n = sizeof(usual);
	}
	*ret_n = n;
	return STATUS_OK;
}

/* Reads the keys of --by. text: keys with commas between, NULL none; ret has room for KEYS_MAX. A status, reported.
 */
static int take_keys(struct cmd *c, const char *text, struct key *ret, size_t *ret_n)
{
	size_t n = 0;
	while (text && *text) {
		size_t len = strcspn(text, ",");
		if (n == KEYS_MAX)
			return report_usage(c, "--by takes at most %d keys", KEYS_MAX);
		if (task_key_parse(str_n(text, len), &ret[n]) < 0) {
			struct buf all = {0};
			for (int k = 0; k < TASK_KEYS; k++)
				buf_printf(&all, "%s, ", task_key_name((enum task_key)k));
			report_usage(c, "unknown key '%.*s'", (int)(len < 60 ? len : 60), text);
			report_hint("the keys: %slabel:NAME", buf_cstr(&all));
			buf_release(&all);
			return STATUS_USAGE;
		}
		n++;
		text += len + (text[len] == ',');
	}
	*ret_n = n;
	return STATUS_OK;
}

const char *archive_value(const struct archive *a, size_t group, size_t i)
{
	const char *v = a->h->group[group];
	for (; i; i--)
		v += strlen(v) + 1;
	return v;
}

/* The key's name, or "label:NAME", which is put into ret. */
const char *archive_key_name(const struct key *k, char ret[160])
{
	if (k->key != TASK_KEYS)
		return task_key_name(k->key);
	snprintf(ret, 160, "label:%s", k->label);
	return ret;
}

/* ---- counting ---- */

/* Collects the values of one figure of a group's tasks. values: room for all tasks. What is not known counts as
 * absent. */
static void count_figure(const struct history *h, uint32_t group, size_t column, int64_t *values,
                         struct archive_figure *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct history_figure *f = &h->v[i].figure[column];
		if (h->v[i].group != group)
			continue;
		if (!f->known) {
			ret->absent++;
			continue;
		}
		values[n++] = f->value;
		ret->bounded += f->bounded;
		ret->incomplete += !f->complete;
	}
	if (!n)
		return;
	stats_of(values, n, &ret->stats);
	stats_histogram(values, n, ret->stats.min, ret->stats.max, ret->count, ARCHIVE_BINS);
}

/* Order of qsort: by group, then by time. */
static int compare_by_group_start(const void *pa, const void *pb)
{
	const struct task *a = pa, *b = pb;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/* Tasks of a group stand together, so that each is looked at once a figure. 0; -ENOMEM. a->group[0].v owns all figures.
 * */
static int count_all(struct archive *a, struct history *h)
{
	int64_t *values = malloc((h->n + 1) * sizeof(*values));
	struct archive_figure *v = calloc(h->n_groups * a->n_figures + 1, sizeof(*v));
	a->group = calloc(h->n_groups + 1, sizeof(*a->group));
	if (!values || !v || !a->group) {
		free(values);
		free(v);
		return -ENOMEM;
	}
	if (h->n)
		qsort(h->v, h->n, sizeof(*h->v), compare_by_group_start);
	for (size_t at = 0, end; at < h->n; at = end) {
		struct history part = {.v = h->v + at};
		uint32_t g = h->v[at].group;
		for (end = at; end < h->n && h->v[end].group == g; end++)
			part.n++;
		a->group[g] = (struct archive_group){part.n, v + g * a->n_figures};
		for (size_t i = 0; i < a->n_figures; i++) {
			a->group[g].v[i].figure = a->figures[i];
			count_figure(&part, g, i, values, &a->group[g].v[i]);
		}
	}
	if (!h->n_groups)
		free(v);
	free(values);
	return 0;
}

/* Gives the exit status: STATUS_NOTHING if no task matches. */
static int print_history(struct cmd *c, const struct opts_archive *o, const struct history_options *ho)
{
	struct err err = {0};
	struct history h = {0};
	struct archive a = {
	    .c = c, .o = o, .by = ho->by, .n_by = ho->n_by, .figures = ho->figures, .n_figures = ho->n_figures, .h = &h};
	int status, rc = history_load(c->store, ho, &err, &h);
	if (rc == 0 && (rc = count_all(&a, &h)) < 0)
		err_set(&err, -rc, "cannot compute statistics of the tasks");
	if (rc < 0) {
		status = report_err(&err, STATUS_SELF);
	} else if (!h.n && !o->json && !o->csv) {
		report(ho->where ? "no task matches" : "no task has been measured yet");
		status = STATUS_NOTHING;
	} else {
		status = o->json ? archive_json(&a) : o->csv ? archive_csv(&a) : archive_text(&a);
		status = status == STATUS_OK && !h.n ? STATUS_NOTHING : status;
	}
	if (a.group && h.n_groups)
		free(a.group[0].v);
	free(a.group);
	history_release(&h);
	return status;
}

/* Gives the exit status. */
int cmd_archive(struct cmd *c, const struct opts_archive *o)
{
	struct err err = {0};
	unsigned char figures[FIGURES];
	struct key by[KEYS_MAX];
	struct where *where = NULL;
	struct history_options ho = {.figures = figures, .by = by};
	if (o->describe && !o->submit)
		return report_usage(c, "--describe requires --submit");
	if (o->describe && strlen(o->describe) > DESCRIPTION_MAX)
		return report_usage(c, "a description has at most %d bytes", DESCRIPTION_MAX);
	if (o->submit && (o->where || o->by || o->csv))
		return report_usage(c, "--submit takes no --where, --by and --csv");
	if (o->json && o->csv)
		return report_usage(c, "one of --json and --csv");
	if (o->submit)
		return submit_all(c, o);
	int status = take_figures(c, figures, &ho.n_figures);
	if (status == STATUS_OK)
		status = take_keys(c, o->by, by, &ho.n_by);
	if (status == STATUS_OK && o->where && where_parse(o->where, keep_now(), &err, &where) < 0)
		status = report_err(&err, STATUS_USAGE);
	if (status == STATUS_OK)
		status = cmd_store(c, o->no_index);
	ho.where = where;
	if (status == STATUS_OK)
		status = print_history(c, o, &ho);
	where_free(where);
	return status;
}

/* stemma lineage: what a file came from, or what came from it. */
#include "answer/lineage_json.h"
#include "answer/zarr/zarr.h"
#include "cmd/lineage/lineage_view.h"
#include "cmd/lineage/workflows_print.h"
#include "cmd/ui/notes_print.h"
#include "query/target.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum format { FORMAT_tree, FORMAT_dot, FORMAT_svg, FORMAT_png, FORMAT_pdf, FORMAT_json, FORMAT_none };

static const char *const format_words[] = {"tree", "dot", "svg", "png", "pdf", "json"};

/* The format that the options ask for. FORMAT_none: a word that is none. */
static enum format format_of(const struct opts_lineage *o)
{
	if (!o->format)
		return o->json ? FORMAT_json : FORMAT_tree;
	for (int i = 0; i < FORMAT_none; i++)
		if (strcmp(o->format, format_words[i]) == 0)
			return (enum format)i;
	return FORMAT_none;
}

#define LINES 500 /* more than anybody reads */

/* Reads a number of lines. False: it is no number. Not for the least one: 0 is one. */
static bool lines_of(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	*ret = n;
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* Reports that the file on the disk is not as it was recorded, if so, where the operand named
 * no version. */
static void report_disk(struct cmd *c, const struct file_target *t)
{
	const char *name = c->operands[0];
	struct buf b = {0};
	if (t->n)
		return;
	switch (t->disk) {
	case DISK_CHANGED:
		report("'%s' has changed since its last recorded version", name);
		break;
	case DISK_REPLACED:
		report("'%s' is not the recorded file: another file has its name", name);
		break;
	case DISK_AROUND:
		report("the file of '%s' was written later by a program whose objects were not recorded", name);
		break;
	case DISK_DELETED:
		fmt_deleted(c->store, &t->deleted, 200, false, c->out.utf8, &b);
		report("'%s' was deleted%s: this is the lineage of its last version", name, buf_cstr(&b));
		buf_release(&b);
		break;
	default:
		break;
	}
}

/* A status, reported. */
static int print_lineage_json(const struct lineage_view *v)
{
	json_t *json = NULL;
	int r = v->stages ? stage_view_json(v->stages, v->options->direction == LINEAGE_UP, &json)
	                  : lineage_json(v->s, v->l, js_record_gaps(), js_print_piece, NULL);
	if (r < 0)
		return cmd_report_unread(v->s, "describe the lineage");
	if (v->stages)
		return js_print(json, false);
	putchar('\n');
	return STATUS_OK;
}

/* A status, reported. */
static int print_lineage(struct cmd *c, const struct lineage_view *v, enum format format)
{
	int status = STATUS_SELF;
	bool viewing = store_view_begin(c->store, VIEW_WALK) == 0; /* many small questions */
	switch (format) {
	case FORMAT_tree:
	case FORMAT_none:
		status = lineage_tree(v);
		break;
	case FORMAT_dot:
		status = lineage_dot(v, stdout);
		break;
	case FORMAT_svg:
	case FORMAT_png:
	case FORMAT_pdf:
		status = lineage_picture(v, format_words[format]);
		break;
	case FORMAT_json:
		status = print_lineage_json(v);
		break;
	}
	if (viewing)
		store_view_end(c->store);
	return status;
}

/* Prints the lineage by stages. v->l is that of the stages, which is gone then. A status, reported. */
static int print_stages(struct cmd *c, struct lineage_view *v, enum format format)
{
	struct stages *st = NULL;
	struct stage_view w = {0};
	int status = STATUS_SELF;
	bool viewing = store_view_begin(c->store, VIEW_WALK) == 0;
	if (stages_new(c->store, &st) < 0 || stage_view_make(&(struct shape_of){v->s, v->l, v->options}, st, &w) < 0) {
		cmd_report_unread(c->store, "find the stages");
	} else {
		v->stages = &w;
		v->l = &w.l;
		status = print_lineage(c, v, format);
	}
	if (viewing)
		store_view_end(c->store);
	stage_view_release(&w);
	stages_free(st);
	return status;
}

/* Of one file, or of all. A status, reported. */
static int lineage_workflows(struct cmd *c, const struct opts_lineage *o, enum format format)
{
	struct file_target t = {0};
	if (c->n_operands > 1)
		return report_usage(c, "lineage --workflows takes one file at most");
	if (format != FORMAT_tree && format != FORMAT_json)
		return report_usage(c, "--workflows prints text or --json");
	if (o->stages || o->down || o->up || o->all)
		return report_usage(c, "--workflows can be combined with --json and --no-index only");
	int status = cmd_store(c, o->no_index);
	if (status == STATUS_OK && c->n_operands)
		status = cmd_file(c, c->operands[0], &t);
	return status == STATUS_OK ? workflows_print(c, t.file, format == FORMAT_json) : status;
}

/* What cannot be meant. The status. */
static int check_options(const struct cmd *c, const struct opts_lineage *o, enum format format)
{
	if (format == FORMAT_none)
		return report_usage(c, "format '%s' is not one of tree, dot, svg, png, pdf, json", o->format);
	if (o->up && o->down)
		return report_usage(c, "--up or --down, not both");
	if (c->n_operands != 1)
		return report_usage(c, "lineage needs one file");
	if (o->certain && *o->certain && strcmp(o->certain, "read") != 0 && strcmp(o->certain, "computed") != 0)
		return report_usage(c, "--certain takes the value read, computed or none, not '%.100s'", o->certain);
	if (o->stages && *o->stages && strcmp(o->stages, "programs") != 0)
		return report_usage(c, "--stages takes the value programs or none, not '%.100s'", o->stages);
	if (o->stages && o->all)
		return report_usage(c, "--stages or --all, not both");
	if (o->depth > UINT_MAX)
		return report_usage(c, "--depth %llu is too large", (unsigned long long)o->depth);
	return STATUS_OK;
}

/* The versions that the walk begins at. */
struct roots {
	store_id *v;
	size_t n;
};

/* An exit status; what is wrong was reported. */
static int load_file_root(struct cmd *c, struct roots *ret)
{
	struct file_target t;
	int status = cmd_file(c, c->operands[0], &t);
	if (status != STATUS_OK)
		return status;
	if (!t.version) {
		report("only the name of '%s' is recorded, not its content", c->operands[0]);
		return STATUS_NOTHING;
	}
	ret->v = malloc(sizeof(*ret->v));
	if (!ret->v)
		return report("out of memory"), STATUS_SELF;
	ret->v[ret->n++] = t.version;
	report_disk(c, &t);
	return STATUS_OK;
}

/* The chunks of a Zarr array that is asked for. The status; -1: it is none. */
static int load_array_roots(struct cmd *c, struct roots *ret)
{
	struct zarr *z;
	uint32_t node;
	struct zarr_box box;
	struct err err = {0};
	size_t other = 0;
	int status = -1, r = zarr_new(c->store, &z);
	if (r == 0)
		r = zarr_target(z, c->operands[0], &err, &node, &box);
	if (r > 0 && zarr_node_meta(z, node)->kind == ZARR_ARRAY) {
		r = zarr_versions(z, node, &box, &ret->v, &ret->n, &other);
		status = ret->n ? STATUS_OK : STATUS_NOTHING;
		if (r == 0 && other)
			report("%zu chunk%s of '%s' %s not as recorded, and left out", other, str_plural(other), c->operands[0],
			       other == 1 ? "is" : "are");
		if (r == 0 && !ret->n)
			report("no chunk of '%s' is recorded", c->operands[0]);
	}
	if (r == -EINVAL)
		status = report_err(&err, STATUS_USAGE);
	else if (r < 0)
		report("cannot look up '%s': %s", c->operands[0], strerror(-r)), status = STATUS_SELF;
	zarr_free(z);
	return status;
}

/* Gives the exit status. */
int cmd_lineage(struct cmd *c, const struct opts_lineage *o)
{
	struct err err = {0};
	enum format format = format_of(o);
	if (o->workflows)
		return lineage_workflows(c, o, format);
	int status = check_options(c, o, format);
	if (status != STATUS_OK)
		return status;
	uint64_t lines = LINES;
	if (o->lines && !lines_of(o->lines, &lines))
		return report_usage(c, "--lines needs a number, not '%.40s' (0: no limit)", o->lines);
	status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;

	struct roots roots = {0};
	status = load_array_roots(c, &roots);
	if (status < 0)
		status = load_file_root(c, &roots);
	if (status != STATUS_OK)
		return free(roots.v), status;
	struct lineage_options options = {
	    .direction = o->down ? LINEAGE_DOWN : LINEAGE_UP,
	    .depth = (unsigned)o->depth,
	    .all = o->all,
	    .fork = o->fork,
	    .servers = o->through_servers,
	    .certain = o->certain != NULL,
	    .read = o->certain && strcmp(o->certain, "read") == 0,
	    .computed = o->certain && strcmp(o->certain, "computed") == 0,
	    .skew = config_duration(&c->config, CONFIG_skew),
	    .system_extra = config_get(&c->config, CONFIG_system),
	};
	struct lineage l;
	int walked = lineage_walk(c->store, roots.v, roots.n, &options, &err, &l);
	free(roots.v);
	if (walked < 0)
		return report_err(&err, STATUS_SELF);
	struct lineage_view v = {
	    .s = c->store, .out = &c->out, .l = &l, .options = &options, .bytes = o->bytes, .lines = lines};
	v.programs = o->stages && *o->stages;
	status = o->stages ? print_stages(c, &v, format) : print_lineage(c, &v, format);
	lineage_release(&l);
	return status;
}

/* lineage_dot.c - a lineage as a graph for Graphviz, and drawn by it. Time runs downwards. */
#include "answer/peers.h"
#include "answer/zarr/zarr.h"
#include "base/child.h"
#include "cmd/lineage/lineage_view.h"
#include "cmd/lineage/stage_text.h"
#include "cmd/ui/markup.h"
#include "cmd/ui/notes_print.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABEL_MAX 60 /* columns */
#define MANY 3000    /* nodes: dot takes minutes beyond */

extern char **environ;

/* 0, -errno. Node 0 is drawn thicker. */
static int put_node(const struct lineage_view *v, const struct shape *shape_of, uint32_t i, FILE *to)
{
	const struct lineage_node *n = &v->l->nodes[i];
	struct buf name = {0}, note = {0}, since = {0};
	const char *shape = "box";
	int r;
	if (n->exec && v->stages && stage_view_group(v->stages, i)) {
		r = stage_describe(v->stages, i, &name, &note);
	} else if (n->exec) {
		struct exec_info x;
		store_id id = shape_of->rep[i] ? shape_of->rep[i] : n->id;
		r = exec_name(v->s, id, true, 200, &name);
		if (r >= 0)
			r = store_exec(v->s, id, &x);
		if (r > 0) {
			fmt_time(&note, x.start, true);
			buf_printf(&note, ", ");
			r = exec_who(v->s, id, &note) < 0 ? -1 : 1;
		}
	} else if (shape_is_array(shape_of, i)) {
		r = zarr_text(shape_of->zarr, shape_of->array[i] - 1, &shape_of->parts[i], &name);
		shape = "box3d";
	} else {
		struct version_info ver;
		struct file_info f;
		r = store_version(v->s, n->id, &ver);
		if (r > 0)
			r = store_file(v->s, ver.file, &f);
		if (r > 0) {
			version_name(&name, &ver, &f);
			version_note(&note, &ver, &f, v->bytes);
			shape = kind_is_stream(f.kind) ? "cds" : "note";
			r = peer_is_unobserved(v->s, &ver, &f);
			buf_printf(&note, r > 0 ? "the other end was not observed" : "");
			r = r < 0 ? r : 1;
			if (r > 0 && v->options->direction == LINEAGE_DOWN) {
				r = version_since(v->s, &ver, &f, &since);
				buf_printf(&note, "%s%s", note.n && since.n ? ", " : "", buf_cstr(&since));
			}
		}
	}
	fmt_fit(&name, 0, LABEL_MAX, true);
	fprintf(to, "\tn%u [shape=%s%s label=\"", i, shape, i == 0 ? " penwidth=2" : "");
	print_dot_quoted(to, buf_cstr(&name));
	fputs("\\n", to);
	print_dot_quoted(to, buf_cstr(&note));
	fprintf(to, "\"%s]\n", n->exec ? " style=\"filled,rounded\" fillcolor=\"#e8f0fe\"" : "");
	buf_release(&name);
	buf_release(&note);
	buf_release(&since);
	return r < 0 ? r : 0;
}

/* From the earlier thing to the later one, as data flowed. */
static void put_branch(const struct lineage_view *v, uint32_t node, const struct branch *b, FILE *to)
{
	bool up = v->options->direction == LINEAGE_UP;
	fprintf(to, "\tn%u -> n%u [style=%s", up ? b->child : node, up ? node : b->child, b->sure ? "solid" : "dashed");
	const char *blank = strchr(b->words, ' '); /* only the verb */
	if (*b->words || !b->sure)
		fprintf(to, " label=\"%.*s%s\"", (int)(blank ? blank - b->words : 0), b->words, b->sure ? "" : "?");
	fputs("]\n", to);
}

/* STATUS_OK, or a status, and it was said. */
int lineage_dot(const struct lineage_view *v, FILE *to)
{
	const struct lineage *l = v->l;
	struct shape shape = {0};
	int r = lineage_shape(v, &shape);
	if (r == 0)
		fputs("digraph lineage {\n"
		      "\tgraph [rankdir=TB fontname=\"Helvetica\"]\n"
		      "\tnode [fontname=\"Helvetica\" fontsize=10]\n"
		      "\tedge [fontname=\"Helvetica\" fontsize=8]\n",
		      to);
	for (uint32_t i = 0; i < l->n_nodes && r == 0; i++)
		r = shape.shown[i] ? put_node(v, &shape, i, to) : 0;
	if (r < 0) {
		lineage_shape_release(v, &shape);
		return cmd_report_unread(v->s, "describe the lineage");
	}
	for (uint32_t i = 0; i < l->n_nodes; i++)
		for (size_t k = shape.first[i]; shape.shown[i] && k < shape.first[i + 1]; k++)
			put_branch(v, i, &shape.branches[k], to);
	fputs("}\n", to);
	lineage_shape_release(v, &shape);
	return STATUS_OK;
}

int lineage_svg(const struct lineage_view *v)
{
	if (v->l->n_nodes > MANY)
		report("%zu nodes: drawing them may take long; --depth draws fewer", v->l->n_nodes);
	int ends[2], status = STATUS_SELF;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		report("cannot start 'dot': %s", strerror(errno));
		return STATUS_SELF;
	}
	char program[] = "dot", format[] = "-Tsvg", *argv[] = {program, format, NULL};
	pid_t pid;
	fflush(stdout);
	int r = child_start(&(struct child){.argv = argv, .in = ends[0], .out = CHILD_SAME, .err = CHILD_SAME}, &pid);
	close(ends[0]);
	if (r) {
		close(ends[1]);
		if (r == -ENOENT) {
			report("cannot draw: 'dot' of Graphviz is not installed");
			report_hint("install the package graphviz, or use --format dot");
		} else {
			report("cannot start 'dot': %s", strerror(-r));
		}
		return STATUS_SELF;
	}
	/* dot may end before it has read all: then a write fails, and its status says why. */
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	FILE *to = fdopen(ends[1], "w");
	if (to) {
		status = lineage_dot(v, to);
		fclose(to);
	} else {
		close(ends[1]);
		report("out of memory");
	}
	int wait_status = child_wait(pid);
	signal(SIGPIPE, old);
	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGPIPE)
		return STATUS_SELF; /* whoever read the picture went away */
	if (status == STATUS_OK && (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status))) {
		if (WIFEXITED(wait_status))
			report("cannot draw the lineage: 'dot' exited with status %d", WEXITSTATUS(wait_status));
		else
			report("cannot draw the lineage: 'dot' was killed by signal %d", WTERMSIG(wait_status));
		report_hint("use --format dot, or --depth for a smaller picture");
		status = STATUS_SELF;
	}
	return status;
}

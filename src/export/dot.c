/* dot.c - the record as a graph for Graphviz, and drawn by it. Versions are notes, gathered by file; executions are
 * boxes; arrows go from the earlier to the later, dashed where they only may be. Time runs downwards.
 *
 * With versions to highlight, their lineage within what is exported is drawn thick (as in PROV-IO, Fig. 9): memory for
 * it grows with that lineage. The text is streamed in four walks; Graphviz itself holds it all. */
#include "base/child.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "export/export.h"
#include "query/idset.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABEL_MAX 60     /* characters */
#define TOOLTIP_MAX 1000 /* of each note */

extern char **environ;

struct picture {
	struct out *out;
	struct prov_source *p;
	bool highlighted; /* there is something to highlight */
	struct idset versions, execs, edges;
	struct buf cluster; /* the name of the file whose versions are coming */
	struct buf node;    /* an execution that has had no edge yet */
	struct buf text;
};

/* ---- what is thick ---- */

/* The key of an edge of the graph: the same two ends by another kind of relation are another edge. */
static store_id edge_key(enum prov_kind kind, store_id from, store_id to)
{
	const store_id of[] = {kind, from, to};
	return hash_more(1, of, sizeof(of));
}

/* What is to stand out, and all that it came from. 0; -errno with a sentence. */
static int find_highlight(struct picture *d, const struct export_options *o, struct err *err)
{
	static const enum prov_kind kinds[] = {[LINEAGE_USED] = PROV_used,
	                                       [LINEAGE_GENERATED] = PROV_wasGeneratedBy,
	                                       [LINEAGE_DERIVED] = PROV_wasDerivedFrom,
	                                       [LINEAGE_INFORMED] = PROV_wasInformedBy};
	struct lineage l;
	if (!o->n_highlight)
		return 0;
	int r = lineage_walk(prov_store(d->p), o->highlight, o->n_highlight, &prov_selection(d->p)->lineage, err, &l);
	if (r < 0)
		return r;
	d->highlighted = true;
	for (size_t i = 0; r == 0 && i < l.n_nodes; i++)
		r = idset_add(l.nodes[i].exec ? &d->execs : &d->versions, l.nodes[i].id);
	for (size_t i = 0; r == 0 && i < l.n_edges; i++) {
		const struct lineage_edge *e = &l.edges[i];
		r = idset_add(&d->edges, edge_key(kinds[e->type], l.nodes[e->from].id, l.nodes[e->to].id));
	}
	lineage_release(&l);
	idset_close(&d->versions);
	idset_close(&d->execs);
	idset_close(&d->edges);
	return r < 0 ? err_set(err, -r, "cannot find the lineage to highlight") : 0;
}

/* ---- text ---- */

/* A text between quotes, cut in the middle where it has more than `max` characters. Graphviz knows backslashes and
 * HTML's
 * &...; in it. */
static void write_dot_text(struct picture *d, struct str s, size_t max, const char *newline)
{
	struct out clean = out_into(&d->text);
	buf_reset(&d->text);
	out_shown(&clean, s);
	size_t n = 0, at = 0;
	const char *p = d->text.p, *const end = p + d->text.n;
	for (const char *q = p; q < end; q++)
		n += !utf8_is_middle(*q);
	for (; p < end; p++) {
		bool begins = !utf8_is_middle(*p);
		at += begins;
		if (n > max && begins && at == max / 3)
			out_text(d->out, "\xe2\x80\xa6");
		if (n > max && at >= max / 3 && at < n - max * 2 / 3)
			continue;
		if (*p == '\n')
			out_text(d->out, newline);
		else if ((unsigned char)*p < 0x20 || *p == 0x7f)
			out_char(d->out, '?');
		else if (*p == '&')
			out_text(d->out, "&amp;");
		else {
			if (*p == '"' || *p == '\\')
				out_char(d->out, '\\');
			out_char(d->out, *p);
		}
	}
}

/* Cut; "?" for an empty one. */
static void write_dot_label(struct picture *d, struct str s)
{
	write_dot_text(d, s, LABEL_MAX, "?");
}

/* What people wrote is shown where somebody points at it. */
static void write_dot_tooltip(struct picture *d, const struct prov_statement *st, const char *before, const char *after)
{
	const struct prov_value *notes = prov_find(st, ATTR_note);
	struct str s;
	if (!notes)
		return;
	out_text(d->out, before);
	for (size_t i = 0, at = 0; out_list_next(&notes->list, &i, &at, &s);) {
		if (i > 1)
			out_text(d->out, "\\n");
		write_dot_text(d, s, TOOLTIP_MAX, "\\n");
	}
	out_text(d->out, after);
}

/* Writes the name of a node, in quotation marks. */
static void write_dot_id(struct out *o, struct str id)
{
	out_char(o, '"');
	out_str(o, id);
	out_char(o, '"');
}

/* Did anything fail while the picture was made? -ENOMEM, or -errno of the output; 0. */
static int picture_status(struct picture *d)
{
	return d->text.failed || d->cluster.failed || d->node.failed ? -ENOMEM : -d->out->error;
}

/* Versions come behind their file. 0; -errno: picture_status. */
static int write_dot_entity(void *arg, const struct prov_statement *st)
{
	struct picture *d = arg;
	struct out *o = d->out;
	if (strcmp(st->type, "File") == 0) {
		if (d->cluster.n)
			out_text(o, "\t}\n");
		buf_reset(&d->cluster);
		const struct prov_value *kind = prov_find(st, ATTR_fileKind);
		if (!kind || !str_is(kind->text, "regular"))
			return 0; /* a stream or an absent path stands alone */
		buf_str(&d->cluster, st->id);
		out_text(o, "\tsubgraph \"cluster_");
		out_str(o, st->id);
		out_text(o, "\" {\n\t\tlabel=\"");
		write_dot_label(d, st->label);
		out_text(o, "\"\n");
		write_dot_tooltip(d, st, "\t\ttooltip=\"", "\"\n");
		return picture_status(d);
	}
	const struct prov_value *n = prov_find(st, ATTR_versionNumber), *size = prov_find(st, ATTR_size),
	                        *part = prov_find(st, ATTR_part);
	out_text(o, d->cluster.n ? "\t\t" : "\t");
	write_dot_id(o, st->id);
	out_text(o, strcmp(st->type, "Stream") == 0 ? " [shape=cds label=\"" : " [shape=note label=\"");
	if (d->cluster.n && n) {
		out_text(o, "@{");
		out_count(o, n->count);
		out_char(o, '}');
	} else
		write_dot_label(d, st->label);
	if (part) {
		out_text(o, "\\nwrite ");
		out_count(o, part->count);
	}
	if (size) {
		out_text(o, "\\n");
		out_count(o, size->count);
		out_text(o, " B");
	}
	out_text(o, "\" style=filled fillcolor=\"#fffbd6\"");
	write_dot_tooltip(d, st, " tooltip=\"", "\"");
	if (d->highlighted && idset_has(&d->versions, st->what))
		out_text(o, " penwidth=3");
	out_text(o, "]\n");
	return picture_status(d);
}

/* Is it the edge of a fork, where those are not asked for? */
static bool is_fork_edge(const struct picture *d, const struct prov_statement *st)
{
	const struct prov_value *via = prov_find(st, ATTR_via);
	return st->kind == PROV_wasInformedBy && via && str_is(via->text, "fork") && !prov_selection(d->p)->lineage.fork;
}

/* The node of an execution: what was run, when, by whom and where. */
static void write_execution_node(struct picture *d, struct out *node, const struct prov_statement *st)
{
	const struct prov_value *pid = prov_find(st, ATTR_pid), *user = prov_find(st, ATTR_user),
	                        *host = prov_find(st, ATTR_host);
	out_char(node, '\t');
	write_dot_id(node, st->id);
	out_text(node, " [shape=box label=\"");
	if (st->label.n) {
		write_dot_label(d, st->label);
	} else {
		out_text(node, "process ");
		out_count(node, pid ? pid->count : 0);
	}
	out_text(node, "\\n");
	if (st->start != TIME_NONE) {
		struct out moment = out_into(&d->text);
		buf_reset(&d->text);
		out_time(&moment, st->start);
		out_str(node, str_n(d->text.p, d->text.failed ? 0 : strlen("2026-11-21T12:13:05")));
	}
	if (user) {
		out_char(node, ' ');
		write_dot_label(d, user->text);
	}
	if (host) {
		out_text(node, user ? "@" : " ");
		write_dot_label(d, host->text);
	}
	out_text(node, "\" style=\"filled,rounded\" fillcolor=\"#e8f0fe\"");
	if (d->highlighted && idset_has(&d->execs, st->what))
		out_text(node, " penwidth=3");
	out_text(node, "]\n");
}

/* An image before any exec that neither used nor wrote anything is no node. 0, -errno. */
static int write_dot_execution(void *arg, const struct prov_statement *st)
{
	struct picture *d = arg;
	struct out node = out_into(&d->node), *o = d->out;
	if (st->kind != PROV_activity) {
		if (is_fork_edge(d, st))
			return 0;
		out_str(o, buf_view(&d->node));
		buf_reset(&d->node);
		return picture_status(d);
	}
	buf_reset(&d->node);
	if (strcmp(st->type, "Execution") != 0)
		return 0;
	d->out = &node;
	write_execution_node(d, &node, st);
	d->out = o;
	if (st->label.n || prov_selection(d->p)->lineage.fork) { /* else it waits for an edge */
		out_str(o, buf_view(&d->node));
		buf_reset(&d->node);
	}
	return picture_status(d);
}

/* Is the edge on the way to what is to stand out? False if nothing is to be highlighted. */
static bool is_highlighted_edge(const struct picture *d, const struct prov_statement *st)
{
	if (!d->highlighted)
		return false;
	if (st->kind == PROV_wasDerivedFrom && st->what == st->other) /* the writes of a chain are one version's */
		return idset_has(&d->versions, st->what);
	return idset_has(&d->edges, edge_key(st->kind, st->what, st->other));
}

/* Arrows go from what was first. 0, -errno. */
static int write_dot_edge(void *arg, const struct prov_statement *st)
{
	struct picture *d = arg;
	struct out *o = d->out;
	const struct prov_value *via = prov_find(st, ATTR_via), *certainty = prov_find(st, ATTR_certainty);
	bool sure = !certainty || str_is(certainty->text, "must");
	bool told = via && !str_is(via->text, "data");
	if (is_fork_edge(d, st))
		return 0;
	out_char(o, '\t');
	write_dot_id(o, st->object);
	out_text(o, " -> ");
	write_dot_id(o, st->subject);
	out_text(o, sure ? " [style=solid" : " [style=dashed");
	if (st->kind == PROV_wasDerivedFrom)
		out_text(o, " color=gray40 arrowhead=empty");
	if (!sure || told) {
		out_text(o, " label=\"");
		if (told)
			out_str(o, via->text);
		out_text(o, sure ? "\"" : "?\"");
	}
	if (is_highlighted_edge(d, st))
		out_text(o, " penwidth=3");
	out_text(o, "]\n");
	return picture_status(d);
}

/* Writes the graph in Graphviz's language. 0; -errno, with a sentence but for out->error. */
static int write_dot(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct picture d = {.out = out, .p = p};
	int r = find_highlight(&d, o, err);
	if (r == 0) {
		out_text(out, "digraph record {\n"
		              "\tgraph [rankdir=TB fontname=\"Helvetica\" fontsize=10]\n"
		              "\tnode [fontname=\"Helvetica\" fontsize=10]\n"
		              "\tedge [fontname=\"Helvetica\" fontsize=8]\n");
		r = prov_walk(p, PROV_BIT(PROV_entity), write_dot_entity, &d);
		if (d.cluster.n)
			out_text(out, "\t}\n");
		if (r == 0)
			r = prov_walk(p,
			              PROV_BIT(PROV_activity) | PROV_BIT(PROV_used) | PROV_BIT(PROV_wasInformedBy) | PROV_OUTPUTS,
			              write_dot_execution, &d);
		if (r == 0)
			r = prov_walk(p, PROV_BIT(PROV_used) | PROV_BIT(PROV_wasInformedBy), write_dot_edge, &d);
		if (r == 0)
			r = prov_walk(p, PROV_BIT(PROV_wasGeneratedBy) | PROV_BIT(PROV_wasDerivedFrom), write_dot_edge, &d);
		out_text(out, "}\n");
		if (r < 0 && !out->error)
			err_set(err, -r, "cannot read the record");
	}
	buf_release(&d.cluster);
	buf_release(&d.node);
	buf_release(&d.text);
	idset_release(&d.versions);
	idset_release(&d.execs);
	idset_release(&d.edges);
	return r;
}

/* Writes the selection in Graphviz's language. 0, -errno with a sentence. */
int export_dot(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	return write_dot(p, out, o, err);
}

/* Starts dot with its standard input from a pipe, whose other end is *ret, and its output to fd. 0, -errno; both are
 * the caller's. */
static int start_dot(int fd, pid_t *ret_pid, int *ret)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	char program[] = "dot", format[] = "-Tsvg", *argv[] = {program, format, NULL};
	int r = child_start(&(struct child){.argv = argv, .in = ends[0], .out = fd, .err = CHILD_SAME}, ret_pid);
	close(ends[0]);
	if (r) {
		close(ends[1]);
		return r;
	}
	*ret = ends[1];
	return 0;
}

/* Graphviz writes into out->fd, so out must be empty. 0, -errno with a sentence. */
int export_svg(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct out to;
	pid_t pid;
	int fd = -1;
	/* dot may end before it has read all: then a write fails, and its status says why. */
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	int r = start_dot(out->fd, &pid, &fd);
	if (r < 0) {
		signal(SIGPIPE, old);
		err_set(err, -r, "cannot draw with 'dot' of Graphviz");
		return err_hint(err, "install the package graphviz, or export as dot"), r;
	}
	r = out_open(&to, fd);
	if (r == 0) {
		r = write_dot(p, &to, o, err);
		if (out_close(&to) < 0)
			r = r < 0 ? r : -EPIPE;
	} else
		err_set(err, -r, "cannot write the graph to 'dot'");
	close(fd);
	int status = child_wait(pid);
	signal(SIGPIPE, old);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
		return err_set(err, EPIPE, "cannot write the picture"); /* whoever read the picture went away */
	if (!WIFEXITED(status) || WEXITSTATUS(status) || r == -EPIPE)
		return err_set(err, EIO, "'dot' of Graphviz failed");
	return r;
}

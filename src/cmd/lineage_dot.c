/* lineage_dot.c - a lineage as a graph for Graphviz, and drawn by it. Time runs downwards. */
#include "cmd/lineage_view.h"
#include "cmd/things.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABEL_MAX 60 /* columns */
#define MANY 3000    /* nodes: dot takes minutes beyond */

extern char **environ;

/* A label between double quotes: what fmt_name let through, with quotes and backslashes kept from dot. */
static void quote(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', to);
		fputc(*text, to);
	}
}

static int put_node(const struct lineage_view *v, uint32_t i, FILE *to)
{
	const struct lineage_node *n = &v->l->nodes[i];
	struct buf name = {0}, note = {0};
	const char *shape = "box";
	int r;
	if (n->exec) {
		struct exec_info x;
		r = exec_name(v->s, n->id, true, 200, &name);
		if (r >= 0)
			r = store_exec(v->s, n->id, &x);
		if (r > 0) {
			fmt_time(&note, x.start, true);
			buf_printf(&note, ", ");
			fmt_who(&note, x.user, x.host);
		}
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
		}
	}
	fmt_fit(&name, 0, LABEL_MAX, true);
	fprintf(to, "\tn%u [shape=%s%s label=\"", i, shape, i == 0 ? " penwidth=2" : "");
	quote(to, buf_cstr(&name));
	fputs("\\n", to);
	quote(to, buf_cstr(&note));
	fprintf(to, "\"%s]\n", n->exec ? " style=\"filled,rounded\" fillcolor=\"#e8f0fe\"" : "");
	buf_release(&name);
	buf_release(&note);
	return r < 0 ? r : 0;
}

int lineage_dot(const struct lineage_view *v, FILE *to)
{
	static const char *const words[] = {"", "", "derived", "informed"};
	const struct lineage *l = v->l;
	fputs("digraph lineage {\n"
	      "\tgraph [rankdir=TB fontname=\"Helvetica\"]\n"
	      "\tnode [fontname=\"Helvetica\" fontsize=10]\n"
	      "\tedge [fontname=\"Helvetica\" fontsize=8]\n",
	      to);
	for (uint32_t i = 0; i < l->n_nodes; i++)
		if (put_node(v, i, to) < 0) {
			say("cannot describe the lineage");
			return STATUS_SELF;
		}
	/* From the earlier thing to the later one, as data flowed. */
	for (size_t k = 0; k < l->n_edges; k++) {
		const struct lineage_edge *e = &l->edges[k];
		fprintf(to, "\tn%u -> n%u [style=%s", e->to, e->from, e->e.sure ? "solid" : "dashed");
		if (*words[e->type] || !e->e.sure)
			fprintf(to, " label=\"%s%s\"", words[e->type], e->e.sure ? "" : "?");
		fputs("]\n", to);
	}
	fputs("}\n", to);
	return STATUS_OK;
}

int lineage_svg(const struct lineage_view *v)
{
	if (v->l->n_nodes > MANY)
		say("%zu nodes: drawing them may take long; --depth draws fewer", v->l->n_nodes);
	int ends[2], status = STATUS_SELF, wait_status = 0;
	if (pipe(ends) < 0) {
		say("cannot start 'dot': %s", strerror(errno));
		return STATUS_SELF;
	}
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	char *argv[] = {"dot", "-Tsvg", NULL};
	pid_t pid;
	fflush(stdout);
	int r = posix_spawnp(&pid, "dot", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	if (r) {
		close(ends[1]);
		if (r == ENOENT) {
			say("cannot draw: 'dot' of Graphviz is not installed");
			say_hint("install the package graphviz, or use --format dot");
		} else {
			say("cannot start 'dot': %s", strerror(r));
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
		say("out of memory");
	}
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	signal(SIGPIPE, old);
	if (status == STATUS_OK && (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status))) {
		say("'dot' failed");
		status = STATUS_SELF;
	}
	return status;
}

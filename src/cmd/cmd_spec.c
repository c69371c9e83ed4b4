/* stemma spec: what a program can do, as far as traces go. */
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "spec/make.h"
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The statistics, with the paper's names of those that it has. */
static const struct spec_stat {
	const char *key, *title;
	size_t offset, of; /* of: what it is to be set against; SIZE_MAX none */
} spec_stats[] = {
#define AT(field) offsetof(struct spec_stats, field)
    {"functions", "functions", AT(functions), SIZE_MAX},
    {"functions_kept", "  that reach a system call", AT(functions_kept), AT(functions)},
    {"recursive", "  recursive", AT(recursive), SIZE_MAX},
    {"instructions", "instructions", AT(instructions), SIZE_MAX},
    {"nodes", "  nodes", AT(nodes), AT(instructions)},
    {"calls", "  calls", AT(calls), SIZE_MAX},
    {"syscalls", "  system calls", AT(syscalls), SIZE_MAX},
    {"decisions", "  decisions", AT(decisions), AT(branches)},
    {"epsilons", "  epsilon nodes", AT(epsilons), SIZE_MAX},
    {"edges", "edges", AT(edges), SIZE_MAX},
    {"edges_kept", "  kept", AT(edges_kept), AT(edges)},
    {"edges_without_decisions", "  without decisions", AT(epsilon_edges), AT(edges)},
    {"edges_by_algorithm_1", "  by Algorithm 1", AT(paper_edges), AT(edges)},
    {"back_edges", "back edges", AT(back_edges), SIZE_MAX},
    {"back_edges_kept", "  kept", AT(back_edges_kept), AT(back_edges)},
    {"branches", "branches", AT(branches), SIZE_MAX},
    {"indirect_calls", "indirect calls", AT(indirect), SIZE_MAX},
    {"indirect_unresolved", "  to unknown functions", AT(indirect_unresolved), AT(indirect)},
    {"modules", "modules", AT(modules), SIZE_MAX},
#undef AT
};
enum { N_SPEC_STATS = sizeof(spec_stats) / sizeof(spec_stats[0]) };

/* Reads a number of the statistics. offset: of a uint64_t in s, bytes. */
static uint64_t read_spec_stat(const struct spec_stats *s, size_t offset)
{
	uint64_t v;
	memcpy(&v, (const char *)s + offset, sizeof(v));
	return v;
}

/* ---- text ---- */

/* Appends a line for each figure, with its part in percent where it has one. */
static void print_stats(const struct spec *s, struct buf *b)
{
	for (size_t i = 0; i < N_SPEC_STATS; i++) {
		uint64_t v = read_spec_stat(&s->stats, spec_stats[i].offset);
		uint64_t of = spec_stats[i].of == SIZE_MAX ? 0 : read_spec_stat(&s->stats, spec_stats[i].of);
		buf_printf(b, "%-28s %10llu", spec_stats[i].title, (unsigned long long)v);
		if (of)
			buf_printf(b, "  %5.1f %%", 100.0 * (double)v / (double)of);
		buf_char(b, '\n');
	}
	/* What the paper counts as left: neither its decisions nor anything in their place. */
	uint64_t left = s->stats.nodes - s->stats.decisions - s->stats.epsilons;
	if (s->stats.instructions)
		buf_printf(b, "%-28s %10s  %5.1f %%\n", "instructions removed", "",
		           100.0 * (1 - (double)left / (double)s->stats.instructions));
}

/* Appends a line: node k of function f, its kind, place, name, and where its edges lead. */
static void print_node(const struct spec *s, uint32_t f, uint32_t k, struct buf *b)
{
	const struct spec_node *n = spec_node(s, f, k);
	struct buf what = {0};
	fmt_name(&what, str_of(*n->name ? n->name : n->flags & SPEC_INDIRECT ? "*" : n->condition));
	for (uint32_t i = 0; i < n->n_targets && (n->flags & (SPEC_INDIRECT | SPEC_CALLBACK)); i++) {
		buf_str(&what, str_of(i ? "|" : *n->name ? " calls " : " "));
		fmt_name(&what, str_of(s->functions[s->targets[n->first_target + i]].name));
	}
	if (n->flags & SPEC_UNKNOWN)
		buf_str(&what, str_of(n->n_targets ? "|?" : " ?"));
	buf_printf(b, "%6u  %-9s%5u:%-4u%-24s", k, spec_kind_name(n->kind), n->line, n->column, buf_cstr(&what));
	for (uint32_t i = 0; i < n->n_edges; i++) {
		const struct spec_edge *e = spec_edge(s, n, i);
		buf_printf(b, "%s%s%s%u", i ? ", " : "  ", e->label, *e->label ? " " : "", e->to);
	}
	if (*n->words) {
		buf_str(b, str_of("  "));
		fmt_source(b, str_of(n->words));
	}
	buf_char(b, '\n');
	buf_release(&what);
}

/* What no trace of the program will tell. */
static void print_unexamined(const struct spec *s, struct buf *b)
{
	buf_printf(b, "functions that reach no system call and are not traced:%s\n", s->n_unexamined ? "" : " none");
	for (uint32_t i = 0; i < s->n_unexamined; i++) {
		buf_str(b, str_of("  "));
		fmt_name(b, str_of(s->unexamined[i]));
		buf_char(b, '\n');
	}
}

/* All are, without the option. */
static bool is_asked_function(const struct opts_spec *o, const char *name)
{
	for (size_t i = 0; i < o->function.n; i++)
		if (strcmp(o->function.v[i], name) == 0)
			return true;
	return o->function.n == 0;
}

/* Lines of the functions that were asked for, or figures; gaps are reported. STATUS_NOTHING: no such function. */
static int print_spec_text(const struct spec *s, const struct opts_spec *o)
{
	struct buf b = {0};
	bool any = false;
	if (o->stats)
		print_stats(s, &b);
	if (o->stats)
		print_unexamined(s, &b);
	for (uint32_t f = 0; f < s->n_functions && !o->stats; f++) {
		const struct spec_function *fn = &s->functions[f];
		if (!is_asked_function(o, fn->name))
			continue;
		any = true;
		fmt_name(&b, str_of(fn->name));
		buf_str(&b, str_of("  "));
		fmt_path(&b, str_of(spec_file(s, fn->file)));
		buf_printf(&b, ":%u\n", fn->line);
		for (uint32_t k = 0; k < fn->n_nodes; k++)
			print_node(s, f, k, &b);
	}
	fputs(buf_cstr(&b), stdout);
	buf_release(&b);
	for (uint32_t i = 0; i < s->n_gaps; i++)
		report("%s", s->gaps[i]);
	if (!any && o->function.n && !o->stats) {
		report("no such function reaches a system call");
		return STATUS_NOTHING;
	}
	return STATUS_OK;
}

/* ---- JSON ---- */

/* The caller owns it. */
static json_t *node_json(const struct spec *s, const struct spec_node *n, uint32_t k)
{
	static const struct {
		unsigned flag;
		const char *name;
	} flags[] = {{SPEC_INDIRECT, "indirect"},
	             {SPEC_UNKNOWN, "unknown"},
	             {SPEC_NORETURN, "noreturn"},
	             {SPEC_CALLBACK, "callback"},
	             {SPEC_TWICE, "twice"},
	             {SPEC_LOOP, "loop"},
	             {SPEC_UNRECORDED, "unrecorded"},
	             {SPEC_INEXACT_LINE, "inexact_line"},
	             {SPEC_SOURCE_TRUTH, "source_truth"}};
	json_t *o = json_object(), *edges = json_array(), *targets = json_array();
	js_num(o, "id", k);
	js_text(o, "kind", spec_kind_name(n->kind));
	if (n->file != SPEC_NONE)
		js_text(o, "file", spec_file(s, n->file));
	js_num(o, "line", n->line);
	js_num(o, "column", n->column);
	js_str_if(o, "name", str_of(n->name));
	js_str_if(o, "condition", str_of(n->condition));
	js_str_if(o, "source", str_of(n->words));
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (n->flags & flags[i].flag)
			js_bool(o, flags[i].name, true);
	for (uint32_t i = 0; i < n->n_targets; i++)
		js_add(targets, json_integer(s->targets[n->first_target + i]));
	if (n->n_targets)
		js_put(o, "targets", targets);
	else
		json_decref(targets);
	for (uint32_t i = 0; i < n->n_edges; i++) {
		const struct spec_edge *e = spec_edge(s, n, i);
		json_t *edge = json_object();
		js_num(edge, "to", e->to);
		if (n->n_edges > 1 || n->kind == SPEC_DECISION) {
			js_num(edge, "outcome", e->outcome);
			js_text(edge, "label", e->label);
		}
		js_add(edges, edge);
	}
	js_put(o, "edges", edges);
	return o;
}

/* Gives the exit status. */
static int print_spec_json(const struct spec *s, const struct opts_spec *o)
{
	json_t *all = json_object(), *stats = json_object(), *functions = json_array(), *gaps = json_array();
	json_t *unexamined = json_array();
	struct buf id = {0};
	buf_hex(&id, s->build_id, s->n_build_id);
	js_num(all, "format", 1);
	js_text(all, "producer", s->producer);
	js_str_if(all, "build_id", str_of(buf_cstr(&id)));
	buf_release(&id);
	buf_printf(&id, "%016llx", (unsigned long long)s->id);
	js_text(all, "id", buf_cstr(&id));
	buf_release(&id);
	for (size_t i = 0; i < N_SPEC_STATS; i++)
		js_num(stats, spec_stats[i].key, read_spec_stat(&s->stats, spec_stats[i].offset));
	js_put(all, "stats", stats);
	for (uint32_t i = 0; i < s->n_gaps; i++)
		js_add(gaps, js_string(str_of(s->gaps[i])));
	js_put(all, "gaps", gaps);
	for (uint32_t i = 0; i < s->n_unexamined; i++)
		js_add(unexamined, js_string(str_of(s->unexamined[i])));
	js_put(all, "unexamined", unexamined);
	for (uint32_t f = 0; f < s->n_functions && !o->stats; f++) {
		const struct spec_function *fn = &s->functions[f];
		json_t *one, *nodes;
		if (!is_asked_function(o, fn->name))
			continue;
		one = json_object();
		nodes = json_array();
		js_num(one, "id", f);
		js_text(one, "name", fn->name);
		if (fn->file != SPEC_NONE)
			js_text(one, "file", spec_file(s, fn->file));
		js_num(one, "line", fn->line);
		for (uint32_t k = 0; k < fn->n_nodes; k++)
			js_add(nodes, node_json(s, spec_node(s, f, k), k));
		js_put(one, "nodes", nodes);
		js_add(functions, one);
	}
	if (o->stats)
		json_decref(functions);
	else
		js_put(all, "functions", functions);
	return js_print(all, false);
}

/* ---- where it comes from ---- */

/* Makes it from bitcode, in a file that is gone at once. 0; -errno with a sentence; *ret is set where it is 0. */
static int make_temporary_spec(char **files, struct err *err, struct spec **ret)
{
	char path[] = "/tmp/stemma-spec-XXXXXX";
	enum make_use *used = NULL;
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "cannot create '%s'", path);
	close(fd);
	struct make m = {.files = files, .spec = path};
	int rc = make_spec(&m, err, &used);
	if (rc == 0)
		rc = spec_load(path, err, ret);
	unlink(path);
	free(used);
	return rc;
}

/* Writes a specification to a file. 0; -errno with a sentence. */
static int write_out(const struct spec *s, const char *path, struct err *err)
{
	struct buf b = {0};
	uint64_t id;
	FILE *f = NULL;
	int rc = spec_write(s, &b, &id);
	if (rc == 0 && (!(f = fopen(path, "we")) || fwrite(b.p, 1, b.n, f) != b.n))
		rc = -errno;
	if (f && fclose(f) != 0 && rc == 0)
		rc = -errno;
	buf_release(&b);
	return rc < 0 ? err_set(err, -rc, "cannot write '%s'", path) : 0;
}

/* Gives the exit status: STATUS_NOTHING if it has no specification and none can be made. */
int cmd_spec(struct cmd *c, const struct opts_spec *o)
{
	struct err err = {0}, why = {0};
	struct spec *s = NULL;
	int rc = -ENODATA;
	if (c->n_operands == 0)
		return report_usage(c, "not a program or bitcode");
	/* A program or a specification has it; else it is made from what has bitcode. */
	if (c->n_operands == 1)
		rc = spec_load(c->operands[0], &err, &s);
	if (rc == -ENOENT || rc == -EACCES || rc == -EISDIR)
		return report_err(&err, STATUS_NOTHING);
	if (rc < 0) {
		int made = make_temporary_spec(c->operands, &why, &s);
		if (made < 0) {
			/* Of one that has the mark of a specification, that it is damaged says more than that it is no bitcode. */
			bool damaged = c->n_operands == 1 && strstr(err.text, "damaged");
			return report_err(damaged || (made == -ENODATA && *err.text) ? &err : &why, STATUS_NOTHING);
		}
	}
	if (o->output) {
		rc = write_out(s, o->output, &err);
		rc = rc < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
	} else
		rc = o->json ? print_spec_json(s, o) : print_spec_text(s, o);
	spec_free(s);
	return rc;
}

/* spectext.c - makes specifications and function traces from text, for tests.
 *
 *   stemma-spectext spec <TEXT >FILE
 *       file NAME                                  files are numbered as they come
 *       function NAME LINE                         in the last file; its nodes follow, numbered from 0
 *       KIND LINE COLUMN NAME [-> EDGE...]         KIND as spec_kind_name says; NAME - for none, a decision's is its
 *                                                  condition, with ? before it where true and false may not be the
 *                                                  source's; EDGE: NODE or NODE=OUTCOME=LABEL
 *       indirect LINE COLUMN FUNCTION,... [-> EDGE...]   a call through a pointer
 *   stemma-spectext trace SPEC [thread=NAME] [lazy] [operands] [pid=N] [started=N] [began=N] [rank=N/M]
 *                       <TEXT >FILE
 *       enter FUNCTION|NUMBER, leave, call NODE, decide NODE OUTCOME [signed|unsigned|real|pointer A B],
 *       silent HASH WORDS, back DEPTH, gap WHY, end exit|thread|stopped,
 *       message KIND FLAGS RANK SIZE PEER TAG BYTES    numbers, as on disk
 *       repeat N ... done                          may be nested
 *
 * Words are parted by blanks, lines that begin with # are passed over. */
#include "spec/spec.h"
#include "spec/trace/trace.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 64
static char *lines[100000];
static size_t n_lines;

static void read_lines(void)
{
	static char line[4096];
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (n_lines == sizeof(lines) / sizeof(*lines))
			errx(2, "too many lines");
		lines[n_lines++] = strdup(line);
	}
}

static int split(const char *line, char *copy, char *words[WORDS])
{
	int n = 0;
	char *save = NULL;
	strcpy(copy, line);
	for (char *w = strtok_r(copy, " \t", &save); w && n < WORDS; w = strtok_r(NULL, " \t", &save))
		words[n++] = w;
	return n && words[0][0] != '#' ? n : 0;
}

/* ---- specification ---- */

#define MOST 20000
static struct spec_function functions[MOST];
static struct spec_node nodes[MOST];
static struct spec_edge edges[4 * MOST];
static uint32_t targets[MOST];
static const char *files[100];
static const char *target_names[MOST]; /* by node, until all functions are known */

static uint32_t function_of(const struct spec *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_functions; i++)
		if (!strcmp(s->functions[i].name, name))
			return i;
	return SPEC_NONE;
}

static void add_edge(struct spec *s, struct spec_node *n, char *word)
{
	char *outcome = strchr(word, '='), *label = outcome ? strchr(outcome + 1, '=') : NULL;
	edges[s->n_edges++] = (struct spec_edge){(uint32_t)atoi(word), outcome ? (uint32_t)atoi(outcome + 1) : 0,
	                                         label ? strdup(label + 1) : ""};
	if (n->kind == SPEC_DECISION && *n->condition != '?' && label &&
	    (!strcmp(label + 1, "true") || !strcmp(label + 1, "false")))
		n->flags |= SPEC_SOURCE_TRUTH;
	n->n_edges++;
}

static int make_spec(void)
{
	struct spec s = {
	    .functions = functions, .nodes = nodes, .edges = edges, .targets = targets, .files = files, .main = SPEC_NONE};
	char copy[4096], producer[] = "spectext", *w[WORDS];
	struct buf out = {0};
	uint64_t id;
	s.producer = producer;
	for (size_t i = 0; i < n_lines; i++) {
		int n = split(lines[i], copy, w);
		struct spec_node *node = &nodes[s.n_nodes];
		if (!n)
			continue;
		if (n == 2 && !strcmp(w[0], "file")) {
			files[s.n_files++] = strdup(w[1]);
		} else if (n == 3 && !strcmp(w[0], "function")) {
			functions[s.n_functions++] = (struct spec_function){
			    .name = strdup(w[1]), .file = s.n_files - 1, .line = (uint32_t)atoi(w[2]), .first_node = s.n_nodes};
		} else if (n >= 4) {
			unsigned kind = 0;
			bool indirect = !strcmp(w[0], "indirect");
			while (!indirect && kind < SPEC_KINDS && strcmp(spec_kind_name(kind), w[0]))
				kind++;
			if (kind == SPEC_KINDS || !s.n_functions)
				errx(2, "line %zu: no such kind", i + 1);
			char *name = strdup(!strcmp(w[3], "-") ? "" : w[3]);
			for (char *q = name; kind == SPEC_DECISION && *q; q++)
				*q = *q == '_' ? ' ' : *q;
			*node = (struct spec_node){.kind = indirect ? SPEC_CALL : (uint8_t)kind,
			                           .flags = indirect ? SPEC_INDIRECT : 0,
			                           .file = s.n_files - 1,
			                           .line = (uint32_t)atoi(w[1]),
			                           .column = (uint32_t)atoi(w[2]),
			                           .name = kind == SPEC_DECISION || indirect ? "" : name,
			                           .condition = kind == SPEC_DECISION && !indirect ? name : "",
			                           .first_edge = s.n_edges};
			target_names[s.n_nodes++] = name;
			functions[s.n_functions - 1].n_nodes++;
			for (int k = 5; k < n; k++)
				add_edge(&s, node, w[k]);
			node->condition += *node->condition == '?';
		} else {
			errx(2, "line %zu: not understood: %s", i + 1, lines[i]);
		}
	}
	s.main = function_of(&s, "main");
	for (uint32_t i = 0; i < s.n_nodes; i++) {
		char names[4096], *save = NULL;
		nodes[i].first_target = s.n_targets;
		if (nodes[i].kind != SPEC_CALL)
			continue;
		snprintf(names, sizeof(names), "%s", target_names[i]);
		for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
			uint32_t f = function_of(&s, name);
			if (f == SPEC_NONE)
				errx(2, "no function %s", name);
			targets[s.n_targets++] = f;
			nodes[i].n_targets++;
		}
	}
	if (spec_write(&s, &out, &id) < 0 || out.failed || fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout))
		err(1, "cannot write");
	buf_release(&out);
	return 0;
}

/* ---- trace ---- */

static const struct spec *spec;
static enum trace_end ending = TRACE_CUT;

static uint32_t function_word(const char *word)
{
	uint32_t f = spec ? function_of(spec, word) : SPEC_NONE;
	return f != SPEC_NONE ? f : (uint32_t)strtoul(word, NULL, 0);
}

static void put_line(struct buf *out, char **w, int n)
{
	static const char *const types[] = {"", "signed", "unsigned", "real", "pointer"};
	struct trace_event e = {0};
	if (!strcmp(w[0], "enter") && n == 2) {
		e.kind = TRACE_ENTER;
		e.function = function_word(w[1]);
	} else if (!strcmp(w[0], "leave")) {
		e.kind = TRACE_LEAVE;
	} else if (!strcmp(w[0], "call") && n == 2) {
		e.kind = TRACE_CALL;
		e.node = (uint32_t)atoi(w[1]);
	} else if (!strcmp(w[0], "decide") && n >= 3) {
		e.kind = TRACE_DECIDE;
		e.node = (uint32_t)atoi(w[1]);
		e.outcome = (uint32_t)atoi(w[2]);
		for (unsigned t = 1; n == 6 && t < 5; t++)
			if (!strcmp(w[3], types[t]))
				e.type = (enum trace_type)t;
		if (e.type == TRACE_REAL) {
			e.a.d = strtod(w[4], NULL);
			e.b.d = strtod(w[5], NULL);
		} else if (e.type) {
			e.a.i = strtoll(w[4], NULL, 0);
			e.b.i = strtoll(w[5], NULL, 0);
		}
	} else if (!strcmp(w[0], "silent") && n == 3) {
		e.kind = TRACE_SILENT;
		e.hash = strtoull(w[1], NULL, 0);
		e.words = strtoull(w[2], NULL, 0);
	} else if (!strcmp(w[0], "back") && n == 2) {
		e.kind = TRACE_BACK;
		e.depth = (uint32_t)atoi(w[1]);
	} else if (!strcmp(w[0], "gap") && n == 2) {
		e.kind = TRACE_GAP;
		e.why = (enum trace_why)atoi(w[1]);
	} else if (!strcmp(w[0], "message") && n == 8) {
		e.kind = TRACE_MESSAGE;
		e.message = (struct trace_message){.kind = (uint8_t)atoi(w[1]),
		                                   .flags = (uint8_t)atoi(w[2]),
		                                   .rank = atoi(w[3]),
		                                   .size = atoi(w[4]),
		                                   .peer = atoi(w[5]),
		                                   .tag = atoi(w[6]),
		                                   .bytes = strtoull(w[7], NULL, 0)};
	} else if (!strcmp(w[0], "end") && n == 2) {
		ending = !strcmp(w[1], "exit") ? TRACE_EXIT : !strcmp(w[1], "thread") ? TRACE_THREAD : TRACE_STOPPED;
		return;
	} else {
		errx(2, "not understood: %s", w[0]);
	}
	trace_put(out, &e);
}

static size_t put_lines(struct buf *out, size_t i, bool inner)
{
	char copy[4096], *w[WORDS];
	for (; i < n_lines; i++) {
		int n = split(lines[i], copy, w);
		if (!n)
			continue;
		if (!strcmp(w[0], "done")) {
			if (!inner)
				errx(2, "done without repeat");
			return i;
		}
		if (strcmp(w[0], "repeat") || n != 2) {
			put_line(out, w, n);
			continue;
		}
		/* What is repeated is made once; nothing in it depends on the turn. */
		struct buf once = {0};
		unsigned long times = strtoul(w[1], NULL, 0);
		i = put_lines(&once, i + 1, true);
		while (times--)
			buf_add(out, once.p, once.n);
		buf_release(&once);
	}
	if (inner)
		errx(2, "repeat without done");
	return i;
}

static int make_trace(int argc, char **argv)
{
	struct trace_info info = {.pid = 1, .tid = 1, .began = 1, .started = 1, .thread = "0", .exe = "/usr/bin/true"};
	struct err why = {0};
	struct spec *s = NULL;
	struct buf out = {0};
	if (argc > 2 && strcmp(argv[2], "-") && spec_load(argv[2], &why, &s) < 0)
		errx(2, "%s", why.text);
	spec = s;
	info.spec = s ? s->id : 1;
	for (int i = 3; i < argc; i++) {
		const char *value = strchr(argv[i], '=') ? strchr(argv[i], '=') + 1 : "";
		if (!strncmp(argv[i], "thread=", 7))
			snprintf(info.thread, sizeof(info.thread), "%s", value);
		else if (!strncmp(argv[i], "exe=", 4))
			snprintf(info.exe, sizeof(info.exe), "%s", value);
		else if (!strncmp(argv[i], "pid=", 4))
			info.pid = (uint32_t)atoi(value);
		else if (!strncmp(argv[i], "started=", 8))
			info.started = strtoull(value, NULL, 0);
		else if (!strncmp(argv[i], "began=", 6))
			info.began = strtoull(value, NULL, 0);
		else if (sscanf(argv[i], "rank=%u/%u", &info.rank, &info.ranks) == 2)
			;
		else if (!strcmp(argv[i], "lazy"))
			info.lazy = true;
		else if (!strcmp(argv[i], "operands"))
			info.operands = true;
		else
			errx(2, "not understood: %s", argv[i]);
	}
	trace_put_header(&out, &info);
	put_lines(&out, 0, false);
	trace_put_end(&out, ending);
	if (out.failed || fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout))
		err(1, "cannot write");
	buf_release(&out);
	spec_free(s);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: stemma-spectext spec | trace SPEC [OPTION...]");
	read_lines();
	return !strcmp(argv[1], "spec") ? make_spec() : make_trace(argc, argv);
}

/* nodesim.c - the aggregator without a kernel: what a tracer would have said comes from standard input, a line an
 * event; the logs go to DIR/users/UID/logs, to be read by stemma and stemma-evtext.
 *
 *     nodesim [--keep=all] [--rule=ROW]... DIR < TRACE
 *
 * The lines are those of trace_text.h, and: settle t=, tick t=, session t=, count pid= on=, stats, detach t=. */
#include "daemon/logs.h"
#include "node/node.h"
#include "trace_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim {
	struct node *node;
	struct logs *logs;
	unsigned runs;
};

static uint64_t add(void *arg, uint32_t uid, const struct event *ev)
{
	const struct sim *s = arg;
	return logs_add(s->logs, uid, ev);
}

static void run_id(void *arg, char ret[27])
{
	struct sim *s = arg;
	snprintf(ret, 27, "01KE000000000000000000%04u", ++s->runs);
}

static const struct fs_domain *domain(void *arg, uint64_t dev)
{
	static const struct fs_domain disk = {.name = "uuid:sim", .type = "ext4", .index = 1},
	                              pipes = {.name = "boot:sim:pipes", .type = "", .index = 2};
	(void)arg;
	return dev == 1 ? &disk : &pipes;
}

static void part(void *arg, uint32_t uid)
{
	const struct sim *s = arg;
	node_part(s->node, uid, trace_epoch);
}

static void begun(void *arg, uint32_t uid)
{
	const struct sim *s = arg;
	node_session(s->node, uid, trace_epoch);
}

static void each(void *arg, const struct tracer_event *ev)
{
	const struct sim *s = arg;
	node_event(s->node, ev);
}

static bool line_of(struct sim *s, char **words)
{
	int64_t t = trace_time(words, "t", NULL);
	struct node_stats st;
	if (!strcmp(words[0], "settle")) {
		node_settle(s->node, t);
	} else if (!strcmp(words[0], "tick")) {
		node_tick(s->node, t);
		logs_flush(s->logs, t);
	} else if (!strcmp(words[0], "session")) {
		logs_again(s->logs, t);
	} else if (!strcmp(words[0], "count")) {
		node_counting(s->node, (pid_t)trace_number(words, "pid"), trace_number(words, "on"));
	} else if (!strcmp(words[0], "detach")) {
		node_detach(s->node, t);
	} else if (!strcmp(words[0], "stats")) {
		node_stats(s->node, &st);
		printf("events=%llu processes=%llu folded=%llu undecided=%llu representative=%llu live=%llu accesses=%llu "
		       "repeats=%llu lost=%llu swept=%llu\n",
		       (unsigned long long)st.events, (unsigned long long)st.processes, (unsigned long long)st.folded,
		       (unsigned long long)st.undecided, (unsigned long long)st.representative, (unsigned long long)st.live,
		       (unsigned long long)st.accesses, (unsigned long long)st.repeats, (unsigned long long)st.lost,
		       (unsigned long long)st.swept);
	} else {
		return trace_event(words, each, s);
	}
	return true;
}

int main(int argc, char **argv)
{
	struct sim s = {0};
	struct node_options o = {.boot = trace_epoch};
	struct rules *rules = rules_new();
	struct err err = {0};
	const char *dir = NULL;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--keep=all"))
			o.keep_all = true;
		else if (!strncmp(argv[i], "--accesses=", 11))
			o.max_accesses = (unsigned)atoi(argv[i] + 11);
		else if (!strncmp(argv[i], "--processes=", 12))
			o.max_processes = (unsigned)atoi(argv[i] + 12);
		else if (!strncmp(argv[i], "--files=", 8))
			o.max_files = (unsigned)atoi(argv[i] + 8);
		else if (!strncmp(argv[i], "--rule=", 7) && rules_add(rules, argv[i] + 7, &err) < 0)
			return fprintf(stderr, "nodesim: %s\n", err.text), 2;
		else if (argv[i][0] != '-')
			dir = argv[i];
	}
	o.rules = rules;
	struct logs_options lo = {.base = dir, .mode = "node/sim", .host = "sim"};
	struct logs_hooks hooks = {&s, part, begun};
	if (!dir || logs_open(&lo, &hooks, &err, &s.logs) < 0)
		return fprintf(stderr, "nodesim: %s\n", dir ? err.text : "which folder?"), 2;
	struct node_world world = {.arg = &s, .add = add, .run_id = run_id, .domain = domain};
	s.node = node_new(&o, &world);
	char *line = NULL;
	size_t cap = 0;
	int status = 0;
	while (s.node && getline(&line, &cap, stdin) > 0) {
		char *words[64];
		if (!trace_words(line, words))
			continue;
		if (!line_of(&s, words)) {
			fprintf(stderr, "nodesim: no kind of line: %s\n", words[0]);
			status = 2;
		}
	}
	free(line);
	node_free(s.node);
	logs_close(s.logs);
	rules_free(rules);
	return status;
}

/* stemma-tracetext - what the node's tracer tells while a command runs, a line an event: for the tests.
 *
 *   stemma-tracetext [-a pid|uid=N|node] [-p] [-i PATH]... [-t SECONDS] [-d FILE] [-n] [-s] -- CMD...
 *   stemma-tracetext -c
 *
 * -a counts reads and writes (pid: of the command), -p processes only, -i leaves out what lies under PATH, -t ends it
 * then, -n tells also what is not of the command's descendants, -s prints counters at the end, -q prints no events, -c
 * what works. A first drain is made before the command starts, so that all of it is told. */
#include "capture/node_tracer/tracer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const kinds[] = {"",       "alive",  "fork",  "exec", "exit",  "fds",   "file",
                                    "rename", "access", "uring", "lost", "watch", "clock", "user"};

struct seen {
	pid_t *pids; /* those of the command, in the order they came */
	size_t n, cap;
	bool all, quiet;
	uint64_t told, lost;
};

static void put(const char *name, struct str s)
{
	printf(" %s=\"", name);
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '\0')
			fputs(i + 1 < s.n ? "|" : "", stdout);
		else if (c < 32 || c > 126 || c == '"' || c == '\\' || c == '|')
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static bool mine(struct seen *s, const struct tracer_event *ev)
{
	bool known = false;
	for (size_t i = 0; i < s->n && !known; i++)
		known = s->pids[i] == ev->pid || (ev->kind == TRACER_FORK && s->pids[i] == ev->ppid);
	if (known && ev->kind == TRACER_FORK) {
		if (s->n == s->cap) {
			s->cap = s->cap ? 2 * s->cap : 64;
			s->pids = realloc(s->pids, s->cap * sizeof(*s->pids));
			if (!s->pids)
				exit(1);
		}
		s->pids[s->n++] = ev->pid;
	}
	return known || s->all;
}

static void id(const char *name, const struct tracer_fileid *f)
{
	printf(" %s=%llx:%llu:%016llx/%o", name, (unsigned long long)f->dev, (unsigned long long)f->ino,
	       (unsigned long long)f->gen, f->mode);
}

static void side(const char *name, const struct tracer_side *s)
{
	printf(" %s=%llu/%llu", name, (unsigned long long)s->count, (unsigned long long)s->bytes);
}

static void on_event(void *arg, const struct tracer_event *ev)
{
	static const char *const ops[] = {"opened",  "executed", "closed_write", "closed_read",
	                                  "created", "deleted",  "moved_from",   "moved_to"};
	static const char *const flags[] = {"cut",       "unread", "no_path", "no_id", "again", "spans_exec",
	                                    "spans_pid", "late",   "unknown", "alias", "unseen"};
	struct seen *s = arg;
	s->told++;
	s->lost += ev->kind == TRACER_LOST;
	if (s->quiet || (ev->kind != TRACER_LOST && ev->kind != TRACER_WATCH && !mine(s, ev)))
		return;
	if (ev->kind == TRACER_ALIVE && !s->all)
		return;
	printf("%s", kinds[ev->kind]);
	if (ev->pid)
		printf(" pid=%d ppid=%d nexec=%u uid=%u comm=%s", ev->pid, ev->ppid, ev->nexec, ev->uid, ev->comm);
	printf(" lo=%lld hi=%lld", (long long)ev->lo, (long long)ev->hi);
	for (size_t i = 0, first = 1; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (ev->flags & 1u << i) {
			printf("%s%s", first ? " flags=" : ",", flags[i]);
			first = 0;
		}
	switch (ev->kind) {
	case TRACER_ALIVE:
	case TRACER_EXEC:
		id("exe", &ev->exec.exe);
		put("path", ev->exec.exe_path);
		put("name", ev->exec.name);
		put("cwd", ev->exec.cwd);
		put("argv", ev->exec.argv);
		printf(" env_bytes=%zu/%u", ev->exec.env.n, ev->exec.env_bytes);
		break;
	case TRACER_EXIT:
		printf(" status=%d threads=%u cpu=%llu rss=%llu rchar=%llu wchar=%llu", ev->exit.status, ev->exit.threads,
		       (unsigned long long)ev->exit.usage.cpu, (unsigned long long)ev->exit.usage.rss,
		       (unsigned long long)ev->exit.usage.rchar, (unsigned long long)ev->exit.usage.wchar);
		printf(" whole=%d", ev->exit.usage.whole);
		break;
	case TRACER_FDS:
		printf(" at=%s", ev->fds.at_exit ? "exit" : "exec");
		for (size_t i = 0; i < ev->fds.n; i++)
			printf(" %u:%o:%u:%llu", ev->fds.fd[i].fd, ev->fds.fd[i].file.mode, ev->fds.fd[i].opened,
			       (unsigned long long)ev->fds.fd[i].file.ino);
		if (ev->fds.cut)
			printf(" cut");
		break;
	case TRACER_FILE:
	case TRACER_RENAME:
		for (size_t i = 0, first = 1; i < sizeof(ops) / sizeof(ops[0]); i++)
			if (ev->file.ops & 1u << i) {
				printf("%s%s", first ? " ops=" : ",", ops[i]);
				first = 0;
			}
		put("path", ev->file.path);
		if (ev->kind == TRACER_RENAME)
			put("old", ev->file.old_path);
		id("id", &ev->file.id);
		if (ev->file.have_state)
			printf(" size=%llu", (unsigned long long)ev->file.size);
		if (ev->file.why)
			put("why", str_of(ev->file.why));
		break;
	case TRACER_ACCESS:
		id("id", &ev->access.id);
		side("read", &ev->access.read);
		side("write", &ev->access.write);
		break;
	case TRACER_LOST:
		printf(" what=%d count=%llu", ev->lost.what, (unsigned long long)ev->lost.count);
		put("text", str_of(ev->lost.text));
		break;
	case TRACER_WATCH:
		printf(" watched=%d", ev->watch.watched);
		put("mount", ev->watch.mount);
		put("type", ev->watch.type);
		put("why", str_of(ev->watch.why));
		break;
	default:
		break;
	}
	putchar('\n');
}

static int say_caps(void)
{
	struct tracer_caps caps;
	tracer_probe(true, &caps);
	for (unsigned i = 0; i < caps.n; i++)
		printf("%s %s %.0f %s\n", caps.cap[i].works ? "yes" : "no", caps.cap[i].name, caps.cap[i].cost,
		       caps.cap[i].text);
	return 0;
}

int main(int argc, char **argv)
{
	const char *ignore[32] = {0};
	struct tracer_options o = {0};
	struct seen s = {0};
	struct err err = {0};
	struct tracer *t;
	const char *count = NULL;
	size_t nignore = 0;
	double seconds = 0;
	bool stats = false;
	int opt, status = 0, go[2];
	while ((opt = getopt(argc, argv, "+a:pi:t:nqsck:")) != -1)
		switch (opt) {
		case 'a':
			count = optarg;
			break;
		case 'p':
			o.no_files = true;
			break;
		case 'i':
			ignore[nignore++] = optarg;
			break;
		case 't':
			seconds = atof(optarg);
			break;
		case 'n':
			s.all = true;
			break;
		case 'q':
			s.quiet = true;
			break;
		case 's':
			stats = true;
			break;
		case 'k':
			o.ring_kb = (unsigned)atoi(optarg);
			break;
		case 'c':
			return say_caps();
		default:
			return 2;
		}
	o.ignore = ignore;
	if (tracer_open(&o, &t, &err) < 0) {
		fprintf(stderr, "stemma-tracetext: %s\n", err.text);
		return 77;
	}
	tracer_drain(t, on_event, &s, &err);
	fflush(stdout);
	pid_t child = 0;
	if (optind < argc) {
		if (pipe(go) < 0)
			return 1;
		child = fork();
		if (child == 0) {
			char c;
			close(go[1]);
			if (read(go[0], &c, 1) < 0)
				_exit(1);
			close(go[0]);
			execvp(argv[optind], argv + optind);
			_exit(127);
		}
		close(go[0]);
		s.pids = malloc(64 * sizeof(*s.pids));
		s.cap = 64;
		s.pids[s.n++] = child;
	}
	if (count) {
		enum tracer_who who = !strcmp(count, "pid") ? TRACER_PID : !strcmp(count, "node") ? TRACER_NODE : TRACER_UID;
		uint64_t what = who == TRACER_PID ? (uint64_t)child : who == TRACER_UID ? strtoull(count + 4, NULL, 10) : 0;
		if (tracer_set(t, who, what, true, &err) < 0) {
			fprintf(stderr, "stemma-tracetext: %s\n", err.text);
			return 77;
		}
	}
	if (child)
		close(go[1]);
	struct timespec began, now;
	clock_gettime(CLOCK_MONOTONIC, &began);
	int after = 0;
	while (after < 4) {
		if (tracer_poll(t, 50, on_event, &s, &err) < 0) {
			fprintf(stderr, "stemma-tracetext: %s\n", err.text);
			return 1;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		bool ended = child ? waitpid(child, &status, WNOHANG) == child : false;
		if (ended)
			child = 0;
		double since = (double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) / 1e9;
		if ((!child && !seconds) || (seconds && since > seconds) || (optind < argc && !child))
			after++; /* what the last drains still hold */
	}
	tracer_totals(t, on_event, &s, &err);
	if (stats) {
		struct tracer_stats st;
		tracer_stats(t, &st);
		printf("stats forks=%llu execs=%llu exits=%llu files=%llu calls=%llu lost=%llu cpu=%llu memory=%llu told=%llu "
		       "processes=%llu\n",
		       (unsigned long long)st.forks, (unsigned long long)st.execs, (unsigned long long)st.exits,
		       (unsigned long long)st.files, (unsigned long long)st.calls, (unsigned long long)s.lost,
		       (unsigned long long)st.cpu, (unsigned long long)st.memory, (unsigned long long)s.told,
		       (unsigned long long)st.processes);
	}
	tracer_close(t);
	free(s.pids);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* stemma-trace-functions [--single|--small] FOLDER PROGRAM:GLOB,... [...] - traces functions of the processes that its
 * parent starts after it has said so, into the folder: for `stemma run`, which does without libbpf.
 *
 * Says one line on standard output: "ready N PID" or "error SENTENCE" (then it ends with 1). At the end of standard
 * input: "traces N LOST OTHER ERRNO". --works alone says whether it can be had: "works", or why not and 1. For tests,
 * --single puts each probe in by itself, --small has little room. Between both it is no child of whoever started it,
 * and takes no signal of a terminal. */
#include "capture/function_trace/functions.h"
#include "capture/function_trace/functions_write.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A sink of functions_read: arg is the writer. */
static void write_record(void *arg, const struct function_record *t, size_t size)
{
	functions_writer_add(arg, t, size);
}

#define SMALL 16384u

/* Prints why it failed, for the program that started this one. The exit status: 1. */
static int print_failure(const struct err *err)
{
	printf("error %s\n", err->text);
	if (*err->hint)
		printf("hint %s\n", err->hint);
	return 1;
}

/* What found no room is missing somewhere in what was read since: all that is open says so. */
static void read_records(struct functions *x, struct functions_writer *w, uint64_t *lost)
{
	const volatile struct function_control *c = functions_control(x);
	uint64_t now = c->lost + c->beyond;
	if (now != *lost)
		functions_writer_gap(w, "lost");
	functions_read(x, write_record, w);
	if (now != *lost)
		functions_writer_gap(w, "lost");
	*lost = now;
}

/* Reads until something comes on the standard input or it closes; then prints "traces N LOST OTHER ERRNO". */
static void serve_functions(struct functions *x, const struct found *found)
{
	enum { PAUSE_MS = 10 }; /* the ring takes 1.6 million entries: more than any program makes in this time */
	struct functions_writer *w = functions_writer_new(found);
	const volatile struct function_control *c = functions_control(x);
	uint64_t lost = 0, traces = 0;
	int failed = ENOMEM;
	struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = functions_fd(x), .events = POLLIN}};
	while (w && !(p[0].revents & (POLLIN | POLLHUP | POLLERR))) {
		if (poll(p, 2, PAUSE_MS) < 0 && errno != EINTR)
			break;
		read_records(x, w, &lost);
	}
	functions_stop(x);
	if (w) {
		read_records(x, w, &lost);
		functions_writer_end(w, &traces, &failed);
	}
	printf("traces %llu %llu %llu %d\n", (unsigned long long)traces, (unsigned long long)(c->lost + c->beyond),
	       (unsigned long long)c->other, failed);
	fflush(stdout);
}

/* --works: can probes be set? Otherwise says "ready N PID" once the probes are set, and a child of that PID reads the
 * trace into FOLDER, the current folder from then on. The exit status: 0; 2 for a wrong use. */
int main(int argc, char **argv)
{
	struct found found = {0};
	struct functions *x = NULL;
	struct err err = {0};
	bool single = argc > 1 && !strcmp(argv[1], "--single"), small = argc > 1 && !strcmp(argv[1], "--small");
	int r = 0;
	argv += single || small;
	argc -= single || small;
	if (argc == 2 && !strcmp(argv[1], "--works")) {
		r = functions_open(&found, false, SMALL, &x, &err);
		puts(r < 0 ? err.text : "works");
		functions_close(x);
		return r < 0;
	}
	if (argc < 3) {
		fputs("usage: stemma-trace-functions [--single|--small] FOLDER PROGRAM:NAME,... [...]\n", stderr);
		return 2;
	}
	for (int i = 2; r == 0 && i < argc; i++)
		r = functions_found_add(&found, argv[i], &err);
	if (r == 0 && chdir(argv[1]) < 0)
		r = err_set(&err, errno, "cannot use the folder '%s'", argv[1]);
	if (r == 0)
		r = functions_open(&found, single, small ? SMALL : FUNCTIONS_RING, &x, &err);
	if (r < 0) {
		functions_found_release(&found);
		return print_failure(&err);
	}
	/* Whoever waits for children shall not meet this one. */
	pid_t pid = fork();
	if (pid < 0) {
		err_set(&err, errno, "cannot start the reader of the trace");
		functions_close(x);
		functions_found_release(&found);
		return print_failure(&err);
	}
	if (pid > 0) { /* said before this one ends, so that whoever waits for that can go by it */
		printf("ready %zu %d\n", found.n, (int)pid);
		fflush(stdout);
		_exit(0);
	}
	setsid();
	serve_functions(x, &found);
	/* The kernel takes the probes away when this process ends; whoever waits for the line above need not wait for
	 * that. */
	_exit(0);
}

#include "cmd/run/run_functions.h"

#include "base/child.h"
#include "base/io.h"
#include "cmd/run/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside this program, or as it is installed. False: it is not there. */
static bool find_function_tracer(char *ret, size_t n)
{
	return io_own("../capture/function_trace/stemma-trace-functions",
	              "../" STEMMA_LIBDIR "/stemma/stemma-trace-functions", ret, n);
}

/* A line without its end; false: there is none. */
static bool read_line(int fd, char *ret, size_t n)
{
	size_t k = 0;
	for (char c; k + 1 < n;) {
		ssize_t r = read(fd, &c, 1);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		if (c == '\n')
			break;
		ret[k++] = c;
	}
	ret[k] = '\0';
	return true;
}

/* in, out: its standard input and output. -1: it cannot be started. */
static pid_t start_function_tracer(const char *path, const struct opts_run *o, const char *folder, int in, int out)
{
	char **argv = calloc(o->trace_functions.n + 3, sizeof(*argv));
	if (!argv)
		return -1;
	argv[0] = (char *)(uintptr_t)path;
	argv[1] = (char *)(uintptr_t)folder;
	for (size_t i = 0; i < o->trace_functions.n; i++)
		argv[i + 2] = (char *)(uintptr_t)o->trace_functions.v[i];
	struct child c = {.argv = argv, .path = path, .in = in, .out = out, .err = CHILD_SAME};
	pid_t pid;
	child_start(&c, &pid);
	free(argv);
	return pid;
}

int run_functions_begin(struct run_functions *f, const struct opts_run *o, const char *folder)
{
	char path[PATH_MAX], line[1024], hint[1024];
	int to[2], from[2];
	*f = (struct run_functions){.to = -1, .from = -1, .quiet = o->quiet};
	if (!folder) {
		report("functions cannot be traced: there is no folder for the traces");
		return STATUS_SELF;
	}
	if (!find_function_tracer(path, sizeof(path))) {
		report("functions cannot be traced: stemma was built without clang, libbpf and libelf");
		return STATUS_SELF;
	}
	if (pipe2(to, O_CLOEXEC) < 0) {
		report("functions cannot be traced: %s", strerror(errno));
		return STATUS_SELF;
	}
	if (pipe2(from, O_CLOEXEC) < 0) {
		close(to[0]);
		close(to[1]);
		report("functions cannot be traced: %s", strerror(errno));
		return STATUS_SELF;
	}
	pid_t pid = start_function_tracer(path, o, folder, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	f->to = to[1];
	f->from = from[0];
	bool said = pid > 0 && read_line(f->from, line, sizeof(line));
	if (said && !strncmp(line, "ready ", 6)) {
		f->runs = true;
	} else if (said && !strncmp(line, "error ", 6)) {
		report("%s", line + 6);
		if (read_line(f->from, hint, sizeof(hint)) && !strncmp(hint, "hint ", 5))
			report_hint("%s", hint + 5);
	} else {
		report("functions cannot be traced: '%s' ended without an answer", path);
	}
	if (pid > 0)
		child_wait(pid);
	if (!f->runs) {
		close(f->to);
		close(f->from);
	}
	return f->runs ? STATUS_OK : STATUS_SELF;
}

void run_functions_end(struct run_functions *f)
{
	char line[256];
	unsigned long long traces = 0, lost = 0, other = 0;
	int failed = 0;
	if (!f->runs)
		return;
	close(f->to);
	bool whole = read_line(f->from, line, sizeof(line)) &&
	             sscanf(line, "traces %llu %llu %llu %d", &traces, &lost, &other, &failed) == 4;
	close(f->from);
	f->runs = false;
	if (f->quiet)
		return;
	if (!whole)
		report("the function tracer was killed: the traces are incomplete");
	else if (failed == EAGAIN)
		report("too many threads: some function traces are missing");
	else if (failed)
		report("cannot write the traces of functions: %s", strerror(failed));
	if (lost)
		report("%llu function call%s not recorded because the buffer was full; the traces have gaps", lost,
		       lost == 1 ? " was" : "s were");
	if (other)
		report("other processes called these functions %llu time%s: this slowed them, and is not in the traces", other,
		       str_plural(other));
}

bool run_functions_works(const char **ret_what)
{
	static char what[1024];
	char path[PATH_MAX];
	*ret_what = what;
	if (!find_function_tracer(path, sizeof(path))) {
		snprintf(what, sizeof(what), "built without libbpf");
		return false;
	}
	char *argv[] = {path, (char *)"--works", NULL};
	struct buf printed = {0};
	int status = child_read(&(struct child){.argv = argv, .path = path, .most = sizeof(what) - 1}, &printed);
	const char *text = buf_cstr(&printed);
	size_t n = strcspn(text, "\n");
	bool said = text[n] == '\n';
	snprintf(what, sizeof(what), "%.*s", said ? (int)n : 100, said ? text : stacks_unstarted(status));
	buf_release(&printed);
	return said && status == 0;
}

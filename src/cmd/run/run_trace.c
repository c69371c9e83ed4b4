#include "cmd/run/run_trace.h"

#include "base/buf.h"
#include "base/io.h"
#include "cmd/run/stacks.h"
#include "spec/trace/trace.h"
#include "spec/trace/trace_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The run goes on without traces. e: errno; what could not be done. */
static void give_up_traces(struct run_trace *t, int e, const char *what)
{
	if (!t->quiet)
		report("functions are not traced: cannot %s: %s", what, strerror(e));
	free(t->folder);
	t->folder = NULL;
}

void run_trace_begin(struct run_trace *t, const struct opts_run *o, const char *home)
{
	struct buf path = {0}, programs = {0};
	*t = (struct run_trace){.home = home,
	                        .quiet = o->quiet,
	                        .functions = o->trace || o->trace_full || o->trace_program.n,
	                        .calls = o->trace_calls != NULL,
	                        .probes = o->trace_functions.n != 0};
	if (!home) {
		give_up_traces(t, ENOENT, "keep traces without a record");
		return;
	}
	buf_printf(&path, "%s/trace", home);
	int rc = io_mkdirs(buf_cstr(&path), 0700);
	buf_str(&path, str_of("/stemma-new-XXXXXX"));
	buf_cstr(&path);
	t->folder = path.failed ? NULL : strdup(path.p);
	buf_release(&path);
	if (rc < 0 || !t->folder || !mkdtemp(t->folder)) {
		give_up_traces(t, rc < 0 ? -rc : t->folder ? errno : ENOMEM, "make a folder for traces");
		return;
	}
	if (t->calls && (t->calls_of = strdup(o->trace_calls)))
		for (char *p = t->calls_of; (p = strchr(p, ','));)
			*p = ':';
	if (o->trace_stacks)
		t->stacks = stacks_begin(t->quiet);
	if (!t->functions)
		return;
	for (size_t i = 0; i < o->trace_program.n; i++)
		buf_printf(&programs, "%s%s", i ? ":" : "", o->trace_program.v[i]);
	setenv("STEMMA_TRACE", t->folder, 1);
	setenv("STEMMA_TRACE_MODE", o->trace_full ? "full" : "lazy", 1);
	unsetenv("STEMMA_TRACE_ZOOM"); /* these two are of diff --trace */
	unsetenv("STEMMA_TRACE_TURN");
	if (programs.n)
		setenv("STEMMA_TRACE_PROGRAMS", buf_cstr(&programs), 1);
	else
		unsetenv("STEMMA_TRACE_PROGRAMS");
	buf_release(&programs);
}

/* Does the process that writes it live on? Then nothing of it may be cut: what it still writes would end it. */
static bool is_trace_writer_alive(const struct trace_info *i)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%u/stat", i->pid);
	/* Another's process, or none: a number in another namespace says nothing, and the file is left as it is. */
	if (!io_text(path, text, sizeof(text)))
		return kill((pid_t)i->pid, 0) == 0 || errno == EPERM;
	return true;
}

/* The file's end to where its words end: what is behind was made ready and never used. */
static void trim_trace_file(int dir, const char *name)
{
	struct trace_header h;
	struct stat st;
	struct trace *t;
	struct err err = {0};
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && io_pread(fd, &h, sizeof(h), 0) == sizeof(h) &&
	    trace_open_bytes(&h, sizeof(h), &err, &t) == 0) {
		uint64_t size = sizeof(h) + (h.next - h.first);
		if (size < (uint64_t)st.st_size && !is_trace_writer_alive(trace_info(t)) && ftruncate(fd, (off_t)size) < 0)
			(void)0; /* it stays as long as it is */
		trace_close(t);
	}
	close(fd);
}

void run_trace_finish(struct run_trace *t, const char *run)
{
	struct buf path = {0};
	size_t n = 0;
	free(t->calls_of);
	t->calls_of = NULL;
	bool stacks = t->stacks > 0;
	if (stacks)
		close(t->stacks);
	t->stacks = 0;
	if (!t->folder)
		return;
	if (stacks && *run)
		stacks_name(t->folder);
	DIR *d = opendir(t->folder);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.') {
			n += strcmp(e->d_name, STACKS_NAMES) != 0;
			if (*run)
				trim_trace_file(dirfd(d), e->d_name);
			else
				unlinkat(dirfd(d), e->d_name, 0);
		}
	if (d)
		closedir(d);
	buf_printf(&path, "%s/trace/%s", t->home, run);
	if (!n) {
		rmdir(t->folder);
		if (!t->quiet)
			report(t->probes ? "none of the functions was called"
			       : t->functions
			           ? "no program wrote a function trace: link programs with stemma cc --trace"
			           : "no calls were traced: none of the programs named ran, or their calls could not be observed");
	} else if (!*run) {
		rmdir(t->folder);
		if (!t->quiet)
			report("the traces were removed, because the run was not recorded");
	} else if (path.failed || rename(t->folder, buf_cstr(&path)) < 0)
		report("cannot move the traces to '%s': %s; they stay in '%s'", buf_cstr(&path), strerror(errno), t->folder);
	buf_release(&path);
	free(t->folder);
	t->folder = NULL;
}

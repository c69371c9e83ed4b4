#include "answer/trace/trace_set.h"

#include "base/io.h"
#include "query/target.h"
#include "spec/trace/calls.h"
#include "spec/trace/entered.h"
#include "spec/trace/provscope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACES_MAX 10000 /* of a folder; they are paired in the square of that */

static void trace_file_release(struct trace_file *f)
{
	free(f->path);
	free(f->libraries);
}

/* s is empty then. */
void trace_set_release(struct trace_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		trace_file_release(&s->v[i]);
	for (size_t i = 0; i < s->n_specs; i++)
		spec_free(s->specs[i]);
	free(s->v);
	free(s->specs);
	*s = (struct trace_set){0};
}

/* Takes spec over, also where it is -ENOMEM. 0, -ENOMEM. */
static int keep_spec(struct trace_set *s, struct spec *spec)
{
	struct spec **p = realloc(s->specs, (s->n_specs + 1) * sizeof(*p));
	if (!p) {
		spec_free(spec);
		return -ENOMEM;
	}
	s->specs = p;
	p[s->n_specs++] = spec;
	return 0;
}

ssize_t trace_first_bytes(const char *path, char *p, size_t n)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t r = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? io_pread(fd, p, n, 0) : -EINVAL;
	close(fd);
	return r;
}

/* Does the path end so? */
static bool ends_with(const char *path, const char *end)
{
	return str_ends(str_of(path), str_of(end));
}

/* A specification in the record, by the build-id of a program or library. */
static struct spec *spec_kept(const struct trace_set *s, const unsigned char *build_id, size_t n, uint64_t id)
{
	struct buf path = {0};
	struct spec *spec = NULL;
	if (!s->home || !n)
		return NULL;
	buf_printf(&path, "%s/spec/", s->home);
	buf_hex(&path, build_id, n);
	buf_printf(&path, ".spec");
	if (spec_load(buf_cstr(&path), NULL, &spec) < 0 || spec->id != id) {
		spec_free(spec);
		spec = NULL;
	}
	buf_release(&path);
	return spec;
}

/* The functions that a thread begins in; something else comes before them only where something is missing. */
static void first_functions(struct trace *t, uint32_t ret[TRACE_FIRST])
{
	struct trace_event e;
	for (int i = 0, n = 0; i < 100 && n < TRACE_FIRST && trace_next(t, NULL, &e) > 0; i++) {
		if (e.kind == TRACE_ENTER)
			ret[n++] = e.function;
		else if (e.kind == TRACE_LEAVE)
			break;
	}
}

/* Templates of a library are compiled into the program, and what begins a thread may be one for many kinds of it. */
static bool is_of_library(const struct spec *s, const struct spec_function *f)
{
	static const char *const names[] = {"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "_ZN5boost", "_ZNK5boost"};
	const char *file = spec_file(s, f->file);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_starts(str_of(f->name), str_of(names[i])))
			return true;
	return str_starts(str_of(file), str_of("/usr/include/")) || strstr(file, "/include/c++/");
}

/* Sets f->first: the first function entered that is not of a library; else the very first. */
static void choose_first(struct trace_file *f)
{
	f->first = f->entered[0];
	for (int i = 0; f->spec && i < TRACE_FIRST && f->entered[i] < f->spec->n_functions; i++)
		if (!is_of_library(f->spec, &f->spec->functions[f->entered[i]])) {
			f->first = f->entered[i];
			return;
		}
}

/* Reads the head of a trace of system calls: whose it is, its size and time. 0; -errno with a sentence. */
static int head_of_calls(const char *path, struct err *err, struct trace_file *f)
{
	struct calls c;
	int r = calls_load(path, err, &c);
	if (r < 0)
		return r;
	f->calls = true;
	f->info = c.info;
	f->size = c.size;
	f->time = c.time;
	calls_release(&c);
	return 0;
}

/* Reads the head of a trace of function entries: whose it is, its size and time. 0; -errno with a sentence. */
static int head_of_entered(const char *path, struct err *err, struct trace_file *f)
{
	struct entered e;
	int r = entered_load(path, err, &e);
	if (r < 0)
		return r;
	f->functions = f->probes = true;
	f->info = e.info;
	f->size = e.size;
	f->time = e.time;
	entered_release(&e);
	return 0;
}

/* What they point to stays the trace's. 0, -ENOMEM. */
static int take_libraries(const struct trace *t, struct trace_file *f)
{
	const struct trace_library *told;
	uint32_t n = trace_libraries(t, &told);
	if (n && !(f->libraries = calloc(n, sizeof(*f->libraries))))
		return -ENOMEM;
	f->n_libraries = n;
	for (uint32_t i = 0; i < n; i++)
		f->libraries[i].told = told[i];
	return 0;
}

/* What is kept of the trace: its info, its libraries and the functions that were entered first. 0; -errno with a
 * sentence. */
static int head_of_trace(const char *path, struct err *err, struct trace_file *f)
{
	struct trace *t;
	int r = trace_open(path, err, &t);
	if (r < 0)
		return r;
	f->info = *trace_info(t);
	first_functions(t, f->entered);
	r = take_libraries(t, f);
	trace_close(t);
	return r < 0 ? err_set(err, ENOMEM, "cannot read '%s'", path) : 0;
}

/* What holds names is text; it says nothing of itself. 0; -EBADMSG with a sentence: it is no text. */
static int head_of_names(const char *path, const char *magic, size_t n, struct err *err, struct trace_file *f)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)magic[i] < ' ' && !strchr("\t\r\n", magic[i] ? magic[i] : ' '))
			return err_set(err, 0, "'%s' is not a trace", path), -EBADMSG;
	f->functions = true;
	snprintf(f->info.exe, sizeof(f->info.exe), "%s", path);
	snprintf(f->info.thread, sizeof(f->info.thread), "0");
	return 0;
}

/* What a trace says of itself, by its kind. 0; -errno with a sentence. */
static int read_head(const char *path, struct err *err, struct trace_file *f)
{
	char magic[16] = "";
	ssize_t n = trace_first_bytes(path, magic, sizeof(magic));
	if (n < 0)
		return err_set(err, (int)-n, "cannot read '%s'", path);
	if (calls_is(magic, (size_t)n))
		return head_of_calls(path, err, f);
	if (entered_is(magic, (size_t)n))
		return head_of_entered(path, err, f);
	if (n >= 7 && !memcmp(magic, "STMTRAC", 7))
		return head_of_trace(path, err, f);
	return head_of_names(path, magic, (size_t)n, err, f);
}

/* Adds a trace to the set, by its file. 0; -E2BIG: there are TRACES_MAX; -errno; with a sentence. */
static int add_trace_file(struct trace_set *s, const char *path, struct err *err)
{
	struct trace_file f = {.group = s->group, .first = SPEC_NONE};
	for (int i = 0; i < TRACE_FIRST; i++)
		f.entered[i] = SPEC_NONE;
	int r = read_head(path, err, &f);
	if (r < 0)
		return r;
	struct trace_file *v = s->n < TRACES_MAX ? realloc(s->v, (s->n + 1) * sizeof(*v)) : NULL;
	f.path = strdup(path);
	if (v)
		s->v = v;
	if (!v || !f.path) {
		trace_file_release(&f);
		if (s->n < TRACES_MAX)
			return err_set(err, ENOMEM, "cannot read '%s'", path);
		err_set(err, 0, "there are more than %d traces: compare fewer, for example with --rank", TRACES_MAX);
		return -E2BIG;
	}
	v[s->n++] = f;
	return 0;
}

/* For scandir. */
static int compare_entry_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* A file of a folder: a trace, a specification, or neither. What is neither is passed over. 0; -errno with a sentence.
 * */
static int add_entry(struct trace_set *s, const char *path, struct err *err)
{
	struct spec *spec;
	char magic[16] = "";
	if (trace_first_bytes(path, magic, sizeof(magic)) < 7)
		return 0;
	if (!memcmp(magic, "STMTRAC", 7) || calls_is(magic, sizeof(magic)) || entered_is(magic, sizeof(magic)) ||
	    ends_with(path, ".ftr"))
		return add_trace_file(s, path, err);
	if (!memcmp(magic, "STMSPEC", 7) && spec_load(path, NULL, &spec) == 0)
		return keep_spec(s, spec);
	return 0;
}

/* Traces and specifications of a folder and the folders in it, as deep as runs are kept. Hidden names are passed over.
 * 0; -errno with a sentence. */
static int add_trace_folder(struct trace_set *s, const char *path, int depth, struct err *err)
{
	struct dirent **names;
	char inner[PATH_MAX];
	int n = scandir(path, &names, NULL, compare_entry_names), r = 0;
	if (n < 0)
		return err_set(err, errno, "cannot read '%s'", path);
	for (int i = 0; i < n; i++) {
		struct stat st;
		const char *name = names[i]->d_name;
		if (r == 0 && *name != '.' && (size_t)snprintf(inner, sizeof(inner), "%s/%s", path, name) < sizeof(inner) &&
		    stat(inner, &st) == 0) {
			if (S_ISDIR(st.st_mode) && depth < 3)
				r = add_trace_folder(s, inner, depth + 1, err);
			else if (S_ISREG(st.st_mode))
				r = add_entry(s, inner, err);
		}
		free(names[i]);
	}
	free(names);
	return r;
}

/* Order of qsort: by time, process and thread. */
static int compare_by_begin_and_pid(const void *x, const void *y)
{
	const struct trace_file *a = x, *b = y;
	if (a->info.began != b->info.began)
		return a->info.began < b->info.began ? -1 : 1;
	if (a->info.pid != b->info.pid)
		return a->info.pid < b->info.pid ? -1 : 1;
	return strcmp(a->info.thread, b->info.thread);
}

/* "0.2" before "0.10", and what is not known last: by its number in the kernel, which grows with every thread until the
 * numbers begin again, below that of the process. An order for qsort. */
static int by_creation(const struct trace_info *x, const struct trace_info *y)
{
	const char *a = x->thread, *b = y->thread;
	if ((*a == '?') != (*b == '?'))
		return *a == '?' ? 1 : -1;
	if (*a == '?' && x->tid != y->tid) {
		bool again[2] = {x->tid < x->pid, y->tid < y->pid};
		return again[0] != again[1] ? (again[1] ? -1 : 1) : x->tid < y->tid ? -1 : 1;
	}
	while (*a && *b) {
		char *end_a, *end_b;
		unsigned long i = strtoul(a + (*a == '?'), &end_a, 10), k = strtoul(b + (*b == '?'), &end_b, 10);
		if (i != k)
			return i < k ? -1 : 1;
		a = *end_a ? end_a + 1 : end_a;
		b = *end_b ? end_b + 1 : end_b;
	}
	return !!*a - !!*b;
}

/* Processes by their beginnings, of each the threads by their creation. */
static int in_final_order(const void *x, const void *y)
{
	const struct trace_file *a = x, *b = y;
	if (a->process_began != b->process_began)
		return a->process_began < b->process_began ? -1 : 1;
	if (a->info.pid != b->info.pid)
		return a->info.pid < b->info.pid ? -1 : 1;
	return by_creation(&a->info, &b->info);
}

/* The specification with that id. NULL: the set has none of that id. */
static const struct spec *spec_with(const struct trace_set *s, uint64_t id)
{
	for (size_t i = 0; i < s->n_specs; i++)
		if (s->specs[i]->id == id)
			return s->specs[i];
	return NULL;
}

/* Keeps what was read for a trace, unless it is there already. Takes spec over. 0, -ENOMEM with a sentence. */
static int use_spec(struct trace_set *s, struct trace_file *f, struct spec *spec, const char *path, struct err *err)
{
	uint64_t id = spec->id;
	if (spec_with(s, id))
		spec_free(spec);
	else if (keep_spec(s, spec) < 0)
		return err_set(err, ENOMEM, "cannot read '%s'", path);
	f->spec = spec_with(s, id);
	return 0;
}

/* Is the program's file the one that left the trace? It may be another one by now. */
static bool is_program_unchanged(const struct trace_file *f)
{
	struct stat st;
	return stat(f->info.exe, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == f->size &&
	       st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec == f->time;
}

/* Finds the specification of a trace of calls, or by probes, which has no id of a specification. 0, also where there
 * is none; -ENOMEM with a sentence. */
static int find_spec_of_program(struct trace_set *s, struct trace_file *f, struct err *err)
{
	struct spec *spec;
	f->spec = s->n_named ? s->specs[0] : NULL;
	if (f->spec || !is_program_unchanged(f) || spec_load(f->info.exe, NULL, &spec) < 0)
		return 0;
	return use_spec(s, f, spec, f->info.exe, err);
}

/* The specifications of libraries: named, beside the traces, in the record, or in the library, if it is still the same.
 * One that is not found is no error. 0; -ENOMEM with a sentence. */
static int find_library_specs(struct trace_set *s, struct trace_file *f, struct err *err)
{
	for (uint32_t i = 0; i < f->n_libraries; i++) {
		const struct trace_library *l = &f->libraries[i].told;
		char magic[4] = "";
		struct spec *spec = spec_with(s, l->spec) ? NULL : spec_kept(s, l->build_id, l->build_id_bytes, l->spec);
		bool look = !spec && !spec_with(s, l->spec) && trace_first_bytes(l->path, magic, sizeof(magic)) == 4 &&
		            memcmp(magic, "\177ELF", 4) == 0;
		if (look && (spec_load(l->path, NULL, &spec) < 0 || spec->id != l->spec)) {
			spec_free(spec);
			spec = NULL;
		}
		if (spec && keep_spec(s, spec) < 0)
			return err_set(err, ENOMEM, "cannot read the specification of '%s'", l->path);
	}
	return 0;
}

/* Where a trace's specification may be: what the user named, beside the traces, in the program itself. f->spec stays
 * NULL where there is none. 0; -EINVAL: a trace of names, which has to have one; -errno; with a sentence. */
static int find_spec(struct trace_set *s, struct trace_file *f, struct err *err)
{
	struct spec *spec;
	char magic[4] = "";
	int r = 0;
	if (f->calls || f->probes)
		return find_spec_of_program(s, f, err);
	if (f->functions) {
		f->spec = s->n_specs ? s->specs[0] : NULL;
		if (f->spec)
			return 0;
		err_set(err, 0, "'%s' contains function names only; the paths between them require a specification", f->path);
		err_hint(err, "use --spec FILE");
		return -EINVAL;
	}
	r = find_library_specs(s, f, err);
	if (r < 0 || !f->info.spec)
		return r;
	f->spec = spec_with(s, f->info.spec);
	if (!f->spec && (spec = spec_kept(s, f->info.build_id, f->info.n_build_id, f->info.spec)))
		r = use_spec(s, f, spec, f->path, err);
	if (r < 0 || f->spec || trace_first_bytes(f->info.exe, magic, sizeof(magic)) != 4 ||
	    memcmp(magic, "\177ELF", 4) != 0 || spec_load(f->info.exe, NULL, &spec) < 0)
		return r;
	r = use_spec(s, f, spec, f->info.exe, err);
	f->spec = spec_with(s, f->info.spec); /* the program may have been built anew */
	return r;
}

/* A file that begins as JSON is provscope's. 0; -errno with a sentence. */
static int load_spec(struct trace_set *s, const char *path, struct err *err)
{
	struct spec *spec;
	char first = 0;
	trace_first_bytes(path, &first, 1);
	int r = first == '[' || first == '{' || first == ' ' || first == '\n' ? provscope_spec_load(path, err, &spec)
	                                                                      : spec_load(path, err, &spec);
	return r < 0 ? r : keep_spec(s, spec);
}

const char *trace_first_name(const struct trace_file *f)
{
	return f->spec && f->first < f->spec->n_functions ? f->spec->functions[f->first].name : NULL;
}

const char *trace_program(const struct trace_file *f)
{
	const char *slash = strrchr(f->info.exe, '/');
	return slash ? slash + 1 : f->info.exe;
}

/* Of the same process and image: the process id, when it started, the program and what was instrumented. */
static bool same_process(const struct trace_file *a, const struct trace_file *b)
{
	return a->info.pid == b->info.pid && a->info.started == b->info.started && !strcmp(a->info.exe, b->info.exe) &&
	       a->info.spec == b->info.spec;
}

/* Numbers the processes of each program: of how many processes of the same program something was seen before it was
 * of this one. In the order of beginnings. */
static void set_places(struct trace_set *s)
{
	size_t processes = 0;
	for (size_t i = 0; i < s->n; i++) {
		size_t highest = 0;
		bool again = false;
		for (size_t k = 0; !again && k < i; k++) {
			again = same_process(&s->v[k], &s->v[i]);
			if (again) {
				s->v[i].process = s->v[k].process;
				s->v[i].place = s->v[k].place;
				s->v[i].process_began = s->v[k].process_began;
			} else if (s->v[k].group == s->v[i].group && !strcmp(trace_program(&s->v[k]), trace_program(&s->v[i])) &&
			           s->v[k].place >= highest)
				highest = s->v[k].place + 1;
		}
		if (!again) {
			s->v[i].process = processes++;
			s->v[i].place = highest;
			s->v[i].process_began = s->v[i].info.began;
		}
	}
}

/* Where one thread went through exit, that is how the others ended that do not say. */
static void set_exits(struct trace_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; s->v[i].info.end == TRACE_EXIT && k < s->n; k++)
			if (s->v[k].process == s->v[i].process && s->v[k].exit_status.kind == EXIT_STATUS_UNKNOWN)
				s->v[k].exit_status.kind = EXIT_STATUS_EXITED;
}

/* When all is there: puts the traces in order and loads their specifications. 0, -errno with a sentence. */
int trace_set_settle(struct trace_set *s, struct err *err)
{
	int r = 0;
	if (s->n) {
		qsort(s->v, s->n, sizeof(*s->v), compare_by_begin_and_pid);
		set_places(s);
		set_exits(s);
		qsort(s->v, s->n, sizeof(*s->v), in_final_order);
	}
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		r = find_spec(s, &s->v[i], err);
		for (uint32_t k = 0; k < s->v[i].n_libraries; k++)
			s->v[i].libraries[k].spec = spec_with(s, s->v[i].libraries[k].told.spec);
		choose_first(&s->v[i]);
	}
	return r;
}

/* Is it the process of the execution? The record has its start in ns, of a kernel's grain or a finer one. */
static bool is_trace_of_exec(const struct trace_file *f, const struct exec_info *x, struct str exe)
{
	int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
	if (f->info.pid != x->pid || f->info.started > INT64_MAX / 2 / (uint64_t)tick)
		return false;
	int64_t started = (int64_t)f->info.started * tick;
	const char *slash = exe.n ? memrchr(exe.p, '/', exe.n) : NULL;
	struct str name = slash ? str_n(slash + 1, exe.n - (size_t)(slash + 1 - exe.p)) : exe;
	return x->started > started - tick && x->started < started + tick &&
	       (!exe.n || str_eq(name, str_of(trace_program(f))));
}

/* What the record says of the end of f's execution. It has no end of an image that another one took the place of: it
 * has that other one. */
static void learn_exit(struct trace_file *f, const struct exec_info *x)
{
	f->exit_status = (struct trace_exit_status){0};
	if (x->ending != TERM_ending_exited && x->ending != TERM_ending_signaled)
		return;
	f->exit_status =
	    (struct trace_exit_status){.kind = x->ending == TERM_ending_exited ? EXIT_STATUS_EXITED : EXIT_STATUS_SIGNALED,
	                               .has_code = true,
	                               .code = x->code};
}

/* Notes what the traced process became by exec, if x has the same process id and a program. A name that is too long is
 * left out. */
static void learn_successor(struct trace_file *f, store_id id, const struct exec_info *x, struct str exe)
{
	const char *slash = exe.n ? memrchr(exe.p, '/', exe.n) : NULL;
	struct str name = slash ? str_n(slash + 1, exe.n - (size_t)(slash + 1 - exe.p)) : exe;
	if (f->info.pid != x->pid || !x->n)
		return;
	f->exit_status = (struct trace_exit_status){.kind = EXIT_STATUS_EXEC};
	f->became = id;
	if (name.n < sizeof(f->exit_status.program))
		snprintf(f->exit_status.program, sizeof(f->exit_status.program), "%.*s", (int)name.n, name.p);
}

/* Which traces are of this execution, or of what it took the place of, and how they ended. */
static void learn_execution(struct trace_set *set, store_id id, const struct exec_info *x, bool named, struct str exe)
{
	for (size_t k = 0; k < set->n; k++) {
		struct trace_file *t = &set->v[k];
		/* What becomes itself again has two traces and two executions: the trace is of the last that began before. */
		bool later = t->exec_named && x->start > (int64_t)t->info.began;
		if (is_trace_of_exec(t, x, exe) && (named ? !later : !t->exec)) {
			t->exec = id;
			t->exec_named = named;
			learn_exit(t, x);
		} else if (t->exec && t->exec == x->parent) {
			learn_successor(t, id, x, exe);
		}
	}
}

/* Leaves the traces of the executions that are marked. */
static void keep_traces_under(struct trace_set *set, const store_id *ids, const bool *under, size_t n)
{
	size_t left = 0;
	for (size_t i = 0; i < set->n; i++) {
		bool stays = false;
		for (size_t k = 0; !stays && k < n; k++)
			stays = under[k] && ids[k] == set->v[i].exec;
		if (stays)
			set->v[left++] = set->v[i];
		else
			trace_file_release(&set->v[i]);
	}
	set->n = left;
}

/* Was execution i started by one that is marked? They stand in the order of their starts. */
static bool is_under(const store_id *ids, const bool *under, size_t i, store_id parent)
{
	for (size_t k = i; parent && k-- > 0;)
		if (under[k] && ids[k] == parent)
			return true;
	return false;
}

/* Which execution each is of, and how it ended. Then those of `of` and what it started are left, if it is one. of: 0,
 * all of the run. 0, -errno. */
static int set_executions(struct store *s, store_id run, store_id of, struct trace_set *set)
{
	store_id *ids = NULL;
	size_t n = 0;
	bool *under = NULL;
	int r = store_run_execs(s, run, &ids, &n);
	if (r == 0 && !(under = calloc(n + 1, sizeof(*under))))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct exec_info x;
		struct file_info f;
		int got = store_exec(s, ids[i], &x);
		int named = got > 0 && x.exe ? store_file(s, x.exe, &f) : 0;
		r = got < 0 ? got : named < 0 ? named : 0;
		if (got <= 0 || r < 0)
			continue;
		under[i] = ids[i] == of || (of && is_under(ids, under, i, x.parent));
		learn_execution(set, ids[i], &x, named > 0, named > 0 ? f.path : str_of(""));
	}
	if (r == 0 && of)
		keep_traces_under(set, ids, under, n);
	set_exits(set);
	free(under);
	free(ids);
	return r;
}

void trace_set_of_rank(struct trace_set *s, uint32_t rank)
{
	size_t left = 0;
	for (size_t i = 0; i < s->n; i++) {
		bool stays = false; /* the rank is in the header of the thread that came upon it first */
		for (size_t k = 0; !stays && k < s->n; k++)
			stays = s->v[k].process == s->v[i].process && s->v[k].info.ranks && s->v[k].info.rank == rank;
		s->v[i].exec = stays ? s->v[i].exec : SIZE_MAX;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].exec == SIZE_MAX)
			trace_file_release(&s->v[i]);
		else
			s->v[left++] = s->v[i];
	s->n = left;
}

int trace_set_of_run(struct store *s, store_id run, store_id exec, struct err *err, struct trace_set *ret)
{
	struct run_info info;
	struct buf path = {0};
	struct stat st;
	int r = store_run(s, run, &info);
	if (r < 0)
		return err_set(err, -r, "cannot read the record");
	if (r == 0) {
		err_set(err, 0, "the run of the trace is not recorded");
		return -ENOENT;
	}
	ret->home = store_home(s);
	buf_printf(&path, "%s/trace/%.*s", ret->home, (int)info.ulid.n, info.ulid.p);
	r = stat(buf_cstr(&path), &st) == 0 ? add_trace_folder(ret, buf_cstr(&path), 0, err) : 0;
	buf_release(&path);
	if (r == 0)
		r = trace_set_settle(ret, err);
	if (r == 0 && ret->n) {
		r = set_executions(s, run, exec, ret);
		if (r < 0)
			err_set(err, -r, "cannot read the record");
	}
	return r;
}

int trace_set_add_folder(struct trace_set *s, const char *path, struct err *err)
{
	return add_trace_folder(s, path, 0, err);
}

int trace_set_find_files(const char *operand, char *const *specs, size_t n_specs, struct err *err,
                         struct trace_set *ret)
{
	struct stat st;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n_specs; i++)
		r = load_spec(ret, specs[i], err);
	ret->n_named = ret->n_specs;
	if (r < 0)
		return r;
	if (stat(operand, &st) < 0) {
		err_set(err, errno, "cannot read '%s'", operand);
		return 0;
	}
	r = S_ISDIR(st.st_mode) ? add_trace_folder(ret, operand, 0, err) : add_trace_file(ret, operand, err);
	if (r == 0)
		r = trace_set_settle(ret, err);
	return r < 0 ? r : 1;
}

int trace_set_find_recorded(struct store *s, const char *word, struct err *err, struct trace_set *ret)
{
	struct target t;
	struct exec_info x;
	int r = target_any(s, word, false, err, &t);
	if (r <= 0)
		return 0;
	if (t.kind == TARGET_FILE) {
		err_set(err, 0, "'%s' is not a run, an execution or a trace", word);
		return 0;
	}
	ret->run = t.id;
	if (t.kind == TARGET_EXEC) {
		r = store_exec(s, t.id, &x);
		if (r <= 0 || !x.run) {
			err_set(err, r < 0 ? -r : ENOENT, "'%s' belongs to no recorded run", word);
			return 0;
		}
		ret->run = x.run;
		ret->exec = t.id;
	}
	r = trace_set_of_run(s, ret->run, ret->exec, err, ret);
	return r < 0 ? r : 1;
}

/* stemma doctor: what works on this machine, found out by doing it. */
#include "base/child.h"
#include "base/fileid.h"
#include "base/io.h"
#include "capture/launch/run.h"
#include "capture/preload/preload_library.h"
#include "capture/standby/standby.h"
#include "capture/witness/witness.h"
#include "cmd/cmd.h"
#include "cmd/doctor/doctor_hdf5.h"
#include "cmd/run/run_functions.h"
#include "cmd/run/stacks.h"
#include "export/crate.h"
#include "import/doc.h"
#include "monitor/procevents.h"
#include "site/broker.h"
#include "site/database.h"
#include "site/http.h"
#include "site/index_source.h"
#include "spec/make.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

struct report {
	json_t *checks;
	bool json;
	bool bad; /* something that `run` needs does not work */
};

enum verdict { GOOD, LIMITED, MISSING };

static json_t *check(struct report *r, const char *name, enum verdict v, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Prints it, or adds it to the JSON: borrowed, for more members. */
static json_t *check(struct report *r, const char *name, enum verdict v, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "limited", "missing"};
	char text[768];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!r->json) {
		printf("%-18s %-8s %s\n", name, words[v], text);
		fflush(stdout); /* what follows may take a second */
		return NULL;
	}
	json_t *one = json_pack("{s:s, s:s, s:s}", "name", name, "state", words[v], "text", text);
	json_array_append_new(r->checks, one);
	return one;
}

/* Of each mechanism whether it works, and what it costs. */
static void check_ways(struct report *r, bool measure)
{
	struct backend_state w;
	for (unsigned i = 0; capture_backend(i, measure, &w); i++) {
		char cost[256] = "";
		if (!w.works) {
			check(r, w.title, MISSING, "%s: %s", w.options, w.why);
			continue;
		}
		size_t n = 0;
		if (w.call > 0)
			n = (size_t)snprintf(cost, sizeof(cost), "%.1f us per stopped call", w.call / 1000);
		else if (w.call == 0)
			n = (size_t)snprintf(cost, sizeof(cost), "stops no call");
		if (w.program >= 0)
			snprintf(cost + n, sizeof(cost) - n, "%s%.2f ms a program", n ? ", " : "", w.program / 1e6);
		else if (*w.why)
			snprintf(cost + n, sizeof(cost) - n, "%sthe cost of a program is unknown: %s", n ? ", " : "", w.why);
		json_t *one = check(r, w.title, GOOD, "%s%s%s", w.options, *cost ? ": " : "", cost);
		if (one && w.call >= 0)
			json_object_set_new(one, "call_us", json_real(w.call / 1000));
		if (one && w.program >= 0)
			json_object_set_new(one, "program_us", json_real(w.program / 1000));
	}
	char mode[32], why[256];
	capture_would(mode, why);
	bool whole = !strncmp(mode, "complete/", 9);
	check(r, "run",
	      whole && !*why             ? GOOD
	      : strcmp(mode, "off") != 0 ? LIMITED
	                                 : MISSING,
	      "records %s%s%s", strcmp(mode, "off") == 0 ? "nothing but itself" : mode, *why ? ": " : "", why);
	r->bad |= strcmp(mode, "off") == 0;
}

/* What of --limit can be held, beside by looking often. */
static const char *process_limit(void)
{
	char mode[32], why[256];
	capture_would(mode, why);
	return strstr(mode, "/notify") || strstr(mode, "/trace") ? "--limit processes is never exceeded"
	                                                         : "--limit processes is enforced by sampling only";
}

/* What stemmad could see of the whole node, which a program of its own finds out: libbpf would make every other start
 * of stemma a quarter slower. Of what a user may not do, nothing is missing for `run`. */
static void check_node(struct report *r, bool measure)
{
	char path[4200];
	if (!io_own("../capture/node_tracer/stemma-node-caps", "../" STEMMA_LIBDIR "/stemma/stemma-node-caps", path,
	            sizeof(path))) {
		check(r, "node processes", MISSING, "built without it (clang, libbpf), or not installed (Debian: stemmad)");
		return;
	}
	char *argv[] = {path, measure ? (char *)"--measure" : NULL, NULL}, *save = NULL;
	struct buf printed = {0};
	child_read(&(struct child){.argv = argv, .path = path, .in = CHILD_SAME, .err = CHILD_SAME, .most = 65536},
	           &printed);
	buf_cstr(&printed);
	for (char *line = printed.p; line && (line = strtok_r(save ? NULL : line, "\n", &save));) {
		/* name, yes or no, cost in ns, what for: a line of four fields */
		char *name = strtok(line, "\t"), *works = strtok(NULL, "\t"), *ns = strtok(NULL, "\t"),
		     *text = strtok(NULL, "\n");
		char title[64], cost[48] = "";
		bool shown = name && (!strcmp(name, "processes") || !strcmp(name, "files") || !strcmp(name, "access"));
		if (!text || (!r->json && !shown))
			continue;
		snprintf(title, sizeof(title), "node %s", name);
		bool good = !strcmp(works, "yes"), known = good && atof(ns) >= 0;
		if (known)
			snprintf(cost, sizeof(cost), ": %.2f us each", atof(ns) / 1000);
		json_t *one = check(r, title, good ? GOOD : MISSING, "%s%s", text, cost);
		if (one && known)
			json_object_set_new(one, "each_us", json_real(atof(ns) / 1000));
	}
	buf_release(&printed);
}

/* Reads the first line of a file into ret, without its end, cut to size - 1 bytes; "" if the file cannot be read.
 * Returns ret. */
static const char *line_in(const char *file, char *ret, size_t size)
{
	io_text(file, ret, size);
	ret[strcspn(ret, "\n")] = '\0';
	return ret;
}

struct standbys {
	unsigned n;
	pid_t first;
};

/* A visitor of the standbys: counts them and keeps the first one's process. */
static void count_standby(void *arg, pid_t pid, const char *run, bool own)
{
	struct standbys *s = arg;
	(void)run, (void)own;
	s->first = s->n++ ? s->first : pid;
}

/* What lets a job's calls go on when the recorder is killed. */
static void check_standby(struct report *r)
{
	struct standbys s = {0};
	char now[80] = "no run has one at present";
	if (!standby_found()) {
		check(r, "standby", LIMITED, "its program was not found: a job fails if its whole recorder is killed");
		return;
	}
	standby_each(count_standby, &s);
	if (s.n)
		snprintf(now, sizeof(now), "%u run%s %s one at present, %sprocess %d", s.n, s.n > 1 ? "s" : "",
		         s.n > 1 ? "have" : "has", s.n > 1 ? "among them " : "", s.first);
	check(r, "standby", GOOD, "lets a job continue if its recorder is killed; %s", now);
}

/* Whether the record can say for sure who reads and writes a pipe. */
static void check_pipes(struct report *r)
{
	int rc = witness_probe();
	if (rc == 0)
		check(r, "pipes", GOOD, "inotify: reads and writes are reported; ordinary pipelines are certain");
	else
		check(r, "pipes", LIMITED, "readers and writers of pipes are only possible: %s",
		      rc == -ENOTSUP ? "inotify does not report pipes on this kernel" : strerror(-rc));
}

/* What is around us that takes something away. */
static void check_container(struct report *r)
{
	static const struct {
		const char *file, *variable, *name;
	} hints[] = {
	    {"/.dockerenv", NULL, "Docker"},       {"/run/.containerenv", NULL, "Podman"},
	    {NULL, "APPTAINER_NAME", "Apptainer"}, {NULL, "SINGULARITY_NAME", "Singularity"},
	    {NULL, "container", "a container"},
	};
	char text[256], map[64];
	const char *in = NULL;
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]) && !in; i++)
		if (hints[i].file ? access(hints[i].file, F_OK) == 0 : getenv(hints[i].variable) != NULL)
			in = hints[i].name;
	unsigned long long first = 0, outside = 0, count = 0;
	bool user_ns =
	    sscanf(line_in("/proc/self/uid_map", map, sizeof(map)), "%llu %llu %llu", &first, &outside, &count) == 3 &&
	    count < 4294967295ull;
	int filters = prctl(PR_GET_SECCOMP), nnp = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	snprintf(text, sizeof(text), "%s%s%s%s", in ? in : "none detected", user_ns ? ", a user namespace" : "",
	         filters > 0 ? ", system call filters" : "", nnp > 0 ? ", no_new_privs" : "");
	check(r, "container", GOOD, "%s", text);
}

/* The control group that this process is in, of version 2; "" none. */
static void own_group(char *ret, size_t size)
{
	char line[4000];
	FILE *f = fopen("/proc/self/cgroup", "re");
	*ret = '\0';
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(ret, size, "/sys/fs/cgroup%s", line + 3);
		}
	if (f)
		fclose(f);
}

/* Whether control groups can be made here, which limits on a run's processes need. */
static void check_groups(struct report *r)
{
	char path[4096], procs[4200], controllers[128];
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) < 0) {
		bool first = access("/sys/fs/cgroup", F_OK) == 0;
		check(r, "control groups", LIMITED, "%s; %s", first ? "version 1, or none mounted" : "none mounted",
		      process_limit());
		return;
	}
	own_group(path, sizeof(path));
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	bool ours = *path && access(path, W_OK) == 0 && access(procs, W_OK) == 0;
	snprintf(procs, sizeof(procs), "%s/cgroup.controllers", path);
	line_in(procs, controllers, sizeof(controllers));
	check(r, "control groups", ours ? GOOD : LIMITED, "version 2, %s%s%s; %s",
	      ours ? "can be made here" : "none can be made here", *controllers ? ": " : "", controllers, process_limit());
}

/* Whether the kernel lets this user count events of its own processes. */
static void check_events(struct report *r)
{
	char text[32];
	line_in("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
	bool may = *text && (atoi(text) <= 2 || geteuid() == 0);
	check(r, "perf events", may ? GOOD : LIMITED, *text ? "perf_event_paranoid is %s" : "none%s", text);
}

/* What tells of processes where nothing of ours does: --pid, --capture=off. */
static void check_process_events(struct report *r)
{
	struct procevents *e;
	struct err err = {0};
	const char *why;
	if (procevents_open(&err, &e) < 0) {
		check(r, "process events", LIMITED, "%s: --pid and --level 1 may miss processes shorter than some milliseconds",
		      err.text);
		return;
	}
	bool all = procevents_measures(e, &why);
	check(r, "process events", all ? GOOD : LIMITED, "--pid and --level 1 observe every process%s%s",
	      all ? ", and its resource use at its end" : ", but not its resource use: ", all ? "" : why);
	procevents_close(e);
}

/* Whether a parent may read its children's memory, as Yama says. */
static void check_memory(struct report *r)
{
	int scope = capture_yama();
	if (scope >= 2)
		check(r, "process memory", MISSING,
		      "Yama ptrace_scope is %d, so stemma run cannot read paths: sysctl kernel.yama.ptrace_scope=1 allows it",
		      scope);
	else
		check(r, "process memory", GOOD, "a parent may read its children's (Yama ptrace_scope %d)", scope);
}

/* Whether files have numbers of generations. home: the store's folder, else the root is asked. */
static void check_identity(struct report *r, const char *home)
{
	struct fileid id;
	if (fileid_get(AT_FDCWD, home, true, &id) < 0 && fileid_get(AT_FDCWD, "/", true, &id) < 0) {
		check(r, "file identity", MISSING, "cannot read the attributes of '%s'", home);
		return;
	}
	check(r, "file identity", id.gen ? GOOD : LIMITED, "%s on %s%s", id.domain->name,
	      *id.domain->type ? id.domain->type : "an unknown file system",
	      id.gen ? "" : ": no generation numbers, inode numbers alone");
}

/* Whether questions reach the record in the database; if not, the whole report is bad. */
static void check_database_store(struct report *r, const char *url)
{
	struct err err = {0};
	struct store *s = NULL;
	const int rc = index_source_open(url, &err, &s);
	store_close(s);
	check(r, "store", rc < 0 ? MISSING : GOOD, "%s%s%s", rc == -EINVAL ? "a database" : url,
	      rc < 0 ? ": " : " (a database: it can be queried, not written)", rc < 0 ? err.text : "");
	r->bad = r->bad || rc < 0;
}

/* Where the store lies and whether it can be written to; a fault makes the whole report bad. */
static void check_store(struct report *r, struct cmd *c)
{
	struct err err = {0};
	char *home = NULL, *index = NULL;
	if (cmd_database(c)) {
		check_database_store(r, cmd_database(c));
		return;
	}
	if (store_places(cmd_home(c), &err, &home, &index) < 0) {
		check(r, "store", MISSING, "%s", err.text);
		r->bad = true;
		return;
	}
	struct stat st;
	if (stat(home, &st) < 0)
		check(r, "store", GOOD, "%s (made by the first run)", home);
	else if (access(home, W_OK) < 0) {
		check(r, "store", MISSING, "%s: %s", home, strerror(errno));
		r->bad = true;
	} else
		check(r, "store", st.st_uid == geteuid() ? GOOD : LIMITED, "%s%s", home,
		      st.st_uid == geteuid() ? "" : " belongs to another user");
	check(r, "index", GOOD, "%s", index);
	check_identity(r, home);
	free(home);
	free(index);
}

/* Is there a program of that name in a folder of PATH? */
static bool in_path(const char *name)
{
	const char *p = getenv("PATH");
	char path[4096];
	for (; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(p, ":"), p, name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* What `run --hdf5` has: the library before HDF5's functions, and the connector; and which HDF5 is there. */
static void check_hdf5(struct report *r, bool python)
{
	char path[4096];
	bool library = preload_library_path("../capture/hdf5", "libstemma-hdf5.so", path, sizeof(path));
	bool connector = preload_library_path("../capture/hdf5", "vol/libstemma-hdf5-vol.so", path, sizeof(path));
	struct buf here = {0}, h5py = {0};
	unsigned served, connects;
	doctor_hdf5(&here, &served, &connects);
	if (python)
		doctor_h5py(&h5py);
	check(r, "HDF5 objects",
	      !library            ? MISSING
	      : here.n && !served ? LIMITED
	                          : GOOD,
	      "%s, %s; here %s%s%s%s%s",
	      library ? "--hdf5: a library that interposes HDF5 1.10, 1.12, 1.14" : "the library for --hdf5 was not found",
	      connector ? "--hdf5=vol: a connector for 1.14" : "without the connector (--hdf5=vol): it was not built",
	      here.n ? buf_cstr(&here) : "no HDF5 except that of programs", here.n && !served ? ", an unknown version" : "",
	      connector && here.n && !connects ? ", which does not support our connector" : "", h5py.n ? "; " : "",
	      h5py.n ? buf_cstr(&h5py) : "");
	buf_release(&here);
	buf_release(&h5py);
}

/* What programs in other languages tell of themselves by: beside the program, where it was built or where it is
 * installed; `elsewhere` is where Debian has it, and `package` in what. */
static void check_languages(struct report *r)
{
	static const struct {
		const char *name, *built, *installed, *elsewhere; /* where it is, in Debian's Python, too; NULL: nowhere else */
		const char *library_built, *library;              /* that is loaded when the program runs; NULL: none */
		const char *package;                              /* Debian's */
	} what[] = {
	    {"C++", "", "../include/stemma/app.hpp", NULL, NULL, NULL, "libstemma-dev"},
	    {"Fortran", "", "../include/stemma/stemma_app.f90", NULL, NULL, NULL, "libstemma-dev"},
	    {"Python", "", "../share/stemma/python/stemma", "../lib/python3/dist-packages/stemma", "../capture/app",
	     "libstemma-app.so.1", "python3-stemma"},
	    {"Java", "../../bindings/stemma-app.jar", "../share/java/stemma-app.jar", NULL, "../../bindings",
	     "libstemma-app-jni.so", "libstemma-java"},
	};
	char exe[4096], path[4200], library[4200], has[64] = "C", lacks[256] = "";
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	snprintf(path, sizeof(path), "%s/../../bindings", exe);
	bool in_tree = access(path, F_OK) == 0; /* where all that is source is there */
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", exe, in_tree ? what[i].built : what[i].installed);
		bool loads =
		    !what[i].library || preload_library_find(what[i].library_built, what[i].library, library, sizeof(library));
		bool there = access(path, R_OK) == 0;
		if (!there && what[i].elsewhere) {
			snprintf(path, sizeof(path), "%s/%s", exe, what[i].elsewhere);
			there = access(path, R_OK) == 0;
		}
		size_t used = strlen(lacks);
		if (loads && there)
			snprintf(has + strlen(has), sizeof(has) - strlen(has), ", %s", what[i].name);
		else
			snprintf(lacks + used, sizeof(lacks) - used, "%s%s (%s)", used ? ", " : "", what[i].name, what[i].package);
	}
	check(r, "languages", *lacks ? LIMITED : GOOD, "programs can annotate runs in %s%s%s%s", has,
	      *lacks ? "; not in " : "", lacks, *lacks ? ": not built, or Debian's package is not installed" : "");
}

/* Reports which of the ways to many machines are installed: HTTP, NATS, PostgreSQL. All of it is to fit a screen:
 * what works needs no line of its own but in the JSON. */
static void check_carriers(struct report *r)
{
	const bool http = http_is_there(), nats = broker_is_there(), pq = database_is_there();
	if (!http || !nats || !pq || r->json)
		check(r, "many machines", http && nats && pq ? GOOD : LIMITED, "ship and collect: a shared folder%s%s%s%s%s",
		      http ? ", HTTPS" : "", nats ? ", NATS" : "",
		      pq ? "; site load, --store postgresql://"
		         : "; no site load and no --store postgresql://: built without libpq, or it is not installed",
		      http ? "" : "; no HTTPS: built without libcurl or libmicrohttpd, or one is not installed",
		      nats ? "" : "; no NATS: built without libnats, or it is not installed");
}

/* One line for all three: it is to fit a screen. */
static void check_spec(struct report *r)
{
	const char *spec, *stacks, *functions;
	bool works = make_works(&spec), unwinds = stacks_works(&stacks), probes = run_functions_works(&functions);
	check(r, "specifications", works ? GOOD : LIMITED, "%s: %s; %s: %s; run --trace-functions%s%s", spec,
	      works ? "cc --spec and --trace work" : "no spec, no cc --trace", stacks,
	      unwinds ? "run --trace-stacks works" : "no run --trace-stacks", probes ? " " : ": ", functions);
}

/* Reports which programs for pictures are installed. Who draws what stemma does not draw itself. */
static void check_pictures(struct report *r)
{
	const bool dot = in_path("dot"), converter = in_path("rsvg-convert");
	char text[160];
	snprintf(text, sizeof(text), "%s; %s", dot ? "export -f svg works" : "no 'dot': export -f svg does not work",
	         converter ? "lineage --format png and pdf work" : "no 'rsvg-convert': lineage makes no PNG or PDF");
	check(r, "graphviz", dot && converter ? GOOD : LIMITED, "%s", text);
}

/* Gives the exit status: STATUS_NOTHING if something that all needs is at fault. */
int cmd_doctor(struct cmd *c, const struct opts_doctor *o)
{
	struct report r = {.json = o->json, .checks = o->json ? json_array() : NULL};
	struct utsname un = {0};
	if (c->n_operands)
		return report_usage(c, "doctor takes no arguments");
	uname(&un);
	check(&r, "kernel", GOOD, "%s %s %s", un.sysname, un.release, un.machine);
	check_container(&r);
	check_ways(&r, !o->quick);
	check_standby(&r);
	check_pipes(&r);
	check_memory(&r);
	check_groups(&r);
	check_events(&r);
	check_process_events(&r);
	check_node(&r, !o->quick);
	check_store(&r, c);
	check_pictures(&r);
	check(&r, "serd", doc_has_rdf() ? GOOD : LIMITED,
	      doc_has_rdf() ? "Turtle and N-Triples can be read" : "no serd: Turtle and N-Triples cannot be read");
	check(&r, "zip archives", crate_can_zip() ? GOOD : LIMITED,
	      crate_can_zip() ? "export --format ro-crate makes them"
	                      : "no libarchive: export --format ro-crate makes directories only");
	check_spec(&r);
	check_hdf5(&r, !o->quick);
	check_languages(&r);
	check_carriers(&r);
	if (o->json) {
		json_t *all = json_pack("{s:i, s:s, s:o}", "format", 1, "version", STEMMA_VERSION, "checks", r.checks);
		json_dumpf(all, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(all);
	}
	return r.bad ? STATUS_NOTHING : STATUS_OK;
}

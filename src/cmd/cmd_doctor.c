/* stemma doctor: what works on this machine, found out by doing it. */
#include "base/fileid.h"
#include "capture/run/run.h"
#include "cmd/cmd.h"
#include "export/crate.h"
#include "import/doc.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct report {
	json_t *checks;
	bool json;
	bool bad; /* something that `run` needs does not work */
};

enum verdict { GOOD, LIMITED, MISSING };

static void check(struct report *r, const char *name, enum verdict v, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void check(struct report *r, const char *name, enum verdict v, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "limited", "missing"};
	char text[768];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r->json)
		json_array_append_new(r->checks, json_pack("{s:s, s:s, s:s}", "name", name, "state", words[v], "text", text));
	else
		printf("%-18s %-8s %s\n", name, words[v], text);
}

static void check_transports(struct report *r)
{
	struct err err = {0};
	double ns = 0;
	if (capture_probe_notify(&err, &ns) == 0) {
		check(r, "user notification", GOOD, "complete recording; a stopped call costs %.1f us", ns / 1000);
	} else {
		check(r, "user notification", MISSING, "%s", err.text);
		r->bad = true;
	}
	err_clear(&err);
	if (capture_probe_trace(&err, &ns) == 0)
		check(r, "ptrace", GOOD, "run --transport trace; a stopped call costs %.1f us", ns / 1000);
	else
		check(r, "ptrace", MISSING, "%s", err.text);
}

static void check_bytes(struct report *r)
{
	struct err err = {0};
	double ns = 0;
	if (capture_probe_exact(&err, &ns) == 0)
		check(r, "bytes per file", GOOD, "run --exact counts them; a read or write costs %.1f us more", ns / 1000);
	else
		check(r, "bytes per file", LIMITED, "totals per process only: %s", err.text);
}

static void check_memory(struct report *r)
{
	char text[16] = "0";
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		close(fd);
	}
	int scope = atoi(text);
	if (scope >= 2)
		check(r, "process memory", MISSING, "Yama ptrace_scope is %d: paths cannot be read", scope);
	else
		check(r, "process memory", GOOD, "a parent may read its children's (Yama ptrace_scope %d)", scope);
}

static void check_identity(struct report *r, const char *home)
{
	struct fileid id;
	if (fileid_get(AT_FDCWD, home, true, &id) < 0 && fileid_get(AT_FDCWD, "/", true, &id) < 0) {
		check(r, "file identity", MISSING, "cannot look at '%s'", home);
		return;
	}
	check(r, "file identity", id.gen ? GOOD : LIMITED, "%s on %s%s", id.domain->name,
	      *id.domain->type ? id.domain->type : "an unknown file system",
	      id.gen ? "" : ": no generation numbers, inode numbers alone");
}

static void check_store(struct report *r, struct cmd *c)
{
	struct err err = {0};
	char *home = NULL, *index = NULL;
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

int cmd_doctor(struct cmd *c, const struct opts_doctor *o)
{
	struct report r = {.json = o->json, .checks = o->json ? json_array() : NULL};
	struct utsname un = {0};
	if (c->n_operands)
		return say_usage(c, "doctor takes no arguments");
	uname(&un);
	check(&r, "kernel", GOOD, "%s %s %s", un.sysname, un.release, un.machine);
	check_transports(&r);
	check_memory(&r);
	check_store(&r, c);
	check(&r, "graphviz", in_path("dot") ? GOOD : LIMITED,
	      in_path("dot") ? "lineage --format svg works" : "no 'dot': lineage --format svg does not work");
	check(&r, "serd", doc_has_rdf() ? GOOD : LIMITED,
	      doc_has_rdf() ? "Turtle and N-Triples can be read" : "built without it: Turtle and N-Triples cannot be read");
	check(&r, "zip archives", crate_can_zip() ? GOOD : LIMITED,
	      crate_can_zip() ? "export --format ro-crate makes them"
	                      : "no libarchive: export --format ro-crate makes directories only");
	check_bytes(&r);
	if (o->json) {
		json_t *all = json_pack("{s:i, s:s, s:o}", "format", 1, "version", STEMMA_VERSION, "checks", r.checks);
		json_dumpf(all, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(all);
	}
	return r.bad ? STATUS_NOTHING : STATUS_OK;
}

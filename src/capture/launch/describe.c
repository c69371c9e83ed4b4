/* What the record says of a run before it begins: who, where, on which machine, with what, recorded how. */
#include "base/os/host.h"
#include "base/os/mark.h"
#include "capture/launch/choose.h"
#include "capture/supervisor/worker.h"
#include "event/env.h"
#include "redact/redact.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The names of this user and group. Read from the files first: the name service starts with a socket to a daemon, twice
 * each, and a file of its own (measured: 0.15 ms for both). What the files do not have it is asked for. */
static char *user_name(uid_t uid)
{
	struct passwd *pw = NULL;
	FILE *f = fopen("/etc/passwd", "re");
	while (f && (pw = fgetpwent(f)) && pw->pw_uid != uid)
		;
	char *ret = pw ? strdup(pw->pw_name) : NULL;
	if (f)
		fclose(f);
	if (!ret && (pw = getpwuid(uid)))
		ret = strdup(pw->pw_name);
	return ret;
}

/* The name of a group, by /etc/group, else whoever knows groups here. NULL: nobody does, or no memory. The caller's.
 */
static char *group_name(gid_t gid)
{
	struct group *gr = NULL;
	FILE *f = fopen("/etc/group", "re");
	while (f && (gr = fgetgrent(f)) && gr->gr_gid != gid)
		;
	char *ret = gr ? strdup(gr->gr_name) : NULL;
	if (f)
		fclose(f);
	if (!ret && (gr = getgrgid(gid)))
		ret = strdup(gr->gr_name);
	return ret;
}

/* Adds "KEY=VALUE" to the items; it is written to room, which must outlive them. Nothing for an empty value. */
static void append_key_value(struct str *items, size_t *n, char *room, size_t size, const char *key, const char *value)
{
	if (!*value)
		return;
	snprintf(room, size, "%s=%s", key, value);
	items[(*n)++] = str_of(room);
}

/* Says that the run is this user's, of this machine. A run without that can be run again, too, but not unasked. */
static void mark_own(const struct sup *s, const struct run_options *o, const char *cwd, const struct str *argv,
                     size_t argc)
{
	extern char **environ;
	struct mark_what w = {.run = s->run, .cwd = str_of(cwd), .argv = argv, .argc = argc};
	struct buf text = {0};
	size_t n = 0;
	while (environ[n])
		n++;
	struct str *env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++) {
		size_t from = text.n;
		if (!env_marked(str_of(environ[i])))
			continue;
		redact_env(&text, str_of(environ[i]));
		env[w.envc++].n = text.n - from;
	}
	for (size_t i = 0, from = 0; env && i < w.envc; from += env[i++].n)
		env[i].p = text.p ? text.p + from : "";
	w.env = env;
	if (env && !text.failed)
		mark_put(o->home, &w);
	free(env);
	buf_release(&text);
}

/* Writes session and run; sets user, group and argv of s. */
void run_describe(struct sup *s, const struct run_options *o, const struct choice *choice)
{
	char host[256] = "", text[8][300], number[32];
	struct str items[8];
	size_t nitems = 0, nlabels = 0;
	struct utsname un;
	gethostname(host, sizeof(host) - 1);
	struct stat ns = {0};
	stat("/proc/self/ns/pid", &ns);
	struct event ev = {.session = {.run = str_of(s->run),
	                               .host = str_of(host),
	                               .boot = str_of(host_boot_id()),
	                               .pidns = ns.st_ino,
	                               .tool = str_of("stemma " STEMMA_VERSION),
	                               .mode = str_of(choice->mode)}};
	sup_event(s, EVENT_session, sup_now(s), NULL, &ev);

	if (uname(&un) == 0) {
		append_key_value(items, &nitems, text[0], sizeof(text[0]), "kernel", un.release);
		append_key_value(items, &nitems, text[1], sizeof(text[1]), "machine", un.machine);
	}
	append_key_value(items, &nitems, text[2], sizeof(text[2]), "cpu", host_processor());
	snprintf(number, sizeof(number), "%ld", host_processors());
	append_key_value(items, &nitems, text[3], sizeof(text[3]), "cores", number);
	struct sysinfo si;
	if (sysinfo(&si) == 0) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)si.totalram * si.mem_unit);
		append_key_value(items, &nitems, text[4], sizeof(text[4]), "memory", number);
	}
	append_key_value(items, &nitems, text[5], sizeof(text[5]), "capture", choice->why);

	struct buf words = {0};
	size_t argc = redact_argv(&words, o->argv);
	struct str *argv = exec_split(&words, argc);
	while (o->labels && o->labels[nlabels])
		nlabels++;
	struct str *labels = calloc(nlabels + 1, sizeof(*labels));
	struct buf label_text = {0};
	for (size_t i = 0; labels && i < nlabels; i++) {
		size_t from = label_text.n;
		redact_env(&label_text, str_of(o->labels[i]));
		labels[i].n = label_text.n - from;
	}
	for (size_t i = 0, from = 0; labels && i < nlabels; from += labels[i++].n)
		labels[i].p = label_text.p ? label_text.p + from : "";
	char *cwd = getcwd(NULL, 0);
	s->user = user_name(getuid());
	s->group = group_name(getgid());
	s->argv = o->argv;
	struct event rv = {.run = {.id = str_of(s->run),
	                           .argv = {.items = argv, .count = argv ? argc : 0},
	                           .cwd = str_of(cwd),
	                           .user = str_of(s->user),
	                           .group = str_of(s->group),
	                           .uid = getuid(),
	                           .gid = getgid(),
	                           .host = {.items = items, .count = nitems},
	                           .label = {.items = labels, .count = labels ? nlabels : 0}}};
	sup_event(s, EVENT_run, sup_now(s), NULL, &rv);
	if (!o->received && argv && cwd)
		mark_own(s, o, cwd, argv, argc);
	free(cwd);
	free(argv);
	free(labels);
	buf_release(&label_text);
	buf_release(&words);
}

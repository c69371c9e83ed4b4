#include "trust/machine.h"

#include "base/buf.h"
#include "base/io.h"
#include "event/env.h"
#include "redact/redact.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX 8192 /* bytes of a file that are looked at: /proc/cpuinfo is made as it is read, 1 KiB a processor */

#define SHORTEST 0.2 /* s: the kernel counts CPU time in hundredths */

extern char **environ;

enum type { invariant, variant };
enum how { line, bracket, field, word, made };

static const struct property {
	enum type type;
	const char *name;
	enum how how;
	const char *source, *key;
} properties[] = {
#define PROPERTY(type, name, how, source, key, meaning) {type, name, how, source, key},
#include "trust/machine.def"
};

/* The file read last: rows of one file stand together. */
struct reading {
	const char *source;
	char text[FILE_MAX + 1];
	size_t n;
	char out[1024];
};

/* Points into p. */
static struct str trim_bytes(const char *p, size_t n)
{
	while (n && isspace((unsigned char)*p))
		p++, n--;
	while (n && isspace((unsigned char)p[n - 1]))
		n--;
	return str_n(p, n);
}

/* A line "key: value"; ret points into text. false: none, or an empty one. */
static bool find_field(const char *text, const char *key, struct str *ret)
{
	size_t n = strlen(key);
	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		if (strncmp(p, key, n) != 0)
			continue;
		const char *v = p + n + strspn(p + n, " \t");
		if (*v != ':')
			continue;
		*ret = trim_bytes(v + 1, strcspn(v + 1, "\n"));
		return ret->n > 0;
	}
	return false;
}

/* The which-th word of the first line, from 1; of NAME=VALUE the value. false: none. */
static bool find_nth_field(const char *text, unsigned which, struct str *ret)
{
	const char *p = text;
	for (unsigned i = 1;; i++) {
		p += strspn(p, " \t");
		size_t n = strcspn(p, " \t\n");
		if (!n)
			return false;
		if (i == which) {
			const char *eq = memchr(p, '=', n); /* avg10=0.12 */
			*ret = eq ? str_n(eq + 1, n - (size_t)(eq + 1 - p)) : str_n(p, n);
			return true;
		}
		p += n;
	}
}

/* ---- what no file tells by itself ---- */

/* A property function: r->out gets it. false: not known. So those below. */
static bool os_name(struct reading *r, const char *key)
{
	(void)key;
	struct str s;
	if (!io_text("/etc/os-release", r->text, sizeof(r->text)))
		return false;
	r->source = NULL;
	const char *p = strstr(r->text, "PRETTY_NAME=");
	if (!p)
		return false;
	s = trim_bytes(p + 12, strcspn(p + 12, "\n"));
	if (s.n >= 2 && s.p[0] == '"')
		s = str_n(s.p + 1, s.n - 2);
	snprintf(r->out, sizeof(r->out), "%.*s", (int)s.n, s.p);
	return s.n > 0;
}

/* Reads how busy the processors were: ticks of the first line of /proc/stat: user nice system idle iowait irq
 * softirq steal guest guest_nice. */
static bool ticks(struct reading *r, bool stolen)
{
	unsigned long long v[8];
	long hz = sysconf(_SC_CLK_TCK);
	if (hz <= 0 || !io_text("/proc/stat", r->text, 501))
		return false;
	r->source = NULL;
	if (sscanf(r->text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
	           &v[7]) != 8)
		return false;
	unsigned long long t = stolen ? v[7] : v[0] + v[1] + v[2] + v[5] + v[6];
	snprintf(r->out, sizeof(r->out), "%.2f", (double)t / (double)hz);
	return true;
}

/* Of version 2. false: none. */
static bool cgroup_of(char *ret, size_t n)
{
	char text[4096];
	if (!io_text("/proc/self/cgroup", text, sizeof(text)))
		return false;
	const char *p = strstr(text, "0::");
	if (!p || (p != text && p[-1] != '\n'))
		return false;
	snprintf(ret, n, "%.*s", (int)strcspn(p + 3, "\n"), p + 3);
	return true;
}

/* The least of the limits from the group up to the root; of cpu.max (quota period) by their quotient. */
static bool cgroup_limit(struct reading *r, const char *file)
{
	char group[2048], path[2200], text[64];
	double least = -1;
	if (!cgroup_of(group, sizeof(group)))
		return false;
	for (;;) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", strcmp(group, "/") ? group : "", file);
		double quota, period = 1;
		if (io_text(path, text, sizeof(text)) && sscanf(text, "%lf %lf", &quota, &period) >= 1 && period > 0 &&
		    (least < 0 || quota / period < least)) {
			least = quota / period;
			text[strcspn(text, "\n")] = '\0';
			snprintf(r->out, sizeof(r->out), "%s", text);
		}
		char *slash = strrchr(group, '/');
		if (!slash || slash == group)
			break;
		*slash = '\0';
	}
	if (least < 0)
		snprintf(r->out, sizeof(r->out), "none");
	return true;
}

/* Reads the limits of resources: those that are set, by name. */
static bool rlimits(struct reading *r, const char *key)
{
	(void)key;
	static const struct {
		const char *name;
		int which;
	} rows[] = {{"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
	            {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
	            {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"rtprio", RLIMIT_RTPRIO},
	            {"stack", RLIMIT_STACK}};
	size_t n = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rlimit l;
		if (getrlimit(rows[i].which, &l) == 0 && l.rlim_cur != RLIM_INFINITY && n < sizeof(r->out))
			n += (size_t)snprintf(r->out + n, sizeof(r->out) - n, "%s%s=%llu", n ? " " : "", rows[i].name,
			                      (unsigned long long)l.rlim_cur);
	}
	return n > 0;
}

/* Type and options of the mount that the working directory is on, by its device. */
static bool file_system(struct reading *r, const char *key)
{
	(void)key;
	struct stat st;
	char want[32], *row = NULL;
	size_t room = 0;
	bool found = false;
	FILE *f = stat(".", &st) == 0 ? fopen("/proc/self/mountinfo", "re") : NULL;
	if (!f)
		return false;
	snprintf(want, sizeof(want), " %u:%u ", major(st.st_dev), minor(st.st_dev));
	while (!found && getline(&row, &room, f) > 0) {
		char options[256], type[64];
		const char *dash = strstr(row, " - "), *dev = strstr(row, want);
		if (dash && dev && dev < dash && sscanf(dash, " - %63s", type) == 1 &&
		    sscanf(dev, "%*s %*s %*s %255s", options) == 1) {
			snprintf(r->out, sizeof(r->out), "%s %s", type, options);
			found = true;
		}
	}
	free(row);
	fclose(f);
	return found;
}

/* Reads how many ticks the processors were busy. key: not used. */
static bool cpu_busy(struct reading *r, const char *key)
{
	(void)key;
	return ticks(r, false);
}

/* Processor time that the hypervisor took. All of these: false where it cannot be told. */
static bool cpu_stolen(struct reading *r, const char *key)
{
	(void)key;
	return ticks(r, true);
}

/* Reads the version of the C library. False with a library that is not glibc. */
static bool libc_version(struct reading *r, const char *key)
{
	(void)key;
	return confstr(_CS_GNU_LIBC_VERSION, r->out, sizeof(r->out)) > 1; /* another library says nothing */
}

/* The control group of this process; false where it cannot be told. */
static bool own_cgroup(struct reading *r, const char *key)
{
	(void)key;
	return cgroup_of(r->out, sizeof(r->out));
}

/* Reads how this process is scheduled: policy and niceness. */
static bool scheduler(struct reading *r, const char *key)
{
	static const char *const policies[] = {"other", "fifo", "rr", "batch", "?", "idle", "deadline"};
	int policy = sched_getscheduler(0);
	(void)key;
	return policy >= 0 && policy < 7 &&
	       snprintf(r->out, sizeof(r->out), "%s %d", policies[policy], getpriority(PRIO_PROCESS, 0)) > 0;
}

/* Changes the mask for a moment, which other threads see. */
static bool creation_mask(struct reading *r, const char *key)
{
	mode_t mask = umask(077);
	(void)key;
	umask(mask);
	return snprintf(r->out, sizeof(r->out), "%03o", (unsigned)mask) > 0;
}

/* Bytes that this user may still write to the folder's file system. */
static bool disk_free(struct reading *r, const char *key)
{
	struct statvfs vfs;
	(void)key;
	return statvfs(".", &vfs) == 0 &&
	       snprintf(r->out, sizeof(r->out), "%llu", (unsigned long long)vfs.f_bavail * vfs.f_frsize) > 0;
}

/* Seconds with nine decimals. */
static bool time_now(struct reading *r, const char *key)
{
	struct timespec now;
	(void)key;
	return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	       snprintf(r->out, sizeof(r->out), "%lld.%09ld", (long long)now.tv_sec, now.tv_nsec) > 0;
}

/* A word of uname(2): host, kernel, machine, or else the kernel's version. */
static bool system_word(struct reading *r, const char *name)
{
	struct utsname un;
	if (uname(&un) < 0)
		return false;
	snprintf(r->out, sizeof(r->out), "%s",
	         !strcmp(name, "host")      ? un.nodename
	         : !strcmp(name, "kernel")  ? un.release
	         : !strcmp(name, "machine") ? un.machine
	                                    : un.version);
	return true;
}

/* Who makes what machine.def has no file for; what is none of these is a word of the system's name. */
static const struct {
	const char *name;
	bool (*make)(struct reading *r, const char *key);
} made_properties[] = {
    {"os", os_name},
    {"libc", libc_version},
    {"cpu.busy", cpu_busy},
    {"cpu.stolen", cpu_stolen},
    {"cgroup", own_cgroup},
    {"cgroup.cpu", cgroup_limit},
    {"cgroup.memory", cgroup_limit},
    {"rlimits", rlimits},
    {"file_system", file_system},
    {"scheduler", scheduler},
    {"umask", creation_mask},
    {"disk.free", disk_free},
    {"time", time_now},
};

/* Fills r->out by the property's name; key: of one of several. False where it cannot be told. */
static bool format_property(struct reading *r, const char *name, const char *key)
{
	for (size_t i = 0; i < sizeof(made_properties) / sizeof(*made_properties); i++)
		if (!strcmp(name, made_properties[i].name))
			return made_properties[i].make(r, key);
	return system_word(r, name);
}

/* Reads a property of the machine. false: not known. *ret is valid until the next one. */
static bool read_property(struct reading *r, const struct property *p, struct str *ret)
{
	if (p->how == made) {
		bool ok = format_property(r, p->name, p->key);
		*ret = trim_bytes(r->out, ok ? strlen(r->out) : 0);
		return ok && ret->n;
	}
	if (r->source != p->source && !(r->source && !strcmp(r->source, p->source))) {
		r->source = NULL;
		if (!(r->n = io_text(p->source, r->text, sizeof(r->text))))
			return false;
		r->source = p->source;
	}
	if (p->how == field)
		return find_field(r->text, p->key, ret);
	if (p->how == word)
		return find_nth_field(r->text, (unsigned)atoi(p->key), ret);
	*ret = trim_bytes(r->text, strcspn(r->text, "\n"));
	if (p->how == bracket) {
		const char *from = memchr(ret->p, '[', ret->n), *to = memchr(ret->p, ']', ret->n);
		if (from && to > from)
			*ret = str_n(from + 1, (size_t)(to - from - 1));
	}
	return ret->n > 0;
}

/* ---- the environment ---- */

/* Variables that may be recorded, redacted; those that differ from run to run are variant. */
static void collect_environment(struct machine *m)
{
	struct buf b = {0};
	for (char **e = environ; e && *e; e++) {
		const char *eq = strchr(*e, '=');
		enum env_role role;
		unsigned rank;
		if (!eq || !env_allowed(str_n(*e, (size_t)(eq - *e))))
			continue;
		bool varies = env_role(str_n(*e, (size_t)(eq - *e)), &role, &rank) && role != ENV_ROLE_ranks;
		buf_reset(&b);
		buf_str(&b, str_of("env."));
		redact_env(&b, str_of(*e));
		const char *at = memchr(b.p, '=', b.n);
		if (b.failed || !at)
			continue;
		elements_add(varies ? &m->variant : &m->invariant, str_n(b.p, (size_t)(at - b.p)),
		             str_n(at + 1, b.n - (size_t)(at + 1 - b.p)));
	}
	buf_release(&b);
}

void machine_read(struct machine *ret)
{
	struct reading r = {0};
	*ret = (struct machine){0};
	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++) {
		const struct property *p = &properties[i];
		struct str value;
		if (read_property(&r, p, &value))
			elements_add(p->type == variant ? &ret->variant : &ret->invariant, str_of(p->name), value);
	}
	collect_environment(ret);
}

/* It may not be used afterwards. */
void machine_release(struct machine *m)
{
	elements_release(&m->invariant);
	elements_release(&m->variant);
}

/* How much a number grew from a to b; false: not known on both sides. */
static bool span(const struct machine *a, const struct machine *b, const char *name, double *ret)
{
	const struct element *x = elements_find(&a->variant, str_of(name)), *y = elements_find(&b->variant, str_of(name));
	double from, to;
	if (!x || !y || !x->n || !y->n || !value_number(x->value[0], &from) || !value_number(y->value[0], &to))
		return false;
	*ret = to - from;
	return true;
}

bool machine_noise(const struct machine *before, const struct machine *after, uint64_t own, double *ret_others,
                   double *ret_stolen)
{
	double wall, busy, stolen;
	if (!span(before, after, "time", &wall) || !span(before, after, "cpu.busy", &busy) ||
	    !span(before, after, "cpu.stolen", &stolen) || wall < SHORTEST)
		return false;
	double others = busy - (double)own / 1e9;
	*ret_others = others > 0 ? others / wall : 0;
	*ret_stolen = stolen / wall;
	return true;
}

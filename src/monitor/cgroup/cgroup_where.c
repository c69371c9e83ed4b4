/* Whose group are we in, and is it ours to divide? systemd and the batch systems count on being the only ones who make
 * groups where they did not hand one over: a process in a group that they do not know may escape their kill. */
#include "monitor/cgroup/cgroup_where.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *const controllers[CGROUP_PLACES] = {"", "memory", "cpuacct", "pids", "freezer"};

/* Is word one of the comma-separated list's? */
static bool is_in_comma_list(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && !strncmp(at, word, n))
			return true;
	return false;
}

/* /proc/self/mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape_mount_path(char *s)
{
	char *out = s;
	for (; *s; s++)
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	*out = '\0';
}

/* Lines are "<id>:<controllers>:<group>"; those of version 2 have no controllers. *cgroup: such a file. ret: each the
 * caller's, NULL: it is in none. -ENOMEM; a file that cannot be read is 0. */
static int own_groups(const char *cgroup, char *ret[CGROUP_PLACES])
{
	FILE *f = fopen(cgroup, "re");
	char *line = NULL;
	size_t size = 0;
	int rc = 0;
	while (f && rc == 0 && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
		if (!group || group[1] != '/')
			continue;
		*group++ = '\0';
		names++;
		for (int i = 0; i < CGROUP_PLACES && rc == 0; i++)
			if (!ret[i] && (i == PLACE_UNIFIED ? !*names : is_in_comma_list(names, controllers[i])) &&
			    !(ret[i] = strdup(group)))
				rc = -ENOMEM;
	}
	free(line);
	if (f)
		fclose(f);
	return rc;
}

/* A mount shows the hierarchy from `root` on: the folder of a group there; NULL if it is not in sight. */
static char *folder_of(const char *group, const char *root, const char *point)
{
	size_t n = strcmp(root, "/") ? strlen(root) : 0;
	char *ret = NULL;
	if (!strncmp(group, "/..", 3)) /* above what this cgroup namespace shows */
		return NULL;
	if (strncmp(group, root, n) || (group[n] && group[n] != '/'))
		return NULL;
	const char *rest = group + n;
	if (!strcmp(rest, "/"))
		rest = "";
	return asprintf(&ret, "%s%s", point, rest) < 0 ? NULL : ret;
}

/* A line of mountinfo, which is cut up: sets the folders of those of w that it mounts. */
static void mounted(struct cgroup_where w[CGROUP_PLACES], char *line)
{
	char *root = NULL, *point = NULL, *type = NULL, *options = NULL, *save = NULL;
	int i = 0, dash = -1;
	for (char *t = strtok_r(line, " \n", &save); t; t = strtok_r(NULL, " \n", &save), i++) {
		if (i == 3)
			root = t;
		else if (i == 4)
			point = t;
		else if (i > 5 && dash < 0 && !strcmp(t, "-"))
			dash = i;
		else if (dash > 0 && i == dash + 1)
			type = t;
		else if (dash > 0 && i == dash + 3)
			options = t;
	}
	if (!options || strncmp(type, "cgroup", 6))
		return;
	unescape_mount_path(root);
	unescape_mount_path(point);
	bool two = !strcmp(type, "cgroup2");
	for (int k = 0; k < CGROUP_PLACES; k++)
		if (w[k].group && !w[k].dir && (k == PLACE_UNIFIED ? two : !two && is_in_comma_list(options, controllers[k])))
			w[k].dir = folder_of(w[k].group, root, point);
}

const char *cgroup_batch(const char *group)
{
	static const char *const systems[] = {"slurm", "htcondor", "condor", "pbs", "lsf", "sge", "uge", "oar", "torque"};
	for (const char *at = group; *at; at += strcspn(at, "/"), at += *at == '/') {
		size_t n = strcspn(at, "/");
		for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
			size_t k = strlen(systems[i]);
			bool starts = n >= k && !strncasecmp(at, systems[i], k);
			/* "slurmstepd.scope", "pbs_jobs.service", "htcondor": not "sgerlach" */
			if (starts && (n == k || strchr("._-@", at[k]) || !strncmp(at, "slurm", 5)))
				return systems[i];
		}
	}
	return NULL;
}

/* The folder of the innermost unit of systemd that the group lies in or is; its length in group, 0: in none. */
static size_t systemd_unit_length(const char *group)
{
	static const char *const kinds[] = {".slice", ".scope", ".service"};
	size_t ret = 0;
	for (const char *at = group; *at; at += strcspn(at, "/"), at += *at == '/') {
		size_t n = strcspn(at, "/");
		for (size_t i = 0; i < 3; i++) {
			size_t k = strlen(kinds[i]);
			if (n > k && !strncmp(at + n - k, kinds[i], k))
				ret = (size_t)(at - group) + n;
		}
	}
	return ret;
}

/* Has systemd handed it over? It says so on the folder; to ordinary users from version 251 on. */
static bool delegated(const char *dir)
{
	char value[2];
	return (getxattr(dir, "user.delegate", value, sizeof(value)) == 1 && value[0] == '1') ||
	       (getxattr(dir, "trusted.delegate", value, sizeof(value)) == 1 && value[0] == '1');
}

/* Sets w->why where the group cannot be used; else it stays empty. */
static void find_obstacle(struct cgroup_where *w, const char *what)
{
	if (!w->group) {
		snprintf(w->why, sizeof(w->why), "this kernel has no %s for control groups", what);
	} else if (!w->dir) {
		snprintf(w->why, sizeof(w->why), "the folder of the control group is not mounted here (%s)", what);
	} else {
		char procs[4096];
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", w->dir);
		size_t unit = systemd_unit_length(w->group), group = strlen(w->group), dir = strlen(w->dir);
		const char *batch = geteuid() == 0 ? cgroup_batch(w->group) : NULL;
		char *unit_dir = unit && dir + unit >= group ? strndup(w->dir, dir + unit - group) : NULL;
		if (faccessat(AT_FDCWD, w->dir, W_OK, AT_EACCESS) < 0 || faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) < 0)
			snprintf(w->why, sizeof(w->why), "the control group's folder %.150s may not be written: %s", w->dir,
			         strerror(errno));
		else if (batch)
			snprintf(w->why, sizeof(w->why), "the control group %.150s is the batch system's (%s)", w->group, batch);
		else if (unit && !(unit_dir && delegated(unit_dir)))
			snprintf(w->why, sizeof(w->why),
			         "the control group %.150s belongs to systemd and is not delegated (set Delegate=yes)", w->group);
		free(unit_dir);
	}
}

int cgroup_where(struct cgroup_where ret[CGROUP_PLACES])
{
	return cgroup_where_in("/proc/self/mountinfo", "/proc/self/cgroup", ret);
}

int cgroup_where_in(const char *mountinfo, const char *cgroup, struct cgroup_where ret[CGROUP_PLACES])
{
	static const char *const what[CGROUP_PLACES] = {"version 2", "memory controller", "CPU accounting",
	                                                "pids controller", "freezer"};
	char *groups[CGROUP_PLACES] = {0}, *line = NULL;
	size_t size = 0;
	memset(ret, 0, CGROUP_PLACES * sizeof(*ret));
	int rc = own_groups(cgroup, groups);
	for (int i = 0; i < CGROUP_PLACES; i++)
		ret[i].group = groups[i];
	FILE *f = rc == 0 ? fopen(mountinfo, "re") : NULL;
	while (f && getline(&line, &size, f) > 0)
		mounted(ret, line);
	free(line);
	if (f)
		fclose(f);
	for (int i = 0; i < CGROUP_PLACES && rc == 0; i++)
		find_obstacle(&ret[i], what[i]);
	if (rc < 0)
		cgroup_where_release(ret);
	return rc;
}

/* It may be released twice. */
void cgroup_where_release(struct cgroup_where w[CGROUP_PLACES])
{
	for (int i = 0; i < CGROUP_PLACES; i++) {
		free(w[i].dir);
		free(w[i].group);
		w[i].dir = w[i].group = NULL;
	}
}

#include "monitor/oom.h"
#include "monitor/cgroup/cgroup_where.h"

#include <stdio.h>
#include <string.h>

/* The number behind "key " in a file; -1: none. */
static int64_t read_counter(const char *file, const char *key)
{
	char line[256];
	long long ret = -1;
	size_t n = strlen(key);
	FILE *f = fopen(file, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ' ') {
			if (sscanf(line + n, " %lld", &ret) != 1 || ret < 0)
				ret = -1;
			break;
		}
	if (f)
		fclose(f);
	return ret;
}

void oom_begin(struct oom *o)
{
	struct cgroup_where where[CGROUP_PLACES];
	char file[4200];
	*o = (struct oom){-1, read_counter("/proc/vmstat", "oom_kill"), false};
	if (cgroup_where(where) < 0)
		return;
	if (where[PLACE_MEMORY].dir) {
		o->local = true;
		snprintf(file, sizeof(file), "%s/memory.oom_control", where[PLACE_MEMORY].dir);
		o->group = read_counter(file, "oom_kill");
	} else if (where[PLACE_UNIFIED].dir) {
		snprintf(file, sizeof(file), "%s/memory.events", where[PLACE_UNIFIED].dir);
		o->group = read_counter(file, "oom_kill");
	}
	cgroup_where_release(where);
}

bool oom_rose(const struct oom *o)
{
	struct oom now;
	oom_begin(&now);
	if (o->group >= 0 && now.group > o->group)
		return true;
	if (o->group >= 0 && now.group >= 0 && !now.local)
		return false;
	return o->machine >= 0 && now.machine > o->machine;
}

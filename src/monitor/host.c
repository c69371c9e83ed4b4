/* What the machine is, in the words of the record of a run, and how busy it was. */
#include "base/os/host.h"
#include "event/env.h"
#include "monitor/monitor_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

struct pairs {
	struct summary_pair *v;
	size_t n;
};

/* Copies both; an empty value or one without memory is left out. */
static void append_host_pair(struct pairs *p, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	struct summary_pair *more = realloc(p->v, (p->n + 1) * sizeof(*more));
	if (!more)
		return;
	p->v = more;
	char *k = strdup(key), *v = strdup(value);
	if (k && v) {
		more[p->n++] = (struct summary_pair){k, v};
	} else {
		free(k);
		free(v);
	}
}

/* The kind of container that this process runs in, in a word; NULL: none. A hint, from what container run times
 * leave behind. */
static const char *container(void)
{
	const char *named = getenv("APPTAINER_NAME");
	if (!named)
		named = getenv("SINGULARITY_NAME");
	if (named)
		return "apptainer";
	if (access("/.dockerenv", F_OK) == 0)
		return "docker";
	if (access("/run/.containerenv", F_OK) == 0)
		return "podman";
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return "kubernetes";
	return NULL;
}

/* The variable of the batch system's job that ranks first, as it stands. */
static void scheduler(struct pairs *p)
{
	const char *best = NULL;
	unsigned least = 0;
	for (char **e = environ; e && *e; e++) {
		const char *eq = strchr(*e, '=');
		enum env_role role;
		unsigned rank;
		if (eq && env_role(str_n(*e, (size_t)(eq - *e)), &role, &rank) && role == ENV_ROLE_job &&
		    (!best || rank < least)) {
			best = *e;
			least = rank;
		}
	}
	if (best)
		append_host_pair(p, "job", best); /* NAME=value: the name says whose */
}

int host_describe(struct summary_pair **ret, size_t *ret_n)
{
	struct pairs p = {0};
	struct utsname un;
	struct sysinfo si;
	char text[300] = "";
	if (uname(&un) == 0) {
		append_host_pair(&p, "name", un.nodename);
		append_host_pair(&p, "kernel", un.release);
		append_host_pair(&p, "machine", un.machine);
	}
	append_host_pair(&p, "cpu", host_processor());
	snprintf(text, sizeof(text), "%ld", host_processors());
	append_host_pair(&p, "cores", text);
	if (sysinfo(&si) == 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)si.totalram * si.mem_unit);
		append_host_pair(&p, "memory", text);
		snprintf(text, sizeof(text), "%.2f", (double)si.loads[0] / 65536);
		append_host_pair(&p, "load", text);
	}
	append_host_pair(&p, "container", container());
	scheduler(&p);
	*ret = p.v;
	*ret_n = p.n;
	return 0;
}

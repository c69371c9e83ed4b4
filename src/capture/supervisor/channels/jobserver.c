#include "capture/supervisor/channels/jobserver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jobserver jobserver_find(const struct buf *env)
{
	struct jobserver j = JOBSERVER_NONE;
	for (size_t at = 0; at < env->n; at += strlen(env->p + at) + 1) {
		const char *v = env->p + at;
		if (strncmp(v, "MAKEFLAGS=", 10))
			continue;
		const char *a = strstr(v, "--jobserver-auth=");
		if (!a)
			a = strstr(v, "--jobserver-fds=");
		a = a ? strchr(a, '=') + 1 : NULL;
		if (a && !strncmp(a, "fifo:", 5)) {
			free(j.fifo);
			j.fifo = strndup(a + 5, strcspn(a + 5, " "));
		} else if (a) {
			sscanf(a, "%d,%d", &j.fds[0], &j.fds[1]);
		}
	}
	return j;
}

struct jobserver jobserver_copy(const struct jobserver *j)
{
	struct jobserver copy = *j;
	copy.fifo = j->fifo ? strdup(j->fifo) : NULL;
	return copy;
}

void jobserver_release(struct jobserver *j)
{
	free(j->fifo);
	*j = JOBSERVER_NONE;
}

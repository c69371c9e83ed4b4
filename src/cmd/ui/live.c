#include "cmd/ui/live.h"

#include "capture/standby/standby.h"

#include <stdlib.h>
#include <string.h>

struct live {
	char run[27];
	pid_t pid;
};

struct lives {
	struct live *v;
	size_t n, cap;
	bool looked;
};

static void add_live(void *arg, pid_t pid, const char *run, bool own)
{
	struct lives *l = arg;
	if (!own) /* others may give a process of theirs the name of any run */
		return;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		struct live *v = realloc(l->v, cap * sizeof(*v));
		if (!v)
			return;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n].pid = pid;
	memcpy(l->v[l->n].run, run, sizeof(l->v[0].run));
	l->n++;
}

pid_t live_standby(struct str run)
{
	static struct lives lives; /* of this one command, which asks for many runs */
	if (!lives.looked)
		standby_each(add_live, &lives);
	lives.looked = true;
	for (size_t i = 0; i < lives.n; i++)
		if (str_is(run, lives.v[i].run))
			return lives.v[i].pid;
	return 0;
}

/* stemma stop: ends the recording of a run that goes on; says which runs do. */
#include "capture/standby/standby.h"
#include "cmd/cmd.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUN_SHORTEST 4 /* characters of the end of a run's id */

struct stop {
	const char *wanted; /* NULL: all are listed; "@": the latest */
	char run[27];
	pid_t pid;
	unsigned found;
	bool own; /* those found are the caller's */
	json_t *list;
	bool json;
};

/* "@" is any; else the end of its id, of RUN_SHORTEST letters at least, in either case. */
static bool is_wanted_run(const struct stop *s, const char *run)
{
	size_t n = strlen(s->wanted), all = strlen(run);
	if (!strcmp(s->wanted, "@"))
		return true;
	return n >= RUN_SHORTEST && n <= all && !strcasecmp(run + all - n, s->wanted);
}

/* One standby: printed, where no run was asked for; else kept if it is that of the run, the latest one where @ was
 * asked for. */
static void visit_standby(void *arg, pid_t pid, const char *run, bool own)
{
	struct stop *s = arg;
	if (!own && geteuid() != 0)
		return;
	if (!s->wanted) {
		s->found++;
		if (s->json) {
			json_t *one = json_object();
			js_text(one, "run", run);
			js_num(one, "standby", (uint64_t)pid);
			js_add(s->list, one);
		} else {
			printf("%s  standby is process %d\n", run, pid);
		}
		return;
	}
	/* Others can give a process of theirs the name of any run: what is root's own goes first. */
	if (!is_wanted_run(s, run) || (s->own && !own))
		return;
	if (own && !s->own) {
		s->own = true;
		s->found = 0;
		s->run[0] = '\0';
	}
	/* Ids sort by time. */
	bool latest = !strcmp(s->wanted, "@");
	s->found = latest ? 1 : s->found + 1;
	if (!latest || strcmp(run, s->run) > 0) {
		memcpy(s->run, run, sizeof(s->run));
		s->pid = pid;
	}
}

/* Sends a signal to the process of a run, and to no other that got its number meanwhile. 0; -ESRCH: it
 * is over; -errno. */
static int send(const struct stop *s, int sig)
{
	int fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (fd < 0 && errno != ENOSYS)
		return -errno;
	if (!standby_is(s->pid, s->run)) {
		if (fd >= 0)
			close(fd);
		return -ESRCH;
	}
	int rc = (fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) : kill(s->pid, sig)) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Gives the exit status. Without a run it lists those that are being recorded. */
int cmd_stop(struct cmd *c, const struct opts_stop *o)
{
	struct stop s = {.wanted = c->n_operands ? c->operands[0] : NULL, .json = o->json};
	if (c->n_operands > 1)
		return report_usage(c, "stop takes one run");
	if (s.wanted && o->json)
		return report_usage(c, "--json lists runs only");
	if (!s.wanted && o->force)
		return report_usage(c, "--force needs a run");
	s.list = o->json ? json_array() : NULL;
	standby_each(visit_standby, &s);
	if (o->json) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "runs", s.list);
		return js_print(all, false);
	}
	if (!s.wanted) {
		if (!s.found)
			report("no run of yours is being recorded on this machine");
		return STATUS_OK;
	}
	if (s.found > 1) {
		report("'%s' is ambiguous: the ids of %u runs end with it", s.wanted, s.found);
		report_hint("stemma stop lists them");
		return STATUS_USAGE;
	}
	if (!s.found) {
		report("no run '%s' of yours is being recorded on this machine, or it has just begun", s.wanted);
		return STATUS_NOTHING;
	}
	int rc = send(&s, o->force ? SIGKILL : SIGTERM);
	if (rc == -ESRCH)
		return STATUS_OK; /* it is over now */
	if (rc < 0) {
		report("cannot stop recording %s: %s", s.run, strerror(-rc));
		return STATUS_SELF;
	}
	return STATUS_OK;
}

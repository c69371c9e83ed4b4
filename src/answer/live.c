#include "answer/live.h"

#include "base/fileid.h"
#include "base/os/procfs.h"
#include "base/vec.h"
#include "capture/standby/standby.h"
#include "event/event.h"
#include "event/log_lease.h"
#include "event/log_place.h"
#include "store/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct live_run {
	char run[27];
	pid_t pid;
};

/* A visitor of the running processes: notes the run that a process of this user's records. Beyond memory it is left
 * out. */
static void add_live(void *arg, pid_t pid, const char *run, bool own)
{
	struct live_runs *l = arg;
	if (!own) /* others may give a process of theirs the name of any run */
		return;
	if (!vec_has_room(l->v, l->n, l->cap))
		return;
	l->v[l->n].pid = pid;
	memcpy(l->v[l->n].run, run, sizeof(l->v[0].run));
	l->n++;
}

pid_t live_standby(struct live_runs *l, struct str run)
{
	if (!l)
		return 0;
	if (!l->looked)
		standby_each(add_live, l);
	l->looked = true;
	for (size_t i = 0; i < l->n; i++)
		if (str_is(run, l->v[i].run))
			return l->v[i].pid;
	return 0;
}

/* Is the process there that the run began with? Whether it is recorded still, that does not say. */
static bool command_lives(struct store *s, store_id run)
{
	const uint64_t tick = 20000000; /* ns: what /proc tells is this exact */
	store_id *execs = NULL;
	size_t n = 0;
	struct exec_info x;
	struct procfs p;
	bool lives = store_run_execs(s, run, &execs, &n) < 0; /* what cannot be read may live */
	if (n && store_exec(s, execs[0], &x) == 1) {
		procfs_clear(&p);
		lives = procfs_stat((pid_t)x.pid, &p) == 0 && p.state != 'Z' && p.started + tick > (uint64_t)x.started &&
		        p.started < (uint64_t)x.started + tick;
	}
	free(execs);
	return lives;
}

/* The slot of a segment's path HOST/DAY/SLOT[.ROLL].stl; host and day are cut out of it. */
static bool slot_of(char *path, char **ret_host, char **ret_day, unsigned *ret)
{
	char *day = strchr(path, '/'), *name = day ? strchr(day + 1, '/') : NULL;
	if (!name || strchr(name + 1, '/') || sscanf(name + 1, "%u.", ret) != 1)
		return false;
	*day = *name = '\0';
	*ret_host = path;
	*ret_day = day + 1;
	return true;
}

/* Where a segment of this machine and this user lies, whose lease can be asked for. home has PATH_MAX bytes; host, day:
 * as slot_of. False: it is another's. */
static bool is_ours(struct store *s, char *segment, char *home, char **ret_host, char **ret_day, unsigned *ret_slot)
{
	char own[LOG_PLACE_HOST], file[PATH_MAX + 512];
	struct stat st;
	if (log_place_received(segment) || !realpath(store_home(s), home))
		return false;
	/* Whose segment it is, they look for the lease among their own lock files. */
	if (snprintf(file, sizeof(file), "%s/logs/%s", home, segment) >= (int)sizeof(file) || stat(file, &st) < 0 ||
	    st.st_uid != geteuid())
		return false;
	log_place_own_host(own);
	return slot_of(segment, ret_host, ret_day, ret_slot) && strcmp(*ret_host, own) == 0;
}

/* What the lease says of a recording on this machine. */
static enum recording by_lease(struct store *s, store_id run, const struct run_recording *at)
{
	char home[PATH_MAX], *host, *day;
	const char *boot = host_boot_id();
	unsigned slot;
	struct stat st;
	if (!is_ours(s, at->segment, home, &host, &day, &slot) || !*boot)
		return RECORDING_UNKNOWN;
	if (!str_is(at->boot, boot))
		return RECORDING_CUT_OFF;
	int held = log_lease_is_held(home, host, day, slot);
	if (held)
		return held < 0 ? RECORDING_UNKNOWN : at->last ? RECORDING_RUNNING : RECORDING_CUT_OFF;
	/* A recorder elsewhere has its lock files where we do not see them. */
	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino != at->pidns || command_lives(s, run))
		return RECORDING_UNKNOWN;
	return RECORDING_CUT_OFF;
}

enum recording live_recording(struct store *s, struct live_runs *l, const struct run_info *run)
{
	struct run_recording at;
	if (run->ending != TERM_ending_unknown)
		return RECORDING_ENDED;
	if (live_standby(l, run->ulid))
		return RECORDING_RUNNING;
	int r = str_starts(run->mode, str_of("node/")) ? -1 : store_run_recording(s, run->id, &at);
	if (r <= 0)
		return r < 0 ? RECORDING_UNKNOWN : RECORDING_ENDED;
	enum recording ret = by_lease(s, run->id, &at);
	free(at.segment);
	return ret;
}

const char *live_word(enum recording r)
{
	static const char *const words[] = {"ended", "running", "cut off", "unknown"};
	return words[r];
}

/* l is empty then. */
void live_release(struct live_runs *l)
{
	free(l->v);
	*l = (struct live_runs){0};
}

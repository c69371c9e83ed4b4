/* A run that begins inside of this one. */
#include "capture/supervisor/super.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path that only stemma opens, to tell an outer run that a nested one begins; answered with an errno that no open
 * gives. */
#define MARKER "/.stemma/run/"
#define MARKER_ANSWER EL2NSYNC
#define MARKER_ELSEWHERE EL3HLT /* the same, and the record is not where the nested one was to be */

/* Is the log in this home? */
static bool same_home(const struct sup *s, const char *home)
{
	char *real = realpath(home, NULL);
	const char *path = log_writer_folder(s->log);
	size_t n = real ? strlen(real) : 0;
	bool same = n && !strncmp(path, real, n) && path[n] == '/';
	free(real);
	return same;
}

/* The marker names the run, and where in its memory its command, its labels and its home are. The errno of the answer;
 * 0: it is no marker. */
int nested_begins(struct sup *s, struct proc *p, const struct where *w)
{
	const char *at = w->given + sizeof(MARKER) - 1;
	unsigned long long argv, labels, home;
	if (memcmp(w->given, MARKER, sizeof(MARKER) - 1) || strlen(at) < ULID_LEN || !ulid_is(at, ULID_LEN) ||
	    sscanf(at + ULID_LEN, "/%llx/%llx/%llx", &argv, &labels, &home) != 3)
		return 0;
	char id[ULID_LEN + 1] = {0}, outer[ULID_LEN + 1], place[4096];
	memcpy(id, at, ULID_LEN);
	memcpy(outer, p->run[0] ? p->run : s->run, sizeof(outer));
	struct buf words = {0}, pairs = {0};
	size_t nwords = 0, npairs = 0;
	exec_words(w->tid, argv, &words, &nwords);
	exec_words(w->tid, labels, &pairs, &npairs);
	struct str *args = exec_split(&words, nwords), *label = exec_split(&pairs, npairs);
	bool mine = p->uid == s->euid && p->gid == s->egid;
	struct event ev = {.run = {.id = str_of(id),
	                           .outer = str_of(outer),
	                           .argv = {.items = args, .count = args ? nwords : 0},
	                           .user = str_of(mine ? s->user : NULL),
	                           .group = str_of(mine ? s->group : NULL),
	                           .uid = p->uid,
	                           .gid = p->gid,
	                           .label = {.items = label, .count = label ? npairs : 0},
	                           .cwd = str_of(proc_cwd(s, p, w->tid))}};
	sup_event(s, EVENT_run, sup_now(s), p, &ev);
	free(args);
	free(label);
	buf_release(&words);
	buf_release(&pairs);
	feature_nested(s, id);
	memcpy(p->run, id, ULID_LEN + 1);
	p->run_root = true;
	known_note(s->known, p);
	bool elsewhere = home && remote_string(w->tid, home, place, sizeof(place)) > 0 && !same_home(s, place);
	return elsewhere ? MARKER_ELSEWHERE : MARKER_ANSWER;
}

/* Where only programs are recorded, the marker comes as a program to exec. True: the exec is answered by s->refuse. */
bool nested_by_exec(struct sup *s, struct proc *p, const struct trap *t)
{
	struct where w;
	char head[sizeof(MARKER) - 1];
	if (!s->tree_only || t->call != CALL_execve ||
	    remote_read(t->tid, t->args[0], head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    memcmp(head, MARKER, sizeof(head)) || where_init(proc_rooted(p), t->tid, AT_FDCWD, t->args[0], true, &w) < 0)
		return false;
	s->refuse = nested_begins(s, p, &w);
	where_release(&w);
	return s->refuse != 0;
}

/* What only the kernel can tell of the job under --capture=safe: who has ended, and who runs without saying anything.
 */
#include "base/io.h"
#include "capture/preload/safe_int.h"
#include "redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what the kernel knows ---- */

/* Where execvp found it. */
static void find_command(const char *name, const char *cwd, char *ret, size_t n)
{
	ret[0] = '\0';
	if (strchr(name, '/')) {
		snprintf(ret, n, "%s%s%s", name[0] == '/' ? "" : cwd, name[0] == '/' ? "" : "/", name);
		return;
	}
	for (const char *d = getenv("PATH"); d && *d; d += strcspn(d, ":"), d += *d == ':') {
		bool here = d[0] != '/';
		snprintf(ret, n, "%s%s%.*s/%s", here ? cwd : "", here ? "/" : "", (int)strcspn(d, ":"), d, name);
		if (access(ret, X_OK) == 0)
			return;
	}
	ret[0] = '\0';
}

void safe_emit_root(struct safe *f, pid_t pid, int64_t forked, const char *cwd)
{
	struct sproc *p = sproc_add(f, (uint32_t)pid, 0, NULL, forked, forked, 0, 0);
	char path[2 * SAFE_ROOM];
	if (!p)
		return;
	p->lone = true;
	p->p->cwd = strdup(cwd);
	/* If it never says anything, this is what it was. */
	find_command(f->s->argv[0], cwd, path, sizeof(path));
	struct safe_seen x = {.e = {.time = forked}, .str = {str_of(path)}};
	sproc_intent(p, &x);
	for (char *const *v = f->s->argv; *v; v++, p->intent.argc++)
		buf_add(&p->intent.argv, *v, strlen(*v) + 1);
}

/* Is the library in it? True where that cannot be told: also of one in which the linker has not loaded anything yet,
 * for it loads what is preloaded first, and on a busy machine a program may wait long for its turn. */
static bool has_library_mapped(const struct sproc *p, bool patient)
{
	char name[48], line[4096];
	snprintf(name, sizeof(name), "/proc/%u/maps", p->pid);
	FILE *maps = fopen(name, "re");
	bool any = false, found = false, other = false, linker = false, loaded = false;
	while (maps && fgets(line, sizeof(line), maps)) {
		bool is_linker = strstr(line, "/ld-") || strstr(line, "/ld.so");
		any = true;
		linker |= is_linker;
		loaded |= !is_linker && strstr(line, ".so");
		found |= strstr(line, "libstemma-safe.so") != NULL;
		other |= strstr(line, "/ld-musl") || strstr(line, "musl/"); /* there it only passes on */
	}
	if (maps)
		fclose(maps);
	/* One that ended meanwhile showed a part of what it had. */
	char exe[8];
	snprintf(name, sizeof(name), "/proc/%u/exe", p->pid);
	if (!found && readlink(name, exe, sizeof(exe)) < 0)
		return true;
	return (found && !other) || !any || (patient && linker && !loaded && !other);
}

/* The program and the arguments that the kernel tells of it; the number of bytes of each, 0: not known. */
static void read_program_and_arguments(uint32_t pid, char *path, size_t room, size_t *ret_path, char *args,
                                       size_t args_room, size_t *ret_args)
{
	char name[64];
	snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	ssize_t n = readlink(name, path, room - 1);
	*ret_path = n > 0 ? (size_t)n : 0;
	path[*ret_path] = '\0';
	snprintf(name, sizeof(name), "/proc/%u/cmdline", pid);
	*ret_args = io_text(name, args, args_room);
}

/* What a process is that has said nothing, taken for an exec that was seen. False: that cannot be told. One that has
 * the library will yet speak for itself: on a busy machine a child may wait long for its first turn. */
static bool handle_unseen_exec(struct sproc *p, const struct sproc *parent, int64_t time)
{
	char path[4096], args[16384], path_of_parent[4096], args_of_parent[16384];
	size_t npath, nargs, nparent, nparent_args;
	bool speaks = has_library_mapped(p, true);
	read_program_and_arguments(p->pid, path, sizeof(path), &npath, args, sizeof(args), &nargs);
	if (!npath)
		return false;
	struct safe_seen x = {.e = {.a = !speaks, .time = time}, .str = {str_of(path)}};
	sproc_intent(p, &x);
	p->intent.seen = true;
	if (speaks && parent) {
		read_program_and_arguments(parent->pid, path_of_parent, sizeof(path_of_parent), &nparent, args_of_parent,
		                           sizeof(args_of_parent), &nparent_args);
		p->intent.fork = !strcmp(path, path_of_parent) && nargs == nparent_args && !memcmp(args, args_of_parent, nargs);
	}
	if (nargs) {
		args[nargs - 1] = '\0';
		buf_add(&p->intent.argv, args, nargs);
		for (size_t i = 0; i < nargs; i++)
			p->intent.argc += !args[i];
	}
	return true;
}

/* A process that was found and has said nothing. */
static void add_silent_process(struct safe *f, struct sproc *parent, uint32_t pid)
{
	int64_t now = sup_now(f->s);
	struct sproc *p = sproc_add(f, pid, 0, parent, now, parent ? parent->p->seen : now, 0, 0);
	if (!p)
		return;
	p->lone = p->found = true;
	if (handle_unseen_exec(p, parent, now) && p->intent.alone)
		sproc_intent_commit(f, p);
}

const struct proc *safe_proc(const struct safe *f, pid_t pid)
{
	const struct sproc *p = sproc_by_pid(f, (uint32_t)pid);
	return p ? p->p : NULL;
}

/* Whether that very program is known and has not ended. */
bool safe_lives(const struct safe *f, uint32_t pid, uint32_t image)
{
	const struct sproc *p = sproc_by_image(f, pid, image);
	return p && !p->ended;
}

bool safe_busy(const struct safe *f)
{
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (const struct sproc *p = f->procs[k]; p; p = p->next)
			if (p->intent.set && !p->intent.seen && p->alive)
				return true;
	return false;
}

/* Processes that are over, 64 at once. */
void safe_find_dead(struct safe *f, struct safe_dead *ret)
{
	struct epoll_event got[64];
	int n = epoll_wait(f->epoll, got, 64, 0);
	ret->n = n > 0 ? n : 0;
	for (int i = 0; i < ret->n; i++)
		ret->v[i] = got[i].data.ptr;
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (struct sproc *p = f->procs[k]; p && ret->n < 64; p = p->next)
			if (p->alive && p->ours && p->p->pidfd < 0 && kill(p->p->pid, 0) < 0 && errno == ESRCH)
				ret->v[ret->n++] = p;
}

/* Tells of those that were found, and of programs that never said anything. */
void safe_emit_deaths(struct safe *f, const struct safe_dead *d)
{
	int64_t now = sup_now(f->s);
	for (int i = 0; i < d->n; i++) {
		f->s->epoch++;
		if (d->v[i]->alive)
			sproc_dead(f, d->v[i]);
	}
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (struct sproc *p = f->procs[k], *next; p; p = next) {
			next = p->next;
			/* A program that does not say anything a while after the exec never will. */
			int64_t since = now - p->intent.time;
			if (p->intent.set && !p->ended && since > SOON &&
			    (p->intent.alone || (since > 4 * SOON && p->alive && !has_library_mapped(p, since < 40 * SOON)))) {
				if (p->intent.seen) /* it may be another by now */
					handle_unseen_exec(p, NULL, now);
				sproc_intent_commit(f, p);
			}
			/* One whose parent has not waited yet is still to be seen, and must not be taken for another. */
			if (!p->alive && p->ended && now - p->end > REMEMBER &&
			    (sproc_by_pid(f, p->pid) != p || kill(p->p->pid, 0) < 0))
				sproc_forget(f, p);
		}
}

/* status: as wait gives it. Nothing if it ended already. */
void safe_emit_status(struct safe *f, pid_t pid, int status)
{
	struct sproc *p = sproc_by_pid(f, (uint32_t)pid);
	if (!p || p->ended)
		return;
	bool signaled = status & 0x7f;
	f->s->epoch++;
	sproc_end(f, p, sup_now(f->s), signaled ? TERM_ending_signaled : TERM_ending_exited,
	          signaled ? (unsigned)status & 0x7f : (unsigned)(status >> 8) & 0xff, NULL, 0);
}

/* Adds children of a process: those that have been there at two looks. */
static void scan_children(struct safe *f, struct sproc *parent, uint32_t of, uint32_t (*waiting)[2], size_t n)
{
	char name[64], text[8192];
	snprintf(name, sizeof(name), "/proc/%u/task/%u/children", of, of);
	io_text(name, text, sizeof(text));
	for (char *at = text, *next; *at; at = next) {
		uint32_t pid = (uint32_t)strtoul(at, &next, 10);
		if (next == at)
			break;
		struct sproc *p = sproc_by_pid(f, pid);
		if (p && (p->alive || sproc_is_still(f, p)))
			continue;
		uint32_t *slot = waiting[pid % n];
		if (slot[0] != pid) {
			slot[0] = pid;
			slot[1] = 1;
		} else {
			slot[0] = 0;
			add_silent_process(f, parent, pid);
		}
	}
}

/* Tells of children that have not said anything themselves. */
void safe_emit_children(struct safe *f)
{
	static uint32_t waiting[1024][2];
	scan_children(f, NULL, (uint32_t)getpid(), waiting, 1024);
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (struct sproc *p = f->procs[k], *next; p; p = next) {
			next = p->next;
			if (p->alive && p->ours && p->p->pidfd >= 0)
				scan_children(f, p, p->pid, waiting, 1024);
		}
}

void safe_emit_end(struct safe *f)
{
	for (unsigned k = 0; k < HASH_SIZE; k++)
		while (f->procs[k]) {
			struct sproc *p = f->procs[k];
			f->s->epoch++;
			if (p->alive && !p->ended && p->ours)
				sproc_dead(f, p);
			else if (!p->ended)
				sproc_end(f, p, sup_now(f->s), TERM_ending_unknown, 0, NULL, 0);
			sproc_forget(f, p);
		}
}

/* leave_execs.h - execve and its relatives, posix_spawn; see leave.h. Included once, in one file of a library. */
/* `env` in what follows: envp, or the same without this library. */
#define LEAVING(envp, at, path, flags)                                                                                 \
	char *const *env = (envp);                                                                                         \
	char found[LEAVE_ROOM];                                                                                            \
	int keep = errno;                                                                                                  \
	bool leaves = (LEAVE_ON) && env && LEAVE_LOOK(at, path, flags) == FIT_BREAKS;                                      \
	char *out[leaves ? count_strings(env) + 1 : 1], room[leaves ? preload_room(env) : 1];                              \
	(void)found;                                                                                                       \
	errno = keep;                                                                                                      \
	if (leaves)                                                                                                        \
	env = without(env, out, room)

REAL_OF(execve);
REAL_OF(execvpe);
REAL_OF(fexecve);
REAL_OF(execveat);

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	LEAVING(envp, AT_FDCWD, path, 0);
	return REAL(execve)(path, argv, env);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	LEAVING(envp, AT_FDCWD, search_path_list(file, found, sizeof(found)), 0);
	return REAL(execvpe)(file, argv, env);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	LEAVING(envp, fd, "", AT_EMPTY_PATH);
	return REAL(fexecve)(fd, argv, env);
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	LEAVING(envp, fd, path, flags);
	return REAL(execveat)(fd, path, argv, env, flags);
}

#include "capture/interpose/exec_words.h"

#define SPAWNS(name, path)                                                                                             \
	REAL_OF(name);                                                                                                     \
	EXPORT int name(pid_t *restrict pid, const char *restrict file,                                                    \
	                const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attr,        \
	                char *const argv[restrict], char *const envp[restrict])                                            \
	{                                                                                                                  \
		LEAVING(envp ? envp : environ, AT_FDCWD, path, 0);                                                             \
		return REAL(name)(pid, file, actions, attr, argv, leaves ? env : envp);                                        \
	}

SPAWNS(posix_spawn, file)
SPAWNS(posix_spawnp, search_path_list(file, found, sizeof(found)))

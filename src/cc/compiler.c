#include "cc/compiler.h"

#include "base/io.h"
#include "cc/tape/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The environment without a language, and without what would have it write a file. */
static char **plain_env(void)
{
	static const char *const leave[] = {
	    "LC_ALL=", "LANGUAGE=", "DEPENDENCIES_OUTPUT=", "SUNPRO_DEPENDENCIES=", TAPE_ENV "="};
	static char c[] = "LC_ALL=C";
	size_t n = 0, k = 0;
	while (environ[n])
		n++;
	char **v = malloc((n + 2) * sizeof(*v));
	for (size_t i = 0; v && i < n; i++) {
		bool out = false;
		for (size_t j = 0; j < sizeof(leave) / sizeof(leave[0]); j++)
			out |= strncmp(environ[i], leave[j], strlen(leave[j])) == 0;
		if (!out)
			v[k++] = environ[i];
	}
	if (v) {
		v[k++] = c;
		v[k] = NULL;
	}
	return v;
}

void compiler_ask(char *const *argv, char *ret, size_t room)
{
	char **env = plain_env(), rest[4096];
	posix_spawn_file_actions_t actions;
	size_t n = 0;
	int p[2], status = -1;
	pid_t pid;
	ret[0] = '\0';
	if (!env || pipe2(p, O_CLOEXEC) < 0) {
		free(env);
		return;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, p[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	int rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	free(env);
	close(p[1]);
	bool over = rc != 0;
	int64_t until = now_ms() + COMPILER_WAIT_MS;
	while (!over) {
		struct pollfd fd = {.fd = p[0], .events = POLLIN};
		int64_t left = until - now_ms();
		if (left <= 0 || poll(&fd, 1, (int)left) == 0)
			break;
		/* To its end: it is not to be told that nobody reads. */
		bool fits = n < room - 1;
		ssize_t got = read(p[0], fits ? ret + n : rest, fits ? room - 1 - n : sizeof(rest));
		over = got <= 0;
		n += fits && got > 0 ? (size_t)got : 0;
	}
	close(p[0]);
	if (rc == 0) {
		if (!over)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	ret[status == 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\r\n")] = '\0';
}

static void ask(const char *path, const char *question, char ret[COMPILER_LINE])
{
	char *argv[] = {(char *)path, (char *)question, NULL};
	compiler_ask(argv, ret, COMPILER_LINE);
}

static bool known(const char *path, struct compiler *ret)
{
	char text[2 * COMPILER_LINE + 2];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : io_pread(fd, text, sizeof(text) - 1, 0);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	char *second = strchr(text, '\n'), *end = second ? strchr(second + 1, '\n') : NULL;
	if (!end) /* half of it was written */
		return false;
	*second++ = *end = '\0';
	snprintf(ret->version, sizeof(ret->version), "%.*s", COMPILER_LINE - 1, text);
	snprintf(ret->target, sizeof(ret->target), "%.*s", COMPILER_LINE - 1, second);
	return true;
}

static void keep(const char *path, const char *dir, const struct compiler *c)
{
	char line[2 * COMPILER_LINE + 2];
	int n = snprintf(line, sizeof(line), "%s\n%s\n", c->version, c->target);
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(path, flags, 0600);
	if (fd < 0 && errno == ENOENT && io_mkdirs(dir, 0700) == 0)
		fd = open(path, flags, 0600);
	if (fd < 0)
		return;
	io_write(fd, line, (size_t)n, NULL);
	close(fd);
}

void compiler_describe(const char *path, const struct digest *key, const char *cache, struct compiler *ret)
{
	char file[4096], dir[4096], name[DIGEST_TEXT];
	digest_text(key, name);
	bool kept = cache && snprintf(dir, sizeof(dir), "%s/compilers", cache) < (int)sizeof(dir) &&
	            snprintf(file, sizeof(file), "%s/%.32s", dir, name + 7) < (int)sizeof(file);
	if (kept && known(file, ret))
		return;
	ask(path, "--version", ret->version);
	ask(path, "-dumpmachine", ret->target);
	if (kept && ret->version[0])
		keep(file, dir, ret);
}

#include "cc/compiler.h"

#include "base/child.h"
#include "base/io.h"
#include "cc/tape/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

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
	char **env = plain_env();
	struct buf printed = {0};
	struct child c = {.argv = argv, .env = env, .most = room - 1, .limit_ms = COMPILER_WAIT_MS};
	int rc = env ? child_read(&c, &printed) : -ENOMEM;
	free(env);
	snprintf(ret, room, "%s", rc == 0 ? buf_cstr(&printed) : "");
	ret[strcspn(ret, "\r\n")] = '\0';
	buf_release(&printed);
}

/* Asks a compiler for one line about itself. ret: the first line that the compiler prints, "" if it fails. */
static void ask_one_line(const char *path, const char *question, char ret[COMPILER_LINE])
{
	char *argv[] = {(char *)path, (char *)question, NULL};
	compiler_ask(argv, ret, COMPILER_LINE);
}

/* Reads what the compiler has said of itself before. False: there is none, or half of one. */
static bool read_cached_answers(const char *path, struct compiler *ret)
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

/* What cannot be written is not kept. */
static void write_cached_answers(const char *path, const char *dir, const struct compiler *c)
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

/* What the compiler does not say is "". cache: may be NULL. */
void compiler_describe(const char *path, const struct digest *key, const char *cache, struct compiler *ret)
{
	char file[4096], dir[4096], name[DIGEST_TEXT];
	digest_text(key, name);
	bool kept = cache && snprintf(dir, sizeof(dir), "%s/compilers", cache) < (int)sizeof(dir) &&
	            snprintf(file, sizeof(file), "%s/%.32s", dir, name + 7) < (int)sizeof(file);
	if (kept && read_cached_answers(file, ret))
		return;
	ask_one_line(path, "--version", ret->version);
	ask_one_line(path, "-dumpmachine", ret->target);
	if (kept && ret->version[0])
		write_cached_answers(file, dir, ret);
}

#include "cmd/ui/pager.h"

#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WORDS 16

/* Is it longer than the screen? */
static bool is_long(const char *text, size_t n)
{
	struct winsize w = {0};
	size_t lines = 0;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_row)
		return false;
	for (const char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))) != NULL; p++)
		lines++;
	return lines >= w.ws_row;
}

/* The pager's words; false: there is to be none. */
static bool pager_words(char *text, char *argv[WORDS + 1])
{
	size_t n = 0;
	char *save;
	for (char *word = strtok_r(text, " \t", &save); word && n < WORDS; word = strtok_r(NULL, " \t", &save))
		argv[n++] = word;
	argv[n] = NULL;
	return n && strcmp(argv[0], "cat") != 0;
}

/* The user's pager, to be freed; NULL: no memory. It may be empty. */
static char *pager_text(void)
{
	const char *pager = getenv("STEMMA_PAGER");
	if (!pager)
		pager = getenv("PAGER");
	return strdup(pager ? pager : "less");
}

/* Its end of the pipe becomes standard output as long as that is written. */
static void write_through(int to, pid_t pid)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	if (out >= 0 && dup2(to, STDOUT_FILENO) >= 0) {
		fflush(stdout);
		if (ferror(stdout) && errno == EPIPE)
			clearerr(stdout); /* it was left before its end */
		dup2(out, STDOUT_FILENO);
	}
	close(to);
	if (out >= 0)
		close(out);
	child_wait(pid);
	signal(SIGPIPE, old);
}

void pager_flush(const char *text, size_t n)
{
	char *words = is_long(text, n) ? pager_text() : NULL, *argv[WORDS + 1];
	int ends[2];
	pid_t pid;
	if (words && pager_words(words, argv) && pipe2(ends, O_CLOEXEC) == 0) {
		setenv("LESS", "FRX", 0); /* colours; nothing to leave where it fits; the answer stays on the screen */
		int r = child_start(&(struct child){.argv = argv, .in = ends[0], .out = CHILD_SAME, .err = CHILD_SAME}, &pid);
		close(ends[0]);
		if (r == 0)
			write_through(ends[1], pid);
		else
			close(ends[1]);
	}
	free(words);
	fflush(stdout);
}

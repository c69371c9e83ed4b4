#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_ 200000 /* a line holds an argument list or two long paths, escaped */

char dir[PATH_MAX];
char self_exe[PATH_MAX];

const char *in_dir(const char *name)
{
	static __thread char bufs[16][2 * PATH_MAX];
	static __thread unsigned turn;
	char *b = bufs[turn++ % 16];
	snprintf(b, sizeof(bufs[0]), "%s/%s", dir, name);
	return b;
}

const char *num(long long v)
{
	static __thread char bufs[16][24];
	static __thread unsigned turn;
	char *b = bufs[turn++ % 16] + 23;
	bool negative = v < 0;
	unsigned long long u = negative ? -(unsigned long long)v : (unsigned long long)v;
	*b = 0;
	do
		*--b = (char)('0' + u % 10);
	while (u /= 10);
	if (negative)
		*--b = '-';
	return b;
}

const char *ino_of(int fd)
{
	static __thread char bufs[16][25];
	static __thread unsigned turn;
	char *b = bufs[turn++ % 16];
	struct stat st;
	must(fstat(fd, &st));
	b[0] = '#';
	strcpy(b + 1, num((long long)st.st_ino));
	return b;
}

/* Printable ASCII but the backslash stands for itself, every other byte is \xHH. */
static size_t escape(char *out, size_t room, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 0;
	for (; *s && n + 4 < room; s++) {
		unsigned char c = (unsigned char)*s;
		if (c > 0x20 && c < 0x7f && c != '\\') {
			out[n++] = (char)c;
		} else {
			out[n++] = '\\';
			out[n++] = 'x';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		}
	}
	return n;
}

void truth_line(pid_t pid, const char *verb, ...)
{
	int saved = errno;
	static __thread char line[LINE_MAX_];
	const char *p = num(pid ? pid : getpid());
	size_t n = strlen(p);
	memcpy(line, p, n);
	line[n++] = '@';
	n += escape(line + n, sizeof(line) - n, pid ? "-" : self_exe);
	va_list ap;
	va_start(ap, verb);
	for (const char *s = verb; s; s = va_arg(ap, const char *)) {
		if (n + 2 < sizeof(line))
			line[n++] = ' ';
		if (*s)
			n += escape(line + n, sizeof(line) - n - 1, s);
		else if (n + 2 < sizeof(line))
			line[n++] = '\\'; /* the empty word */
	}
	va_end(ap);
	line[n++] = '\n';
	if (write(TRUTH_FD, line, n) < 0 && errno != EBADF)
		_exit(98);
	errno = saved;
}

void truth_fd(const char *verb, const char *path, int fd)
{
	truth(verb, path, ino_of(fd));
}

static void say(const char *s)
{
	if (write(2, s, strlen(s)) < 0)
		return;
}

long must_(long r, const char *what, int line)
{
	if (r >= 0)
		return r;
	int e = errno;
	say("line ");
	say(num(line));
	say(": ");
	say(what);
	say(": ");
	say(strerror(e));
	say("\n");
	_exit(99);
}

void skip(const char *why)
{
	truth("skip", why);
	say("skip: ");
	say(why);
	say("\n");
	_exit(77);
}

void leave(int status)
{
	truth("exit", num(status));
	_exit(status);
}

void put(int fd, const char *text)
{
	size_t n = strlen(text);
	check(write(fd, text, n) == (ssize_t)n);
}

long get(int fd)
{
	char b[64];
	return must(read(fd, b, sizeof(b)));
}

void make_file(const char *path)
{
	int fd = (int)must(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	put(fd, "made\n");
	truth_fd("create", path, fd);
	truth_fd("write", path, fd);
	close(fd);
}

int await(pid_t pid)
{
	int status;
	pid_t r;
	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	must(r);
	return status;
}

pid_t spawn(void)
{
	pid_t pid = (pid_t)must(fork());
	if (pid)
		truth("fork", num(pid));
	return pid;
}

void become(const char *name, const char *arg)
{
	char *argv[] = {(char *)"again", (char *)name, dir, (char *)arg, NULL};
	execv(self_exe, argv);
	must(-1);
	_exit(99);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		for (const struct tcase *c = cases; c->name; c++)
			if (c->name[0] != '+')
				puts(c->name);
		return argc == 1 ? 0 : 2;
	}
	ssize_t n = readlink("/proc/self/exe", self_exe, sizeof(self_exe) - 1);
	if (n < 0)
		strcpy(self_exe, "-");
	snprintf(dir, sizeof(dir), "%s", argv[2]);
	/* "exec" and all arguments, as one line. */
	static char joined[LINE_MAX_];
	size_t at = strlen(strcpy(joined, num(getpid())));
	joined[at++] = '@';
	at += escape(joined + at, sizeof(joined) - at, self_exe);
	at += strlen(strcpy(joined + at, " exec"));
	for (int i = 0; i < argc && at + 8 < sizeof(joined); i++) {
		joined[at++] = ' ';
		if (argv[i][0])
			at += escape(joined + at, sizeof(joined) - at - 1, argv[i]);
		else
			joined[at++] = '\\';
	}
	joined[at++] = '\n';
	/* Longer lists are the business of the test that passes them. */
	if (at < sizeof(joined) - 16 && write(TRUTH_FD, joined, at) < 0 && errno != EBADF)
		return 98;
	static char cwd[PATH_MAX];
	if (getcwd(cwd, sizeof(cwd)) && cwd[0] == '/')
		truth("cwd", cwd);
	truth("ids", num(geteuid()), num(getegid()));
	for (const struct tcase *c = cases; c->name; c++)
		if (strcmp(c->name, argv[1]) == 0) {
			c->run(argc - 3, argv + 3);
			leave(0);
		}
	say("no such case\n");
	return 2;
}

/* Would the command lose a privilege under a recorder? What can be told before it starts: the program itself, and the
 * one that a wrapper is about to become. */
#include "base/io.h"
#include "capture/launch/choose.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Programs that become the command in their arguments: their options with a value, short and long, and how many words
 * stand before the command. */
static const struct wrapper {
	const char *name, *with_value, *long_with_value;
	int words;
	bool assigns; /* NAME=value may stand before it */
} wrappers[] = {
    {"env", "uCS", " unset chdir split-string ", 0, true},
    {"nice", "n", " adjustment ", 0, false},
    {"nohup", "", "", 0, false},
    {"timeout", "ks", " kill-after signal ", 1, false},
    {"setsid", "", "", 0, false},
    {"stdbuf", "ioe", " input output error ", 0, false},
    {"ionice", "cn", " class classdata ", 0, false},
    {"time", "fo", " format output ", 0, false},
};

/* Finds a program on PATH. As execvp would. False: it is not found; ret is then the last one that was tried, or the
 * name. */
static bool find_on_search_path(const char *name, char *ret, size_t n)
{
	const char *path = getenv("PATH"), *dirs = path ? path : "/bin:/usr/bin"; /* as execvp has it */
	snprintf(ret, n, "%s", name);
	if (strchr(name, '/'))
		return access(ret, X_OK) == 0;
	for (const char *d = dirs; d && *d; d += strcspn(d, ":"), d += *d == ':') {
		size_t len = strcspn(d, ":");
		int m = snprintf(ret, n, "%.*s/%s", (int)len, d, name);
		if (m > 0 && (size_t)m < n && access(ret, X_OK) == 0)
			return true;
	}
	return false;
}

/* Points into path. */
static const char *command_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The interpreter of a script, which has the say: the kernel takes no privilege from a script's own bits. */
static bool read_interpreter(const char *path, char *ret, size_t n)
{
	char head[256];
	if (io_text(path, head, sizeof(head)) < 3 || head[0] != '#' || head[1] != '!')
		return false;
	char *p = head + 2 + strspn(head + 2, " \t");
	p[strcspn(p, " \t\n\r")] = '\0';
	snprintf(ret, n, "%s", p);
	return *p;
}

/* Would it get rights by its set-user-id bits or capabilities that who starts it lacks? */
static bool has_privilege(const char *path)
{
	struct stat st;
	struct statvfs fs;
	char value[64];
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	bool bits = ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	            ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid());
	/* Root has what such a file could give. */
	if (!bits && (geteuid() == 0 || getxattr(path, "security.capability", value, sizeof(value)) <= 0))
		return false;
	return statvfs(path, &fs) < 0 || !(fs.f_flag & ST_NOSUID);
}

/* Is the value of this option the next word? */
static bool value_follows(const struct wrapper *w, const char *option)
{
	char name[40];
	if (option[1] == '-') {
		snprintf(name, sizeof(name), " %.32s ", option + 2);
		return strstr(w->long_with_value, name) != NULL;
	}
	const char *v = strpbrk(option + 1, w->with_value);
	return v && !v[1];
}

/* The word at which the wrapper's command begins; NULL there is none. */
static char *const *find_wrapped_command(const struct wrapper *w, char *const *argv)
{
	for (argv++; *argv && (*argv)[0] == '-' && (*argv)[1]; argv++) {
		if (!strcmp(*argv, "--")) {
			argv++;
			break;
		}
		if (value_follows(w, *argv) && argv[1])
			argv++;
	}
	while (w->assigns && *argv && strchr(*argv, '='))
		argv++;
	for (int i = 0; i < w->words && *argv; i++)
		argv++;
	return *argv ? argv : NULL;
}

bool privileged_program(char *const *argv, char *ret, size_t n)
{
	enum { WRAPPED_MAX = 8 };
	char path[4096], script[256], first[4096];
	char *words[2] = {first, NULL};
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false; /* nothing to lose any more */
	for (int depth = 0; argv && *argv && depth < WRAPPED_MAX; depth++) {
		if (!find_on_search_path(argv[0], path, sizeof(path)))
			return false;
		const char *name = command_name(argv[0]);
		snprintf(ret, n, "%s", name);
		if (read_interpreter(path, script, sizeof(script))) {
			if (has_privilege(script))
				return true;
		} else if (has_privilege(path)) {
			return true;
		}
		/* A shell's command, where its first word is plain. */
		size_t plain = (!strcmp(name, "sh") || !strcmp(name, "bash") || !strcmp(name, "dash")) && argv[1] &&
		                       !strcmp(argv[1], "-c") && argv[2]
		                   ? strcspn(argv[2], " \t\n;&|<>()$`\\\"'*?[#~=%!{}")
		                   : 0;
		const struct wrapper *w = NULL;
		for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
			if (!strcmp(name, wrappers[i].name))
				w = &wrappers[i];
		if (plain && plain < sizeof(first) && strchr(" \t\n;&|<>", argv[2][plain])) {
			memcpy(first, argv[2], plain);
			first[plain] = '\0';
			argv = words;
		} else {
			argv = w ? find_wrapped_command(w, argv) : NULL;
		}
	}
	return false;
}

/* truth.h - what a test program says it did.
 *
 * A program is a table of cases; `prog CASE DIR [ARG...]` runs one of them in the directory DIR (absolute, canonical).
 * Each case performs system calls and writes, for each that a recorder must have seen, one line to descriptor 9
 * (tests/prog/README.md). The line is one write of an appended file, so that lines of several processes never mix.
 * Without descriptor 9 nothing is written.
 *
 * Everything here may be used between vfork and exec, in any thread and in signal handlers: no allocation, no stdio. */
#ifndef STEMMA_TESTS_PROG_TRUTH_H
#define STEMMA_TESTS_PROG_TRUTH_H

#include <stddef.h>
#include <sys/types.h>

#define TRUTH_FD 9

struct tcase {
	const char *name;                   /* with '+' in front: a part of another case, which starts it by become() */
	void (*run)(int argc, char **argv); /* argv[0] is the first argument after DIR */
};
extern const struct tcase cases[]; /* ends with {0} */
#define CASE(name) static void name(int argc __attribute__((unused)), char **argv __attribute__((unused)))

/* The absolute path of NAME in DIR, in one of 16 buffers of the calling thread, used in turn. */
const char *in_dir(const char *name);
extern char dir[];      /* DIR */
extern char self_exe[]; /* /proc/self/exe as it was when the program began */

/* truth("rename", old, new): one line of this process. The list ends with NULL, which the macro adds. */
#define truth(...) truth_line(0, __VA_ARGS__, (char *)NULL)
/* The same in the name of another process (one that cannot speak, or knows its number in another namespace only). */
#define truth_of(pid, ...) truth_line(pid, __VA_ARGS__, (char *)NULL)
void truth_line(pid_t pid, const char *verb, ...);
/* Says VERB, PATH and the inode number of the open file fd. */
void truth_fd(const char *verb, const char *path, int fd);
/* The number in decimal, in one of 16 buffers used in turn. */
const char *num(long long v);
/* The inode number of fd, as truth_fd gives it: "#123". */
const char *ino_of(int fd);

/* A call that must work: its result, or the program ends with status 99 and says which. */
long must_(long r, const char *what, int line);
#define must(call) must_((long)(call), #call, __LINE__)
/* A condition that must hold. */
#define check(cond) must_((cond) ? 0 : -1, #cond, __LINE__)
/* This machine cannot do it: says why and ends with status 77. */
void skip(const char *why) __attribute__((noreturn));
/* The process ends, having said `exit N`. */
void leave(int status) __attribute__((noreturn));

/* Writes the text and checks that all of it went. */
void put(int fd, const char *text);
/* Reads up to 64 bytes and throws them away; returns how many. */
long get(int fd);
/* Creates the file with one line in it, says so, and closes it. */
void make_file(const char *path);
/* Waits for pid and returns its wait status. */
int await(pid_t pid);
/* fork, and says so in the parent. */
pid_t spawn(void);
/* Starts another case of this program: `prog CASE DIR arg`. Does not return. */
void become(const char *name, const char *arg) __attribute__((noreturn));

#endif

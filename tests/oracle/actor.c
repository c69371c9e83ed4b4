/*
 * actor.c - a program that does what its argument says, step by step, and writes down what it truly read and
 * wrote
 *
 *     actor STEP SCRIPT            with the file of truths on descriptor 9
 *
 * SCRIPT is words: commands with their words, and blocks in braces. A capital or small letter stands for a descriptor.
 * All bytes that the program receives are kept (the first 16 KiB), and each write puts them out behind a line of its
 * own, so that what flowed can be seen in the bytes too.
 *
 * A truth is one line, written by one call:  STEP PROCESS VERB WORD...   PROCESS is the process's number and, behind a
 * dot, the number of its program image. The verbs (oracle.py): at FILE NAME    FILE (an object) was opened by this name
 * new FILE       it is empty from now on got OBJECT      bytes of it were received                     put OBJECT bytes
 * are put into it now fork PROCESS    from now on there is this child               exec 0|1       the image is
 * replaced; 1: it is given bytes rename A B, link A B, unlink A    the name changes An object is f:INODE, p:INODE for a
 * pipe or FIFO, and for each direction of a socket a name of its own. `put` stands before the call and `got` behind it,
 * so that in the file a byte's put stands before its got.
 *
 * Ends with 99 and a message where a call that must succeed does not, with 77 where the machine cannot do it.
 */
#include "actor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TRUTHS 9
#define HELD 16384
#define WORDS 512

static struct end ends[128];
static char held[HELD]; /* what was received */
static size_t held_len;
const char *actor_step;
static int image; /* number of this program image in its process */
static char *words[WORDS];
static __thread int how; /* of the command that runs now, from its row */
static char *shared;     /* memory that children share */
static size_t map_len;   /* of what was mapped last */
static char *map;
static pthread_t thread;

_Noreturn void actor_fail(const char *what)
{
	fprintf(stderr, "actor %s: %s: %s\n", actor_step, what, strerror(errno));
	_exit(99);
}

void actor_truth(const char *format, ...)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "%s %d.%d ", actor_step, (int)getpid(), image);
	va_list ap;
	va_start(ap, format);
	n += vsnprintf(line + n, sizeof(line) - n - 1, format, ap);
	va_end(ap);
	line[n++] = '\n';
	if (write(TRUTHS, line, n) != n)
		actor_fail("truth");
}

struct end *actor_end(const char *word)
{
	return &ends[word[0] & 127];
}

/* The object of a descriptor that is no socket. */
void actor_set(const char *word, int fd)
{
	struct end *e = actor_end(word);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		actor_fail(word);
	e->fd = fd;
	snprintf(e->in, sizeof(e->in), "%c:%llu", S_ISFIFO(st.st_mode) ? 'p' : 'f', (unsigned long long)st.st_ino);
	strcpy(e->out, e->in);
}

static void do_open(char **w)
{
	int fd = open(w[2], how | O_CLOEXEC, 0666);
	actor_set(w[1], fd);
	if (actor_end(w[1])->in[0] != 'f')
		return;
	actor_truth("at %s %s", actor_end(w[1])->in, w[2]);
	struct stat st;
	if (!fstat(fd, &st) && !st.st_size)
		actor_truth("new %s", actor_end(w[1])->in);
}

/* open by another name of what is open already (a symbolic link, /proc/self/fd/N) */
static void do_open_alias(char **w)
{
	actor_set(w[1], open(w[2], O_RDONLY | O_CLOEXEC));
}

static void do_open_tmp(char **w)
{
	int fd = open(w[2], O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		_exit(77);
	actor_set(w[1], fd);
	actor_truth("at %s tmp%d", actor_end(w[1])->in, (int)getpid());
	actor_truth("new %s", actor_end(w[1])->in);
}

/* name X PATH: what O_TMPFILE made gets a name */
static void do_name(char **w)
{
	char from[64];
	snprintf(from, sizeof(from), "/proc/self/fd/%d", actor_end(w[1])->fd);
	if (linkat(AT_FDCWD, from, AT_FDCWD, w[2], AT_SYMLINK_FOLLOW))
		actor_fail(w[2]);
	actor_truth("rename tmp%d %s", (int)getpid(), w[2]);
}

/* fd X N: a descriptor that was inherited */
static void do_fd(char **w)
{
	actor_set(w[1], atoi(w[2]));
}

static void do_close(char **w)
{
	if (close(actor_end(w[1])->fd))
		actor_fail(w[1]);
}

static void do_dup(char **w)
{
	*actor_end(w[2]) = *actor_end(w[1]);
	actor_end(w[2])->fd = dup(actor_end(w[1])->fd);
}

/* keep X N: it is descriptor N, and stays open at exec */
static void do_keep(char **w)
{
	int fd = dup2(actor_end(w[1])->fd, atoi(w[2]));
	if (fd < 0)
		actor_fail(w[1]);
	if (fd != actor_end(w[1])->fd)
		close(actor_end(w[1])->fd);
	actor_end(w[1])->fd = fd;
}

static void hold(const char *object, const char *bytes, ssize_t n)
{
	if (n < 0)
		actor_fail(object);
	if (!n)
		return;
	actor_truth("got %s", object);
	size_t room = HELD - held_len < (size_t)n ? HELD - held_len : (size_t)n;
	memcpy(held + held_len, bytes, room);
	held_len += room;
}

/* read X N: one read of at most N bytes */
static void do_read(char **w)
{
	char bytes[4096];
	size_t n = atoi(w[2]);
	hold(actor_end(w[1])->in, bytes, read(actor_end(w[1])->fd, bytes, n < sizeof(bytes) ? n : sizeof(bytes)));
}

/* all X: until the end */
static void do_all(char **w)
{
	char bytes[4096];
	ssize_t n;
	while ((n = read(actor_end(w[1])->fd, bytes, sizeof(bytes))) > 0)
		hold(actor_end(w[1])->in, bytes, n);
	if (n < 0)
		actor_fail(w[1]);
}

static void do_pread(char **w)
{
	char bytes[4096];
	hold(actor_end(w[1])->in, bytes, pread(actor_end(w[1])->fd, bytes, sizeof(bytes), 0));
}

static void do_readv(char **w)
{
	char bytes[4096];
	struct iovec iov[2] = {{bytes, 100}, {bytes + 100, sizeof(bytes) - 100}};
	hold(actor_end(w[1])->in, bytes, readv(actor_end(w[1])->fd, iov, 2));
}

/* The bytes that are put out: a line of this program's, then what was received. */
static size_t output(char *bytes)
{
	int n = sprintf(bytes, "from %s\n", actor_step);
	memcpy(bytes + n, held, held_len);
	return n + held_len;
}

static void do_write(char **w)
{
	char bytes[HELD + 128];
	size_t n = output(bytes);
	actor_truth("put %s", actor_end(w[1])->out);
	if (write(actor_end(w[1])->fd, bytes, n) != (ssize_t)n)
		actor_fail(w[1]);
}

static void do_pwrite(char **w)
{
	char bytes[HELD + 128];
	size_t n = output(bytes);
	actor_truth("put %s", actor_end(w[1])->out);
	if (pwrite(actor_end(w[1])->fd, bytes, n, 0) != (ssize_t)n)
		actor_fail(w[1]);
}

/* few X: some bytes of the program's own at the place where it is */
static void do_few(char **w)
{
	actor_truth("put %s", actor_end(w[1])->out);
	if (write(actor_end(w[1])->fd, "few\n", 4) != 4)
		actor_fail(w[1]);
}

static void do_rewind(char **w)
{
	if (lseek(actor_end(w[1])->fd, 0, SEEK_SET))
		actor_fail(w[1]);
}

static void do_empty(char **w)
{
	if (ftruncate(actor_end(w[1])->fd, 0))
		actor_fail(w[1]);
	actor_truth("new %s", actor_end(w[1])->in);
}

static void do_truncate(char **w)
{
	struct stat st;
	if (stat(w[1], &st) || truncate(w[1], 0))
		actor_fail(w[1]);
	actor_truth("new f:%llu", (unsigned long long)st.st_ino);
}

static void do_map_r(char **w)
{
	struct stat st;
	struct end *e = actor_end(w[1]);
	if (fstat(e->fd, &st))
		actor_fail(w[1]);
	map_len = st.st_size;
	map = mmap(NULL, map_len, PROT_READ, MAP_PRIVATE, e->fd, 0);
	if (map == MAP_FAILED)
		actor_fail("mmap");
}

/* touch X: the mapping of X is read */
static void do_touch(char **w)
{
	hold(actor_end(w[1])->in, map, map_len < HELD ? map_len : HELD);
}

static void do_map_w(char **w)
{
	char bytes[HELD + 128];
	size_t n = output(bytes);
	struct end *e = actor_end(w[1]);
	actor_truth("put %s", e->out);
	if (ftruncate(e->fd, n))
		actor_fail(w[1]);
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
	if (p == MAP_FAILED)
		actor_fail("mmap");
	memcpy(p, bytes, n);
	munmap(p, n);
}

/* What the kernel moves was received by who had it moved, and goes out again with all that this one had
 * (doc/oracle.md). */
static void moved(char **w, ssize_t n)
{
	if (n <= 0)
		actor_fail(w[0]);
	actor_truth("got %s", actor_end(w[1])->in);
	actor_truth("put %s", actor_end(w[2])->out);
}

static void do_sendfile(char **w)
{
	moved(w, sendfile(actor_end(w[2])->fd, actor_end(w[1])->fd, NULL, 65536));
}

static void do_copy_range(char **w)
{
	ssize_t n = copy_file_range(actor_end(w[1])->fd, NULL, actor_end(w[2])->fd, NULL, 65536, 0);
	if (n < 0 && (errno == ENOSYS || errno == EOPNOTSUPP || errno == EXDEV))
		_exit(77);
	moved(w, n);
}

static void do_splice(char **w)
{
	moved(w, splice(actor_end(w[1])->fd, NULL, actor_end(w[2])->fd, NULL, 65536, 0));
}

static void do_pipe(char **w)
{
	int p[2];
	if (pipe2(p, O_CLOEXEC))
		actor_fail("pipe");
	actor_set(w[1], p[0]);
	actor_set(w[2], p[1]);
}

static void do_rename(char **w)
{
	if (rename(w[1], w[2]))
		actor_fail(w[1]);
	actor_truth("rename %s %s", w[1], w[2]);
}

/* What changes no bytes and is no truth. */
enum around { FIFO, FOLDER, SYMLINK, MODE, OLD, NOW, XATTR, LOOK };

static int around(char **w)
{
	static const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
	struct stat st;
	switch (how) {
	case FIFO:
		return mkfifo(w[1], 0666);
	case FOLDER:
		return mkdir(w[1], 0777);
	case SYMLINK:
		return symlink(w[1], w[2]);
	case MODE:
		return chmod(w[1], 0640);
	case OLD:
		return utimensat(AT_FDCWD, w[1], old, 0);
	case NOW:
		return utimensat(AT_FDCWD, w[1], NULL, 0);
	case XATTR:
		return setxattr(w[1], "user.oracle", "x", 1, 0);
	case LOOK:
		return stat(w[1], &st) || access(w[1], R_OK) ? -1 : 0;
	}
	return -1;
}

static void do_around(char **w)
{
	if (!around(w))
		return;
	if (how == XATTR && (errno == EOPNOTSUPP || errno == EPERM))
		_exit(77);
	actor_fail(w[1]);
}

/* rename-folder A B C D: the file C in folder A is D then */
static void do_rename_folder(char **w)
{
	if (rename(w[1], w[2]))
		actor_fail(w[1]);
	actor_truth("rename %s %s", w[3], w[4]);
}

static void do_link(char **w)
{
	if (link(w[1], w[2]))
		actor_fail(w[1]);
	actor_truth("link %s %s", w[1], w[2]);
}

static void do_unlink(char **w)
{
	if (unlink(w[1]))
		actor_fail(w[1]);
	actor_truth("unlink %s", w[1]);
}

/* Opens that must fail: as a folder, as a new file, below a file, a missing one. */
static void do_try(char **w)
{
	char below[4096];
	snprintf(below, sizeof(below), "%s/x", w[1]);
	if (open(w[1], O_RDONLY | O_DIRECTORY) >= 0 || open(w[1], O_WRONLY | O_CREAT | O_EXCL, 0666) >= 0 ||
	    open(below, O_RDONLY) >= 0 || open("missing", O_RDONLY) >= 0)
		actor_fail("an open that must fail");
}

static void do_shared(char **w)
{
	(void)w;
	shared = mmap(NULL, HELD + 128, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		actor_fail("mmap");
	actor_truth("at m:%s shared%s", actor_step, actor_step);
}

static void do_shared_put(char **w)
{
	(void)w;
	actor_truth("put m:%s", actor_step);
	output(shared);
}

static void do_shared_got(char **w)
{
	(void)w;
	hold("m:x", "", 0);
	actor_truth("got m:%s", actor_step);
	held_len += snprintf(held + held_len, HELD - held_len, "%s", shared);
	if (held_len >= HELD)
		held_len = HELD - 1;
}

static void run(char **w);

static void do_fork(char **w)
{
	int go[2];
	char byte = 0;
	if (pipe2(go, O_CLOEXEC))
		actor_fail("pipe");
	pid_t pid = fork();
	if (pid < 0)
		actor_fail("fork");
	if (!pid) { /* the parent says first that there is a child */
		close(go[1]);
		if (read(go[0], &byte, 1) < 0)
			actor_fail("read");
		close(go[0]);
		run(w + 2);
		_exit(0);
	}
	actor_truth("fork %d.%d", (int)pid, image);
	close(go[0]);
	close(go[1]);
}

static void do_wait(char **w)
{
	int status;
	(void)w;
	while (wait(&status) > 0)
		if (status)
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

/* exec 0|1 { ... }: this program again with that script; 1: with what was received in its environment */
static void do_exec(char **w)
{
	static char script[65536];
	char number[16];
	size_t n = 0;
	for (char **x = w + 3, depth = 1; *x; x++) {
		depth += !strcmp(*x, "{") - !strcmp(*x, "}");
		if (!depth)
			break;
		n += snprintf(script + n, sizeof(script) - n, "%s ", *x);
	}
	snprintf(number, sizeof(number), "%d", image + 1);
	setenv("ORACLE_IMAGE", number, 1);
	if (w[1][0] == '1') {
		held[held_len < HELD ? held_len : HELD - 1] = 0;
		setenv("ORACLE_HELD", held, 1);
	}
	actor_truth("exec %s", w[1]);
	execl("/proc/self/exe", "actor", actor_step, script, (char *)NULL);
	actor_fail("exec");
}

static void *thread_main(void *w)
{
	run(w);
	return NULL;
}

static void do_thread(char **w)
{
	if (pthread_create(&thread, NULL, thread_main, w + 2))
		actor_fail("thread");
}

static void do_join(char **w)
{
	(void)w;
	if (pthread_join(thread, NULL))
		actor_fail("join");
}

static const struct {
	const char *name;
	int words; /* behind the command; a block is not among them */
	void (*function)(char **w);
	int how;
} commands[] = {
    {"open-r", 2, do_open, O_RDONLY},
    {"open-w", 2, do_open, O_WRONLY | O_CREAT | O_TRUNC},
    {"open-u", 2, do_open, O_RDWR | O_CREAT},
    {"open-a", 2, do_open, O_WRONLY | O_CREAT | O_APPEND},
    {"open-alias", 2, do_open_alias},
    {"open-tmp", 2, do_open_tmp},
    {"name", 2, do_name},
    {"fd", 2, do_fd},
    {"close", 1, do_close},
    {"dup", 2, do_dup},
    {"keep", 2, do_keep},
    {"read", 2, do_read},
    {"all", 1, do_all},
    {"pread", 1, do_pread},
    {"readv", 1, do_readv},
    {"write", 1, do_write},
    {"pwrite", 1, do_pwrite},
    {"few", 1, do_few},
    {"rewind", 1, do_rewind},
    {"empty", 1, do_empty},
    {"truncate", 1, do_truncate},
    {"map-r", 1, do_map_r},
    {"touch", 1, do_touch},
    {"map-w", 1, do_map_w},
    {"sendfile", 2, do_sendfile},
    {"copy-range", 2, do_copy_range},
    {"splice", 2, do_splice},
    {"pipe", 2, do_pipe},
    {"sockets", 2, actor_sockets},
    {"listen", 2, actor_listen},
    {"accept", 2, actor_accept},
    {"connect", 2, actor_connect},
    {"fin", 1, actor_fin},
    {"send-fd", 2, actor_send_fd},
    {"receive-fd", 2, actor_receive_fd},
    {"fifo", 1, do_around, FIFO},
    {"rename", 2, do_rename},
    {"rename-folder", 4, do_rename_folder},
    {"link", 2, do_link},
    {"symlink", 2, do_around, SYMLINK},
    {"unlink", 1, do_unlink},
    {"mkdir", 1, do_around, FOLDER},
    {"chmod", 1, do_around, MODE},
    {"utime", 1, do_around, OLD},
    {"now", 1, do_around, NOW},
    {"xattr", 1, do_around, XATTR},
    {"look", 1, do_around, LOOK},
    {"try", 1, do_try},
    {"try-connect", 1, actor_try_connect},
    {"shared", 0, do_shared},
    {"shared-put", 0, do_shared_put},
    {"shared-got", 0, do_shared_got},
    {"fork", 0, do_fork},
    {"wait", 0, do_wait},
    {"exec", 1, do_exec},
    {"thread", 0, do_thread},
    {"join", 0, do_join},
};

/* The word behind the block that begins at w. */
static char **behind(char **w)
{
	int depth = 0;
	do {
		if (!*w)
			actor_fail("a block without end");
		depth += !strcmp(*w, "{") - !strcmp(*w, "}");
		w++;
	} while (depth);
	return w;
}

/* The commands from w to the end of its block. */
static void run(char **w)
{
	while (*w && strcmp(*w, "}") != 0) {
		size_t i = 0;
		while (i < sizeof(commands) / sizeof(commands[0]) && strcmp(commands[i].name, *w) != 0)
			i++;
		if (i == sizeof(commands) / sizeof(commands[0])) {
			errno = EINVAL;
			actor_fail(*w);
		}
		how = commands[i].how;
		commands[i].function(w);
		w += 1 + commands[i].words;
		if (*w && !strcmp(*w, "{"))
			w = behind(w);
	}
}

int main(int argc, char **argv)
{
	static char script[65536];
	size_t n = 0;
	if (argc != 3) {
		fputs("usage: actor STEP SCRIPT\n", stderr);
		return 2;
	}
	actor_step = argv[1];
	const char *number = getenv("ORACLE_IMAGE"), *given = getenv("ORACLE_HELD");
	image = number ? atoi(number) : 1;
	if (given) {
		held_len = strlen(given);
		memcpy(held, given, held_len < HELD ? held_len : HELD);
	}
	unsetenv("ORACLE_HELD");
	snprintf(script, sizeof(script), "%s", argv[2]);
	for (char *save, *word = strtok_r(script, " \n", &save); word && n < WORDS - 1; word = strtok_r(NULL, " \n", &save))
		words[n++] = word;
	run(words);
	return 0;
}

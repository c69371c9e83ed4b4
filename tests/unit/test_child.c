/* Programs that are started, and what they print. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SHELL(script) ((char *[]){(char *)"sh", (char *)"-c", (char *)(script), NULL})

static void prints(const char *script, size_t most, bool cut, int status, const char *want)
{
	struct buf b = {0};
	struct child c = {.argv = SHELL(script), .most = most, .cut = cut};
	buf_char(&b, '>');
	assert_int_equal(child_read(&c, &b), status);
	assert_int_equal(b.p[0], '>');
	assert_string_equal(buf_cstr(&b) + 1, want);
	buf_release(&b);
}

/* Who has ended gets no signal, whether it was waited for or not. */
static void signals(void **state)
{
	struct child c = {.argv = SHELL("exec sleep 100")};
	siginfo_t si;
	pid_t pid;
	(void)state;
	assert_int_equal(child_start(&c, &pid), 0);
	assert_int_equal(child_signal(pid, 0), 0);
	assert_int_equal(child_signal(pid, SIGTERM), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	assert_int_equal(child_signal(pid, 0), -ESRCH);
	assert_true(WIFSIGNALED(child_wait(pid)));
	assert_int_equal(child_signal(pid, 0), -ESRCH);
	/* Another one's child: not ours to signal. */
	assert_int_equal(child_signal(getppid(), 0), -ESRCH);
}

static void what_it_prints(void **state)
{
	(void)state;
	prints("echo out; echo err >&2", 100, false, 0, "out\n");
	prints("echo out; exit 3", 100, false, 3 << 8, "out\n");
	prints("kill -9 $$", 100, false, SIGKILL, "");
	prints("cat", 100, false, 0, ""); /* its standard input is empty */
	struct buf b = {0};
	struct child c = {.argv = SHELL("echo out; echo err >&2"), .err = CHILD_PRINTS, .most = 100};
	assert_int_equal(child_read(&c, &b), 0);
	assert_string_equal(buf_cstr(&b), "out\nerr\n");
	buf_release(&b);
}

/* More than it may print, and more than a pipe has room for. */
static void bounds(void **state)
{
	(void)state;
	prints("echo 12345; head -c 200000 /dev/zero; exit 7", 3, false, 7 << 8, "123");
	prints("echo 12345; exec cat /dev/zero", 3, true, 0, "123");
	prints("printf 123", 3, true, 0, "123");
	struct buf b = {0};
	struct child c = {.argv = SHELL("echo first; sleep 1000"), .most = 100, .limit_ms = 300};
	assert_int_equal(child_run(&c), -ETIMEDOUT);
	struct child quick = {.argv = SHELL("exit 3"), .limit_ms = 100000};
	assert_int_equal(child_run(&quick), 3 << 8);
	assert_int_equal(child_read(&c, &b), -ETIMEDOUT);
	buf_release(&b);
}

static void what_is_not_there(void **state)
{
	(void)state;
	struct buf b = {0};
	char name[] = "stemma-no-such-program", *argv[] = {name, NULL};
	struct child c = {.argv = argv, .most = 100};
	pid_t pid = 7;
	assert_int_equal(child_start(&c, &pid), -ENOENT);
	assert_int_equal(pid, -1);
	assert_int_equal(child_read(&c, &b), -ENOENT);
	c.path = "/";
	assert_int_equal(child_run(&c), -EACCES);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left behind */
	assert_int_equal(errno, ECHILD);
	buf_release(&b);
}

/* Only what is not close-on-exec goes along, and no signal is blocked or ignored. */
static void what_it_gets(void **state)
{
	(void)state;
	struct buf b = {0};
	sigset_t all, before;
	int closed = open("/dev/null", O_RDONLY | O_CLOEXEC), kept = open("/dev/null", O_RDONLY);
	char script[200];
	snprintf(
	    script, sizeof(script),
	    "for i in 3 4 5 6 7 8 9 %d %d; do test -e /proc/$$/fd/$i && echo $i; done; exec grep SigBlk /proc/self/status",
	    closed, kept);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	signal(SIGPIPE, SIG_IGN);
	struct child c = {.argv = SHELL(script), .most = 1000};
	assert_int_equal(child_read(&c, &b), 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_non_null(strstr(buf_cstr(&b), "SigBlk:\t0000000000000000\n"));
	char number[16];
	snprintf(number, sizeof(number), "%d\n", closed);
	assert_null(strstr(buf_cstr(&b), number));
	snprintf(number, sizeof(number), "%d\n", kept);
	assert_non_null(strstr(buf_cstr(&b), number));
	buf_release(&b);
	c = (struct child){.argv = SHELL("kill -PIPE $$")};
	assert_int_equal(child_run(&c), SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(closed);
	close(kept);
}

static int refuse(void *arg)
{
	return *(int *)arg;
}

static int say_word(void *arg)
{
	return setenv("WORD", arg, 1) == 0 && write(STDOUT_FILENO, "before\n", 7) == 7 ? 0 : -EIO;
}

static void before_it_starts(void **state)
{
	(void)state;
	struct buf b = {0};
	char word[] = "a word";
	struct child c = {.argv = SHELL("echo $WORD"), .before = say_word, .arg = word, .most = 100};
	assert_int_equal(child_read(&c, &b), 0);
	assert_string_equal(buf_cstr(&b), "before\na word\n");
	assert_null(getenv("WORD"));
	int rc = -ENOTSUP;
	c = (struct child){.argv = SHELL("exit 0"), .before = refuse, .arg = &rc};
	assert_int_equal(child_run(&c), -ENOTSUP);
	rc = 1; /* not started, without a reason */
	assert_int_equal(child_run(&c), 127 << 8);
	c.argv = NULL;
	rc = 5;
	assert_int_equal(child_run(&c), 5 << 8);
	buf_release(&b);
}

/* Streams of this process that are closed or stand in each other's place. */
static void closed_streams(void **state)
{
	(void)state;
	struct buf b = {0};
	int in = fcntl(0, F_DUPFD_CLOEXEC, 10), ends[2];
	char text[8] = "";
	close(0);
	struct child c = {.argv = SHELL("cat; echo end"), .most = 100};
	assert_int_equal(child_read(&c, &b), 0);
	assert_string_equal(buf_cstr(&b), "end\n");
	buf_release(&b);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0); /* ends[0] is 0 */
	assert_int_equal(write(ends[1], "text", 4), 4);
	c = (struct child){.argv = SHELL("read x; echo $x"), .in = CHILD_SAME, .most = 100};
	close(ends[1]);
	assert_int_equal(child_read(&c, &b), 0);
	assert_string_equal(buf_cstr(&b), "text\n");
	buf_release(&b);
	dup2(in, 0);
	close(in);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	c = (struct child){.argv = SHELL("echo a >&2"), .out = CHILD_SAME, .err = ends[1]};
	assert_int_equal(child_run(&c), 0);
	assert_int_equal(read(ends[0], text, sizeof(text)), 2);
	assert_string_equal(text, "a\n");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(signals),           cmocka_unit_test(what_it_prints), cmocka_unit_test(bounds),
	    cmocka_unit_test(what_is_not_there), cmocka_unit_test(what_it_gets),   cmocka_unit_test(before_it_starts),
	    cmocka_unit_test(closed_streams),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

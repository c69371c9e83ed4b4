#!/bin/sh
# What functions of the library keep between calls: whoever changes it reaches who reads it. Each program lets its first
# argument decide about one such state, and tells what it finds; that the argument reaches the output is known.
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm

# How the slice of "$2" (n is the number that argument 1 is, s its text) sees argument 1 at each output of line 99: $1 is may or cannot.
sees()
{
	cat >p.c <<-PROGRAM
		#define _GNU_SOURCE
		#include <errno.h>
		#include <fcntl.h>
		#include <fenv.h>
		#include <getopt.h>
		#include <locale.h>
		#include <malloc.h>
		#include <math.h>
		#include <netinet/in.h>
		#include <poll.h>
		#include <pthread.h>
		#include <search.h>
		#include <signal.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/file.h>
		#include <sys/mman.h>
		#include <sys/resource.h>
		#include <sys/select.h>
		#include <sys/socket.h>
		#include <sys/stat.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		#include <wchar.h>
		extern char **environ;
		static char b[100];
		static int z, fd, ends[2];
		static pthread_key_t key;
		static void told(void *p) { z = *(int *)p; }
		static void *thread(void *p) { pthread_setspecific(key, p); return NULL; }
		static void at_fork(void)
		{
			#line 99
			printf("%d\n", z);
			#line 200
		}
		int main(int argc, char **argv)
		{
			char *s = argv[1];
			int n = atoi(s);
			(void)argc;
			$2;
			#line 99
			$3;
			#line 300
			return 0;
		}
	PROGRAM
	"$CLANG" -w -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c p.c -o p.bc || return 1
	cmd 0 slice --json p.bc || return 1
	jq -e --arg side "$1" '([.inputs[] | select(.kind == "argument" and .name == "1") | .id]) as $one
		| [.outputs[] | select(.line == 99) | select(any(.[$side][]; . as $i | $one | index($i)))] | length > 0' "$out" >/dev/null
}

# The title, the statements, and the output.
reaches()
{
	sees may "$2" "$3"
	check "$1"
}

sees cannot ';' 'puts("word")' && ! sees may ';' 'puts("word")'
check "without a state nothing is reached"

TELL='printf("%d\n", z)'
reaches "setenv, localtime" 'setenv("TZ", s, 1)' 'time_t t = 0; printf("%d\n", localtime(&t)->tm_hour)'
reaches "setenv, strftime" 'setenv("TZ", s, 1); struct tm tm = {0}' 'strftime(b, 40, "%Z", &tm); puts(b)'
reaches "setenv, ctime" 'setenv("TZ", s, 1); time_t t = 0' 'fputs(ctime(&t), stdout)'
reaches "setenv, setlocale" 'setenv("LC_ALL", s, 1)' 'puts(setlocale(LC_ALL, "") ? "y" : "n")'
reaches "setenv, getopt" 'if (n) setenv("POSIXLY_CORRECT", "1", 1); char *a[] = {"p", "x", "-a", NULL}' 'printf("%d\n", getopt(3, a, "a"))'
reaches "setenv, execlp" 'setenv("PATH", s, 1); execlp("true", "true", NULL)' 'puts("no")'
reaches "a pointer to a new environment" 'char *e[] = {s, NULL}; environ = e' 'puts(getenv("HOME") ? "y" : "n")'
reaches "what getenv gave is written over" 'getenv("A")[0] = *s' 'puts(getenv("A"))'
reaches "clearenv" 'if (n) clearenv()' 'puts(getenv("A") ? "y" : "n")'

reaches "the number of the next descriptor" 'if (n) open("/dev/null", 0)' 'printf("%d\n", open("/dev/null", 0))'
reaches "a closed descriptor is opened again" 'if (n) close(0); open("/dev/null", 0)' 'printf("%d\n", (int)read(0, b, 8))'
reaches "standard output is closed and opened" 'close(1); open("o", O_RDWR | O_CREAT, 0600); puts(s); fflush(stdout); fd = open("o", 0); read(fd, b, 8)' 'write(2, b, 8)'
reaches "the number that dup gives" 'if (n) close(2)' 'printf("%d\n", dup(1))'
reaches "a name from the argument behind a closed descriptor" 'close(0); open(s, 0); scanf("%8s", b)' 'puts(b)'
reaches "the arguments as a file" 'fd = open("/proc/self/cmdline", 0); read(fd, b, 90)' 'write(1, b, 90)'
reaches "the same, from their folder" 'chdir("/proc/self"); fd = open("cmdline", 0); read(fd, b, 90)' 'write(1, b, 90)'
reaches "the memory as a file is read" 'z = n; int y; fd = open("/proc/self/mem", 0); pread(fd, &y, 4, (long)&z)' 'printf("%d\n", y)'
reaches "the memory as a file is written" 'fd = open("/proc/self/mem", O_RDWR); pwrite(fd, &n, 4, (long)&z)' "$TELL"

reaches "write to a closed descriptor" 'fd = open("/dev/null", 1); if (n) close(fd)' 'printf("%d\n", (int)write(fd, "x", 1))'
reaches "puts to a closed stream" 'if (n) close(1)' 'fprintf(stderr, "%d\n", puts("x"))'
reaches "locks" 'int a = open("l", O_RDWR); int c = open("l", O_RDWR); if (n) flock(a, LOCK_EX)' 'printf("%d\n", flock(c, LOCK_EX | LOCK_NB))'
reaches "the length of a file" 'fd = open("l", O_RDWR); posix_fallocate(fd, 0, n)' 'printf("%ld\n", (long)lseek(fd, 0, SEEK_END))'
reaches "flags of a descriptor" 'fd = open("/dev/null", 1); fcntl(fd, F_SETFL, n ? O_APPEND : 0)' 'printf("%d\n", fcntl(fd, F_GETFL))'
reaches "options of a socket" 'socklen_t l = 4; fd = socket(2, 1, 0); setsockopt(fd, 1, 9, &n, 4); getsockopt(fd, 1, 9, &z, &l)' "$TELL"
reaches "a full pipe" 'static char big[70000]; pipe(ends); fcntl(ends[1], F_SETFL, O_NONBLOCK); write(ends[1], big, n)' 'printf("%d\n", (int)write(ends[1], big, 70000))'
reaches "nobody reads the pipe" 'pipe(ends); if (n) close(ends[0]); write(ends[1], "x", 1)' 'puts("alive")'
reaches "something waits in a pipe" 'pipe(ends); if (n) write(ends[1], "x", 1); struct pollfd q = {ends[0], POLLIN, 0}' 'printf("%d\n", poll(&q, 1, 0))'

reaches "madvise" 'char *p = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); *p = 1; if (n) madvise(p, 4096, MADV_DONTNEED)' 'printf("%d\n", *p)'
reaches "mmap over memory" 'char *p = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); *p = 1; if (n) mmap(p, 4096, 3, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)' 'printf("%d\n", *p)'
reaches "malloc_usable_size" 'char *p = malloc(n)' 'printf("%zu\n", malloc_usable_size(p))'
reaches "a distance on the heap" 'char *p = malloc(n); char *q = malloc(8)' 'printf("%ld\n", (long)((uintptr_t)q - (uintptr_t)p))'
reaches "an address is printed" 'malloc(n); char *q = malloc(8)' 'printf("%p\n", q)'
reaches "the bytes of an address are written" 'malloc(n); char *q = malloc(8)' 'write(1, &q, sizeof(q))'
reaches "no memory for so much" 'char *p = malloc(atol(s))' 'puts(p ? "y" : "n")'

reaches "who the process is" 'seteuid(n)' 'printf("%d\n", geteuid())'
reaches "nice" 'nice(n)' 'printf("%d\n", nice(0))'
reaches "limits" 'struct rlimit r = {n, 100}; setrlimit(RLIMIT_NOFILE, &r); getrlimit(RLIMIT_NOFILE, &r)' 'printf("%d\n", (int)r.rlim_cur)'
reaches "umask" 'umask(n)' 'printf("%o\n", umask(0))'
reaches "alarm" 'alarm(n + 100)' 'printf("%u\n", alarm(0))'
reaches "signal mask" 'sigset_t m; sigemptyset(&m); sigaddset(&m, n); sigprocmask(SIG_BLOCK, &m, NULL); sigprocmask(SIG_BLOCK, NULL, &m)' 'printf("%d\n", sigismember(&m, 10))'
reaches "destructors of threads" 'pthread_t t; pthread_key_create(&key, told); pthread_create(&t, NULL, thread, &n); pthread_join(t, NULL)' "$TELL"
reaches "fork writes twice what is not written yet" '' 'printf("word\n"); if (n) fork()'
reaches "what fork calls" 'pthread_atfork(NULL, NULL, at_fork); z = n; if (!fork()) exit(0)' ''
reaches "a child that is ended" 'int w; pid_t p = fork(); if (!p) { pause(); _exit(0); } kill(p, n); wait(&w)' 'z = WTERMSIG(w); dprintf(1, "%d\n", z)'
reaches "a child that aborts" 'int w; if (!fork()) { if (n) abort(); _exit(0); } wait(&w)' 'dprintf(1, "%d\n", w)'
reaches "whether a descriptor is open, by its name" 'struct stat st; if (n) dup2(1, 9)' 'printf("%d\n", stat("/proc/self/fd/9", &st))'
reaches "bytes or wide characters" 'if (n) putwchar(L'"'a'"')' 'printf("x\n")'

reaches "rounding of a division" 'volatile double x = 1; if (n) fesetround(FE_UPWARD)' 'printf("%.20f\n", x / 3)'
reaches "rounding by printf" 'if (n) fesetround(FE_UPWARD)' 'printf("%.1f\n", 0.25)'
reaches "rounding by snprintf" 'if (n) fesetround(FE_UPWARD); snprintf(b, 9, "%.1f", 0.25)' 'puts(b)'
reaches "rounding by strtod" 'if (n) fesetround(FE_UPWARD)' 'printf("%.17g\n", strtod("0.1", NULL))'
reaches "flags of a root" 'volatile double x = sqrt(n)' 'printf("%d\n", fetestexcept(FE_INVALID))'
reaches "strtok" 'char *t = strdup("a,b"); strtok(t, ","); if (n) strtok(b, ",")' 'puts(strtok(NULL, ",") ? "y" : "n")'
reaches "random numbers" 'srand(n)' 'printf("%d\n", rand())'
reaches "one buffer of two functions of time" 'time_t t = 0, u = n; struct tm *p = gmtime(&t); ctime(&u)' 'printf("%d\n", p->tm_min)'
reaches "hsearch" 'hcreate(9); ENTRY e = {"a", s}; hsearch(e, ENTER); ENTRY q = {"a", NULL}' 'puts(hsearch(q, FIND)->data)'

finish

#!/bin/sh
# What functions of the library keep between calls: whoever changes it reaches who reads it. Each program lets its first
# argument decide about one such state, and tells what it finds; that the argument reaches the output is known.
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm

# How the slice of "$2" (n is the number that argument 1 is, s its text) sees argument 1 at each output of line 99: $1 is may or cannot; $4 is functions. $4: functions.
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
		#include <semaphore.h>
		#include <signal.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/eventfd.h>
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
		#line 99
		${4-}
		#line 250
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

# The title, the statements, the output, and functions (which are of line 99, too).
reaches()
{
	sees may "$2" "$3" "${4-}"
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

# ---- what calls back, and how often ----

COUNTS='static int calls, row[8]; static int compare(const void *x, const void *y) { calls++; return *(const int *)x - *(const int *)y; }'
reaches "how many elements qsort has" 'qsort(row, n, 4, say)' '' 'static int row[8]; static int say(const void *x, const void *y) { (void)x; (void)y; puts("called"); return 0; }'
reaches "how often qsort compares" 'for (int i = 0; i < 8; i++) row[i] = s[i]; qsort(row, 8, 4, compare)' 'printf("%d\n", calls)' "$COUNTS"
reaches "how often bsearch compares" 'bsearch(&n, row, 8, 4, compare)' 'printf("%d\n", calls)' "$COUNTS"
reaches "what lfind looks for" 'size_t m = 8; lfind(&n, row, &m, 4, compare)' 'printf("%d\n", calls)' "$COUNTS"
reaches "how many nodes a tree has" 'void *r = NULL; int one = 1; tsearch(&one, &r, compare); tsearch(&n, &r, compare); twalk(r, node)' '' "$COUNTS"' static void node(const void *p, VISIT v, int d) { (void)p; (void)v; (void)d; puts("node"); }'
reaches "whether a thread has something to destroy" 'pthread_t t; pthread_key_create(&key, gone); pthread_create(&t, NULL, some, s); pthread_join(t, NULL)' '' 'static void gone(void *p) { (void)p; puts("gone"); } static void *some(void *p) { if (atoi(p)) pthread_setspecific(key, p); return NULL; }'

# ---- pointers in parts ----

TWO='static char A[9] = "a", B[9]; struct pair { char *name; int n; }; static struct pair x = {A, 1}; static void copy(void *to, const void *from, unsigned k) { unsigned char *t = to; const unsigned char *f = from; while (k--) *t++ = *f++; }'
reaches "a pointer is copied by its bytes" 'struct pair y = {B, 2}; snprintf(B, 9, "%s", s); copy(&x, &y, sizeof(x))' 'puts(x.name)' "$TWO"
reaches "the same by numbers of 16 bits" 'char *p = A, *q = B; volatile uint16_t *t = (void *)&p, *f = (void *)&q; for (int i = 0; i < 4; i++) t[i] = f[i]; snprintf(B, 9, "%s", s)' 'puts(p)' "$TWO"
reaches "the same by a fraction" 'union { char *p; double d; } x = {A}, y = {B}; volatile double d = y.d; x.d = d; snprintf(B, 9, "%s", s)' 'puts(x.p)' "$TWO"
reaches "a pointer in halves" 'snprintf(B, 9, "%s", s); uint32_t low = (uintptr_t)B, high = (uintptr_t)B >> 32; char *p = A; if (argc) p = (char *)((uintptr_t)high << 32 | low)' 'puts(p)' "$TWO"
reaches "a constant address" 'int *p = mmap((void *)0x10000000, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); *(volatile int *)0x10000000 = n' 'printf("%d\n", *p)'
reaches "a pointer through a file" 'char *p = A, *q = B; FILE *f = fopen("p", "w+"); fwrite(&q, sizeof(q), 1, f); rewind(f); fread(&p, sizeof(p), 1, f); strcpy(B, s)' 'puts(p)' "$TWO"
reaches "a pointer through a pipe" 'char *p = A, *q = B; pipe(ends); write(ends[1], &q, sizeof(q)); read(ends[0], &p, sizeof(p)); strcpy(B, s)' 'puts(p)' "$TWO"
reaches "the bytes of a pointer are swapped" 'char *p = A, *q = B, t[8]; swab(&q, t, 8); swab(t, &p, 8); strcpy(B, s)' 'puts(p)' "$TWO"
reaches "memset copies a byte" 'char *p = A, *q = B; for (int i = 0; i < 8; i++) memset((char *)&p + i, ((char *)&q)[i], 1); strcpy(B, s)' 'puts(p)' "$TWO"

# ---- signals ----

reaches "a signal is ignored" 'if (n) signal(SIGTERM, SIG_IGN); raise(SIGTERM)' 'puts("alive")'
reaches "a signal is ignored by sigaction" 'struct sigaction a = {0}; a.sa_handler = n ? SIG_IGN : SIG_DFL; sigaction(SIGTERM, &a, NULL); kill(getpid(), SIGTERM)' 'puts("alive")'
reaches "which handler a signal has" 'if (n) signal(SIGUSR1, one); else signal(SIGUSR1, SIG_IGN); raise(SIGUSR1)' '' 'static void one(int k) { (void)k; puts("one"); }'
reaches "a blocked signal" 'sigset_t m; sigemptyset(&m); if (n) sigaddset(&m, SIGTERM); sigprocmask(SIG_BLOCK, &m, NULL); raise(SIGTERM)' 'puts("alive")'

# ---- functions that check their room ----

CHECKED='char *__strcpy_chk(char *, const char *, size_t), *__stpcpy_chk(char *, const char *, size_t), *__strcat_chk(char *, const char *, size_t); int __sprintf_chk(char *, int, size_t, const char *, ...);'
reaches "whether a text has room" '__strcpy_chk(b, s, 4)' 'puts("fits")' "$CHECKED"
reaches "where the copy ends" 'char *e = __stpcpy_chk(b, s, 100)' 'printf("%d\n", (int)(e - b))' "$CHECKED"
reaches "whether a text behind another has room" 'snprintf(b, 50, "%s", s); __strcat_chk(b, "abc", 8)' 'puts("fits")' "$CHECKED"
reaches "whether a formatted text has room" '__sprintf_chk(b, 1, 4, "%s", s)' 'puts("fits")' "$CHECKED"
reaches "where a copy of bytes ends" 'char *e = mempcpy(b, s, strlen(s))' 'printf("%d\n", (int)(e - b))'

# ---- where in a file it is ----

reaches "ftell of standard output" 'fputs(s, stdout)' 'fprintf(stderr, "%ld\n", ftell(stdout))'
reaches "fgetpos of standard output" 'fpos_t p; fputs(s, stdout); fgetpos(stdout, &p)' 'fwrite(&p, 1, 8, stderr)'
reaches "lseek of standard output" 'write(1, s, strlen(s))' 'dprintf(2, "%ld\n", (long)lseek(1, 0, SEEK_CUR))'
reaches "the same, by its other name" 'fputs(s, stdout); fflush(stdout)' 'dprintf(2, "%ld\n", (long)lseek(1, 0, SEEK_CUR))'
reaches "standard output is read again" 'fputs(s, stdout); fflush(stdout); lseek(1, 0, SEEK_SET); int k = read(1, b, 9)' 'write(2, b, k)'

# ---- programs that are started ----

WRITES='FILE *f = fopen("data", "w"); fputs(s, f); fclose(f)'
reaches "system reads what was written" "$WRITES" 'system("cat data")'
reaches "exec reads what was written" "$WRITES" 'execlp("cat", "cat", "data", NULL)'
reaches "popen reads what was written" "$WRITES; FILE *p = popen(\"cat data\", \"r\"); fgets(b, 9, p)" 'puts(b)'
reaches "a program that is started writes what popen gives it" 'FILE *p = popen("cat >copy", "w"); fputs(s, p); pclose(p); FILE *g = fopen("copy", "r"); fgets(b, 9, g)' 'puts(b)'
reaches "how a started program ends" "$WRITES" 'printf("%d\n", system("grep -q x data"))'

# ---- what is waited for ----

reaches "a semaphore" 'pthread_t t; sem_init(&gate, 0, 0); pthread_create(&t, NULL, behind, NULL); if (n) sem_post(&gate); sleep(1); exit(0)' '' 'static sem_t gate; static void *behind(void *p) { sem_wait(&gate); puts("posted"); return p; }'
reaches "a lock" 'pthread_t t; if (n) pthread_mutex_lock(&lock); pthread_create(&t, NULL, behind, NULL); sleep(1); exit(0)' '' 'static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static void *behind(void *p) { pthread_mutex_lock(&lock); puts("mine"); return p; }'
reaches "a condition" 'pthread_t t; pthread_create(&t, NULL, behind, NULL); sleep(1); if (n) pthread_cond_signal(&c); sleep(1); exit(0)' '' 'static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER; static void *behind(void *p) { pthread_mutex_lock(&lock); pthread_cond_wait(&c, &lock); puts("told"); return p; }'
reaches "a barrier" 'pthread_t t; pthread_barrier_init(&bar, NULL, 2); pthread_create(&t, NULL, behind, NULL); if (n) pthread_barrier_wait(&bar); sleep(1); exit(0)' '' 'static pthread_barrier_t bar; static void *behind(void *p) { pthread_barrier_wait(&bar); puts("both"); return p; }'
reaches "a thread that ends" 'pthread_t t, u; pthread_create(&t, NULL, behind, s); pthread_create(&u, NULL, joins, &t); sleep(1); exit(0)' '' 'static void *behind(void *p) { if (atoi(p)) sleep(100); return p; } static void *joins(void *p) { pthread_join(*(pthread_t *)p, NULL); puts("joined"); return p; }'
reaches "a pipe that is read" 'pthread_t t; pipe(ends); pthread_create(&t, NULL, behind, NULL); if (n) write(ends[1], "x", 1); sleep(1); exit(0)' '' 'static void *behind(void *p) { char x; read(ends[0], &x, 1); puts("read"); return p; }'
reaches "a pipe that is closed" 'pthread_t t; pipe(ends); pthread_create(&t, NULL, behind, NULL); if (n) close(ends[1]); sleep(1); exit(0)' '' 'static void *behind(void *p) { char x; read(ends[0], &x, 1); puts("read"); return p; }'
reaches "a number that is waited for" 'pthread_t t; fd = eventfd(0, 0); pthread_create(&t, NULL, behind, NULL); uint64_t k = 1; if (n) write(fd, &k, 8); sleep(1); exit(0)' '' 'static void *behind(void *p) { uint64_t x; read(fd, &x, 8); puts("read"); return p; }'
reaches "a signal that ends a pause" 'pthread_t t; signal(SIGUSR1, nothing); pthread_create(&t, NULL, behind, NULL); sleep(1); if (n) pthread_kill(t, SIGUSR1); sleep(1); exit(0)' '' 'static void nothing(int k) { (void)k; } static void *behind(void *p) { pause(); puts("woken"); return p; }'
reaches "a lock of a file" 'int a = open("l", O_RDWR); int c = open("l", O_RDWR); if (n) flock(a, LOCK_EX); alarm(1); flock(c, LOCK_EX)' 'puts("mine")'

finish

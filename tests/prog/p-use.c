/* p-use CASE ARGUMENT... - uses a known amount of something, and prints what it was by the kernel's exact means: its
 * own CPU clocks, and the page tables (smaps_rollup), read while everybody stands still. Lines "name value" on standard
 * output, or in the file $P_USE_TRUTH where the truth comes later than main's end; figures in ns and bytes.
 *
 *   cpu MS               burns so much CPU time
 *   threads N MS         N threads burn so much each
 *   children N MS        N children, one after the other, burn so much each; also what they did is counted
 *   ignored N MS         the same, with SIGCHLD ignored
 *   nowait N MS          the same, with SA_NOCLDWAIT
 *   spawn N MS           by posix_spawn of itself
 *   session MS           a child in a session of its own burns so much; main waits
 *   daemon MS MB         leaves a daemon that burns and fills
 *   memory MB            fills memory; then ends
 *   spike MB MS          fills memory, keeps it so long, gives it back, goes on for 100 ms
 *   childspike MB MS     a child does
 *   three MB             three children fill memory at once
 *   cow MB N             fills memory and forks N children that read it all and write a tenth
 *   shm MB N             N processes share memory that all have touched
 *   vfork MB             fills memory, and by vfork starts a program, which takes a while
 *   exec MB              fills memory, then becomes /bin/true
 *   io FILE MB BUFFER    writes the file and reads it again, with a buffer of so many bytes
 *   map FILE             reads a file through a mapping
 *   killed MB MS         burns, fills, and kills itself with SIGKILL
 *   childkilled MB MS    a child does
 *   sleep MS */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t clock_of(clockid_t c)
{
	struct timespec ts;
	clock_gettime(c, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t cpu(void)
{
	return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void burn(clockid_t clock, uint64_t ms)
{
	volatile double x = 1;
	for (uint64_t end = clock_of(clock) + ms * 1000000u; clock_of(clock) < end;)
		for (int i = 0; i < 2000; i++)
			x = x * 1.0000001 + 1e-9;
}

static void nap(unsigned ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static char *fill(size_t mb)
{
	char *p = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	memset(p, 1, mb << 20);
	return p;
}

static uint64_t rollup(pid_t pid, const char *key)
{
	char name[64], line[256];
	uint64_t kb = 0;
	snprintf(name, sizeof(name), "/proc/%d/smaps_rollup", pid);
	FILE *f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kb = strtoull(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	else
		die(name);
	return kb * 1024;
}

static void say(const char *name, uint64_t value)
{
	printf("%s %llu\n", name, (unsigned long long)value);
	fflush(stdout);
}

/* What children tell their parent. */
static int told[2];

static void tell(uint64_t v)
{
	if (write(told[1], &v, sizeof(v)) != (ssize_t)sizeof(v))
		_exit(4);
}

static uint64_t hear(unsigned n)
{
	uint64_t sum = 0, v;
	for (unsigned i = 0; i < n; i++)
		if (read(told[0], &v, sizeof(v)) == (ssize_t)sizeof(v))
			sum += v;
		else
			die("read");
	return sum;
}

static void *burn_thread(void *arg)
{
	burn(CLOCK_THREAD_CPUTIME_ID, *(uint64_t *)arg);
	return NULL;
}

static void threads(unsigned n, uint64_t ms)
{
	pthread_t t[64];
	for (unsigned i = 0; i < n && i < 64; i++)
		pthread_create(&t[i], NULL, burn_thread, &ms);
	for (unsigned i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
	say("cpu", cpu());
	say("threads", n + 1);
}

/* How they are waited for: 0 at all, 1 by nobody. */
static void children(unsigned n, uint64_t ms, int by_nobody)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			burn(CLOCK_PROCESS_CPUTIME_ID, ms);
			tell(cpu());
			_exit(0);
		}
		sum += hear(1);
		if (!by_nobody)
			waitpid(pid, NULL, 0);
		else
			while (kill(pid, 0) == 0)
				nap(1);
	}
	say("cpu", sum + cpu());
	say("processes", n + 1);
}

static void spawned(const char *self, unsigned n, const char *ms)
{
	for (unsigned i = 0; i < n; i++) {
		char *argv[] = {(char *)self, (char *)"cpu", (char *)ms, NULL};
		pid_t pid;
		if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0)
			die("posix_spawn");
		waitpid(pid, NULL, 0);
	}
	say("cpu", cpu()); /* each child has said its own before */
	say("processes", n + 1);
}

/* All have filled what they fill; they stand still until their shares were read. */
static void together(unsigned n, pid_t *pids, int go)
{
	hear(n);
	uint64_t sum = rollup(getpid(), "Pss:"), largest = rollup(getpid(), "Rss:");
	for (unsigned i = 0; i < n; i++) {
		uint64_t rss = rollup(pids[i], "Rss:");
		sum += rollup(pids[i], "Pss:");
		largest = rss > largest ? rss : largest;
	}
	say("memory", sum);
	say("largest", largest);
	nap(150); /* time for a sample, for who takes samples */
	close(go);
	for (unsigned i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
}

static void group(unsigned n, size_t mb, void (*work)(char *p, size_t n), char *p)
{
	pid_t pids[64];
	int go[2];
	if (n > 64 || pipe(go) < 0)
		die("pipe");
	for (unsigned i = 0; i < n; i++)
		if ((pids[i] = fork()) == 0) {
			char c;
			close(go[1]);
			work(p, mb << 20);
			tell(1);
			(void)!read(go[0], &c, 1);
			_exit(0);
		}
	together(n, pids, go[1]);
}

static volatile unsigned long sink;

static void work_fill(char *p, size_t n)
{
	(void)p;
	fill(n >> 20);
}

static void work_touch(char *p, size_t n)
{
	for (size_t i = 0; i < n; i += 4096)
		sink += (unsigned char)p[i];
}

static void work_cow(char *p, size_t n)
{
	work_touch(p, n);
	memset(p, 2, n / 10);
}

static void spike(size_t mb, unsigned ms)
{
	char *p = fill(mb);
	say("memory", rollup(getpid(), "Rss:"));
	nap(ms);
	munmap(p, mb << 20);
	nap(100);
}

static void leave_daemon(uint64_t ms, size_t mb)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			const char *truth = getenv("P_USE_TRUTH");
			fill(mb);
			burn(CLOCK_PROCESS_CPUTIME_ID, ms);
			uint64_t rss = rollup(getpid(), "Rss:");
			nap(300);
			if (truth && freopen(truth, "w", stdout)) {
				say("cpu", cpu());
				say("memory", rss);
			}
			_exit(0);
		}
		_exit(0);
	}
	wait(NULL);
	say("cpu", cpu());
}

static void io(const char *file, size_t mb, size_t buffer)
{
	char *p = malloc(buffer);
	uint64_t out = 0, in = 0, calls = 0;
	memset(p, 'x', buffer);
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		die(file);
	for (uint64_t left = mb << 20; left;) {
		ssize_t n = write(fd, p, left < buffer ? left : buffer);
		if (n <= 0)
			die("write");
		left -= (uint64_t)n;
		out += (uint64_t)n;
	}
	lseek(fd, 0, SEEK_SET);
	for (ssize_t n; (n = read(fd, p, buffer)) >= 0; in += (uint64_t)n) {
		calls++;
		if (n == 0)
			break;
	}
	close(fd);
	char line[160];
	/* This line is written, too. */
	uint64_t own = 0;
	for (int i = 0; i < 3; i++)
		own = (uint64_t)snprintf(line, sizeof(line), "read %llu\nreads %llu\nwritten %llu\n", (unsigned long long)in,
		                         (unsigned long long)calls, (unsigned long long)(out + own));
	if (write(1, line, own) != (ssize_t)own)
		_exit(5);
	_exit(0);
}

/* All pages of mapped files that may be read are there. Else the kernel adds them later, with those around them that
 * happen to be free at that moment: on a busy machine it passes by pages that another processor is just mapping, and
 * they are added when the program ends, after its truth was told. */
static void fill_files(void)
{
	enum { MOST = 256, POPULATE_READ = 22 /* MADV_POPULATE_READ, Linux 5.14 */ };
	static struct {
		unsigned long from, to;
	} v[MOST];
	char line[4400], modes[8];
	size_t n = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && n < MOST && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &v[n].from, &v[n].to, modes) == 3 && modes[0] == 'r' && strchr(line, '/'))
			n++;
	if (f)
		fclose(f);
	while (n--)
		madvise((void *)v[n].from, v[n].to - v[n].from, POPULATE_READ); /* without it the truth is as it was */
}

static void map(const char *file)
{
	struct stat st;
	int fd = open(file, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		die(file);
	char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("mmap");
	work_touch(p, (size_t)st.st_size);
	fill_files();
	say("memory", rollup(getpid(), "Rss:"));
	say("mapped", (uint64_t)st.st_size);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long a = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, b = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	if (pipe(told) < 0)
		die("pipe");
	if (!strcmp(what, "cpu")) {
		burn(CLOCK_PROCESS_CPUTIME_ID, a);
		say("cpu", cpu());
	} else if (!strcmp(what, "threads")) {
		threads((unsigned)a, b);
	} else if (!strcmp(what, "children")) {
		children((unsigned)a, b, 0);
	} else if (!strcmp(what, "ignored")) {
		signal(SIGCHLD, SIG_IGN);
		children((unsigned)a, b, 1);
	} else if (!strcmp(what, "nowait")) {
		struct sigaction act = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
		sigaction(SIGCHLD, &act, NULL);
		children((unsigned)a, b, 1);
	} else if (!strcmp(what, "spawn")) {
		spawned(argv[0], (unsigned)a, argv[3]);
	} else if (!strcmp(what, "session")) {
		if (fork() == 0) {
			setsid();
			burn(CLOCK_PROCESS_CPUTIME_ID, a);
			tell(cpu());
			_exit(0);
		}
		wait(NULL);
		say("cpu", hear(1) + cpu());
	} else if (!strcmp(what, "daemon")) {
		leave_daemon(a, b);
	} else if (!strcmp(what, "memory")) {
		fill(a);
		say("memory", rollup(getpid(), "Rss:"));
	} else if (!strcmp(what, "spike")) {
		spike(a, (unsigned)b);
	} else if (!strcmp(what, "childspike")) {
		if (fork() == 0) {
			spike(a, (unsigned)b);
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(what, "three")) {
		group(3, a, work_fill, NULL);
	} else if (!strcmp(what, "cow")) {
		group((unsigned)b, a, work_cow, fill(a));
	} else if (!strcmp(what, "shm")) {
		char *p = mmap(NULL, a << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			die("mmap");
		memset(p, 1, a << 20);
		group((unsigned)b - 1, a, work_touch, p);
	} else if (!strcmp(what, "vfork")) {
		fill(a);
		say("memory", rollup(getpid(), "Rss:"));
		for (int i = 0; i < 3; i++) {
			pid_t pid = vfork();
			if (pid == 0) {
				nap(60);
				execl("/bin/true", "true", NULL);
				_exit(9);
			}
			waitpid(pid, NULL, 0);
		}
	} else if (!strcmp(what, "exec")) {
		fill(a);
		say("memory", rollup(getpid(), "Rss:"));
		nap(60);
		execl("/bin/true", "true", NULL);
	} else if (!strcmp(what, "io") && argc > 4) {
		io(argv[2], b, strtoul(argv[4], NULL, 10));
	} else if (!strcmp(what, "map") && argc > 2) {
		map(argv[2]);
	} else if (!strcmp(what, "killed")) {
		burn(CLOCK_PROCESS_CPUTIME_ID, b);
		fill(a);
		say("memory", rollup(getpid(), "Rss:"));
		say("cpu", cpu());
		raise(SIGKILL);
	} else if (!strcmp(what, "childkilled")) {
		pid_t pid = fork();
		if (pid == 0) {
			burn(CLOCK_PROCESS_CPUTIME_ID, b);
			fill(a);
			say("memory", rollup(getpid(), "Rss:"));
			tell(cpu());
			raise(SIGKILL);
		}
		waitpid(pid, NULL, 0);
		say("cpu", hear(1) + cpu());
	} else if (!strcmp(what, "sleep")) {
		nap((unsigned)a);
	} else {
		fprintf(stderr, "p-use: no case '%s'\n", what);
		return 2;
	}
	return 0;
}

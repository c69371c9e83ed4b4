/* p-limit CASE ARGUMENT... - uses more and more of something, and says in a file how far it got: what is stopped by a
 * limit cannot say it at its end. The file $P_LIMIT_TRUTH is mapped, so that it survives SIGKILL: numbers of 8 bytes,
 * in the order below. Nothing here ends by itself before its last argument says so, or a minute has passed.
 *
 *   grow MB MBPERS       fills memory, so much a second (0: as fast as it can)
 *   cpu THREADS          burns
 *   wait                 sleeps
 *   deaf                 sleeps, and ignores what can be ignored
 *   polite STATUS        sleeps; on SIGTERM says so and exits with the status
 *   slow MS              on SIGTERM goes on for so long, then says so
 *   forks N              makes children that sleep, N at most
 *   bomb N               processes that make processes, about N alive together
 *   daemon               a daemon in a session of its own that burns; main waits for nothing
 *   thread N             N threads that sleep
 *   write FILE MB        writes, again and again the same MB, 1 MB at a time
 *   read FILE            reads the file again and again
 *   files DIR N          makes N files of 64 KiB, one a millisecond
 *   open N               opens N descriptors, one a millisecond
 *   map MB               maps so much and touches nothing
 *   kill                 kills itself with SIGKILL */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the file holds. */
static struct truth {
	uint64_t filled;      /* bytes of memory that were touched */
	uint64_t born;        /* processes and threads that were made */
	uint64_t termed;      /* SIGTERMs that were seen */
	uint64_t done;        /* bytes written or read; files, descriptors made */
	uint64_t late;        /* reached after the grace that was wanted */
	uint64_t root;        /* pid of main */
	uint64_t alive, most; /* of bomb: those that live now, and the most; main is not among them */
} * truth;

static uint64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

static void nap(unsigned ms)
{
	struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
	nanosleep(&ts, NULL);
}

static void linger(void)
{
	for (int i = 0; i < 600; i++)
		nap(100);
}

static void grow(uint64_t mb, uint64_t rate)
{
	const size_t piece = 1 << 20;
	uint64_t start = now_ms();
	char *p = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		exit(3);
	for (uint64_t i = 0; i < mb; i++) {
		for (size_t at = 0; at < piece; at += 4096) {
			p[(i << 20) + at] = 1;
			truth->filled += 4096;
		}
		while (rate && now_ms() - start < (i + 1) * 1000 / rate)
			nap(1);
	}
	linger();
}

static void *burn(void *arg)
{
	volatile double x = 1;
	uint64_t end = now_ms() + 60000;
	(void)arg;
	while (now_ms() < end)
		for (int i = 0; i < 10000; i++)
			x = x * 1.0000001 + 1e-9;
	return NULL;
}

static void *rest(void *arg)
{
	(void)arg;
	linger();
	return NULL;
}

static void threads(unsigned n, void *(*body)(void *))
{
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	for (unsigned i = 1; i < n; i++) {
		if (pthread_create(&t, &a, body, NULL) != 0)
			break;
		add(&truth->born, 1);
		nap(2);
	}
	body(NULL);
}

static void forks(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();
		if (pid == 0)
			linger();
		if (pid > 0)
			add(&truth->born, 1);
		nap(2);
	}
	linger();
}

static void count_alive(void)
{
	uint64_t now = __atomic_add_fetch(&truth->alive, 1, __ATOMIC_RELAXED), most = truth->most;
	while (now > most &&
	       !__atomic_compare_exchange_n(&truth->most, &most, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void on_bomb_term(int sig)
{
	(void)sig;
	/* Nobody is born any more: who is killed before it gets here is counted as alive, so that the next would be too
	 * many. */
	add(&truth->done, 1u << 30);
	add(&truth->alive, UINT64_MAX);
	_exit(0);
}

static void bomb(unsigned n)
{
	uint64_t end = now_ms() + 20000;
	setsid();
	truth->done = 1; /* alive together */
	count_alive();
	signal(SIGTERM, on_bomb_term);
	for (unsigned seed = (unsigned)getpid(); now_ms() < end; nap(3)) {
		if (__atomic_load_n(&truth->born, __ATOMIC_RELAXED) < 20000 &&
		    __atomic_load_n(&truth->done, __ATOMIC_RELAXED) < n) {
			add(&truth->done, 1);
			pid_t pid = fork();
			if (pid == 0) {
				add(&truth->born, 1);
				count_alive();
				seed = (unsigned)getpid();
				continue;
			}
			if (pid < 0)
				add(&truth->done, UINT64_MAX);
		}
		if (__atomic_load_n(&truth->done, __ATOMIC_RELAXED) > n / 2 && rand_r(&seed) % 4 == 0) {
			add(&truth->done, UINT64_MAX);
			add(&truth->alive, UINT64_MAX);
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	_exit(0);
}

static int polite_status, slow_ms;

static void on_term(int sig)
{
	(void)sig;
	truth->termed++;
	if (slow_ms) {
		nap((unsigned)slow_ms);
		truth->late = 1;
	}
	_exit(polite_status);
}

static void write_much(const char *name, uint64_t mb)
{
	static char buffer[1 << 20];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (uint64_t end = now_ms() + 60000; fd >= 0 && now_ms() < end;) {
		for (uint64_t i = 0; i < mb; i++, nap(2))
			if (pwrite(fd, buffer, sizeof(buffer), (off_t)(i << 20)) == (ssize_t)sizeof(buffer))
				truth->done += sizeof(buffer);
	}
}

static void read_much(const char *name)
{
	static char buffer[1 << 20];
	int fd = open(name, O_RDONLY);
	for (uint64_t end = now_ms() + 60000; fd >= 0 && now_ms() < end; nap(1)) {
		ssize_t n = read(fd, buffer, sizeof(buffer));
		truth->done += n > 0 ? (uint64_t)n : 0;
		if (n <= 0)
			lseek(fd, 0, SEEK_SET);
	}
}

static void make_files(const char *dir, unsigned n)
{
	static char buffer[65536];
	char name[4096];
	for (unsigned i = 0; i < n; i++, nap(1)) {
		snprintf(name, sizeof(name), "%s/file%u", dir, i);
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		if (fd < 0 || write(fd, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
			exit(3);
		close(fd);
		truth->done++;
	}
	linger();
}

int main(int argc, char **argv)
{
	const char *file = getenv("P_LIMIT_TRUTH"), *what = argc > 1 ? argv[1] : "", *one = argc > 2 ? argv[2] : "0";
	uint64_t n = strtoull(one, NULL, 10), m = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	/* Not cut short first: several may count in it, and who touched a page that is away for a moment would die of it.
	 */
	int fd = file ? open(file, O_RDWR | O_CREAT, 0666) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(*truth)) < 0)
		return 2;
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (truth == MAP_FAILED)
		return 2;
	truth->root = (uint64_t)getpid();
	if (!strcmp(what, "grow")) {
		grow(n, m);
	} else if (!strcmp(what, "cpu")) {
		threads((unsigned)n, burn);
	} else if (!strcmp(what, "wait")) {
		linger();
	} else if (!strcmp(what, "deaf")) {
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_IGN);
		linger();
	} else if (!strcmp(what, "polite") || !strcmp(what, "slow")) {
		polite_status = what[0] == 'p' ? (int)n : 0;
		slow_ms = what[0] == 's' ? (int)n : 0;
		signal(SIGTERM, on_term);
		linger();
	} else if (!strcmp(what, "forks")) {
		forks((unsigned)n);
	} else if (!strcmp(what, "bomb")) {
		if (fork() == 0)
			bomb((unsigned)n);
		linger();
	} else if (!strcmp(what, "daemon")) {
		if (fork() == 0) {
			setsid();
			for (int sig = 1; sig < 32; sig++)
				signal(sig, SIG_IGN);
			if (fork() == 0) {
				truth->root = (uint64_t)getpid();
				burn(NULL);
			}
			_exit(0);
		}
		wait(NULL);
		linger();
	} else if (!strcmp(what, "thread")) {
		threads((unsigned)n, rest);
	} else if (!strcmp(what, "write") && argc > 3) {
		write_much(one, m);
	} else if (!strcmp(what, "read")) {
		read_much(one);
	} else if (!strcmp(what, "files") && argc > 3) {
		make_files(one, (unsigned)m);
	} else if (!strcmp(what, "open")) {
		for (uint64_t i = 0; i < n && dup(2) >= 0; i++, nap(1))
			truth->done++;
		linger();
	} else if (!strcmp(what, "map")) {
		if (mmap(NULL, n << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			return 3;
		linger();
	} else if (!strcmp(what, "kill")) {
		raise(SIGKILL);
	} else {
		return 2;
	}
	return 0;
}

/* many-held N ROUNDS - has a file open N times and starts a program that ends at once, ROUNDS times. Another process of
 * its own renames a file meanwhile, again and again. Prints, in microseconds: the shortest of the rounds, and in that
 * one the longest rename; what is compared holds on a busy machine, too. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
	_Atomic int64_t longest;
	_Atomic int over;
};

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void rename_until_over(struct shared *s)
{
	const char *name[] = {"many-held.a", "many-held.b"};
	close(open(name[0], O_CREAT | O_WRONLY, 0600));
	for (int i = 0; !s->over; i ^= 1) {
		int64_t from = now_us();
		rename(name[i], name[!i]);
		int64_t took = now_us() - from;
		if (took > s->longest)
			s->longest = took;
	}
	_exit(0);
}

static int64_t spawn_true(void)
{
	int64_t from = now_us();
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	return now_us() - from;
}

int main(int argc, char **argv)
{
	struct rlimit l;
	long n = argc > 1 ? atol(argv[1]) : 0, rounds = argc > 2 ? atol(argv[2]) : 1, have = 0;
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return 1;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	close(open("many-held.file", O_CREAT | O_WRONLY, 0600));
	pid_t other = fork();
	if (other == 0)
		rename_until_over(s);
	int first = open("many-held.file", O_RDONLY);
	close(open("many-held.kept", O_CREAT | O_WRONLY, 0600));
	open("many-held.kept", O_RDONLY | O_CLOEXEC); /* no program is given this one */
	while (have < n && dup(first) >= 0)
		have++;
	int64_t shortest = INT64_MAX, wait = 0;
	for (long i = 0; i < rounds; i++) {
		s->longest = 0;
		int64_t took = spawn_true();
		if (took < shortest) {
			shortest = took;
			wait = s->longest;
		}
	}
	s->over = 1;
	waitpid(other, NULL, 0);
	printf("%ld %lld %lld\n", have, (long long)shortest, (long long)wait);
	return 0;
}

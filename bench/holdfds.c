/* holdfds.c - be many processes with many descriptors for a while: holdfds PROCESSES DESCRIPTORS SECONDS FILE
 *
 * Every process opens FILE so many times of its own, says so with a byte on standard output once all have, and sleeps.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void hold(long descriptors, const char *file, int ready, unsigned seconds)
{
	for (long i = 0; i < descriptors; i++) {
		if (open(file, O_RDONLY) < 0) {
			perror(file);
			_exit(1);
		}
	}
	if (write(ready, "", 1) != 1)
		_exit(1);
	sleep(seconds);
	_exit(0);
}

int main(int argc, char **argv)
{
	int ready[2];
	char byte;
	struct rlimit limit;
	if (argc != 5) {
		fprintf(stderr, "usage: %s PROCESSES DESCRIPTORS SECONDS FILE\n", argv[0]);
		return 2;
	}
	long processes = strtol(argv[1], NULL, 10);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (pipe(ready) < 0) {
		perror("pipe");
		return 1;
	}
	for (long i = 0; i < processes; i++) {
		pid_t pid = fork();
		if (pid == 0)
			hold(strtol(argv[2], NULL, 10), argv[4], ready[1], (unsigned)strtoul(argv[3], NULL, 10));
		if (pid < 0) {
			perror("fork");
			return 1;
		}
	}
	for (long i = 0; i < processes; i++)
		if (read(ready[0], &byte, 1) != 1)
			return 1;
	if (write(STDOUT_FILENO, "\n", 1) != 1)
		return 1;
	while (wait(NULL) > 0)
		;
	return 0;
}

/* Through a pipe to a child, and its status back. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int p[2], status = 0;
	char b[32] = "";
	(void)argc;
	puts("first"); /* OUT first */
	fflush(stdout);
	if (pipe(p) < 0)
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		ssize_t n = read(p[0], b, sizeof(b) - 1);
		b[n > 0 ? n : 0] = 0;
		printf("child %s\n", b); /* OUT child */
		exit(atoi(b) & 3);
	}
	write(p[1], argv[1], 2); /* OUT pipe */
	wait(&status);
	printf("status %d\n", status); /* OUT status */
	fprintf(stderr, "%s\n", argv[2]); /* OUT second */
	return 0;
}

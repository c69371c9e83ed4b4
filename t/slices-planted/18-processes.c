/* Through other processes: pipes, statuses, memory that both have, the environment of what is started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int ends[2], status, *both;
	FILE *p, *f;
	char text[50] = "";
	(void)argc;
	/* -- */
	pipe(ends);
	if (!fork()) {
		write(ends[1], argv[1], strlen(argv[1]));
		_exit(0);
	}
	close(ends[1]);
	read(ends[0], text, sizeof(text) - 1);
	fprintf(stderr, "%s\n", text); /* OUT pipe */
	/* -- */
	if (!fork())
		_exit(atoi(argv[2]));
	wait(&status);
	wait(&status);
	fprintf(stderr, "%d\n", WEXITSTATUS(status)); /* OUT status */
	/* -- */
	both = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!fork()) {
		*both = atoi(argv[3]);
		_exit(0);
	}
	wait(NULL);
	fprintf(stderr, "%d\n", *both); /* OUT both */
	/* -- */
	setenv("PLANTED", argv[4], 1);
	p = popen("echo $PLANTED", "r");
	fgets(text, sizeof(text), p);
	pclose(p);
	fputs(text, stderr); /* OUT shell */
	/* -- */
	f = fopen("for_child", "w");
	fputs(argv[5], f);
	fclose(f);
	fprintf(stderr, "%d\n", system("grep -q yes for_child")); /* OUT grep */
	/* -- */
	p = popen("cat >from_child", "w");
	fputs(argv[6], p);
	pclose(p);
	f = fopen("from_child", "r");
	fgets(text, sizeof(text), f);
	fputs(text, stderr); /* OUT child */
	return 0;
}

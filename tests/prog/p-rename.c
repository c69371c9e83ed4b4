/* p-rename.c - names that change while they are opened: p-rename HOW N changes the name P all the time, while N
 * programs, one after the other, open it and write into outI what they got: q, r, or - for nothing. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void give(const char *from, const char *between)
{
	unlink(between);
	if (link(from, between) < 0 || rename(between, "P") < 0)
		_exit(3);
}

static void change(const char *how)
{
	for (;;) {
		if (!strcmp(how, "link")) {
			unlink("P");
			if (link("Q", "P") < 0)
				_exit(3);
		} else if (!strcmp(how, "rename")) {
			give("Q", "q");
			give("R", "r");
		} else { /* other names than that */
			unlink("q");
			if (link("R", "q") < 0 || rename("q", "r") < 0)
				_exit(3);
		}
	}
}

/* A loop of opens before it, so that it may have the recorder's code. */
static void read_name(const char *out, int before)
{
	char got = '-';
	for (int i = 0; i < before; i++)
		close(open("other", O_RDONLY));
	int fd = open("P", O_RDONLY);
	if (fd >= 0 && read(fd, &got, 1) != 1)
		_exit(4);
	close(fd);
	int to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (to < 0 || write(to, &got, 1) != 1)
		_exit(5);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "read"))
		read_name(argv[2], atoi(argv[3]));
	if (argc != 4)
		return 2;
	int n = atoi(argv[2]), status = 0;
	pid_t changer = fork();
	if (changer == 0)
		change(argv[1]);
	for (int i = 0; i < n && changer > 0 && status == 0; i++) {
		pid_t reader = fork();
		if (reader == 0) {
			char out[32];
			snprintf(out, sizeof(out), "out%d", i);
			execl(argv[0], argv[0], "read", out, argv[3], (char *)NULL);
			_exit(6);
		}
		if (reader < 0 || waitpid(reader, &status, 0) < 0)
			status = 1;
	}
	if (changer > 0) {
		kill(changer, SIGKILL);
		waitpid(changer, NULL, 0);
	}
	return status != 0 || changer < 0;
}

/* What the system keeps: modes, folders, positions shared by descriptors, seeds, limits. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
static int prepared;
__attribute__((constructor)) static void prepare(void)
{
	prepared = getenv("PREPARED") != NULL;
}
static void tidy(const int *p)
{
	printf("%d\n", *p); /* OUT tidy */
}
int main(int argc, char **argv)
{
	struct stat st;
	struct rlimit lim = {0, 0};
	char c[2] = "", path[100];
	(void)argc;
	/* -- */
	printf("%d\n", prepared); /* OUT prepared */
	/* -- */
	umask((mode_t)atoi(argv[1]));
	int fd = open("moded", O_RDWR | O_CREAT, 0666);
	fstat(fd, &st);
	printf("%o\n", (unsigned)st.st_mode); /* OUT mode */
	write(fd, "abcdef", 6);
	int second = dup(fd);
	lseek(second, atoi(argv[2]), SEEK_SET);
	read(fd, c, 1);
	puts(c); /* OUT position */
	/* -- */
	srand((unsigned)atoi(argv[3]));
	printf("%d\n", rand()); /* OUT random */
	/* -- */
	seed48((unsigned short[3]){1, 2, (unsigned short)atoi(argv[4])});
	printf("%ld\n", lrand48()); /* OUT seeded */
	/* -- */
	{
		__attribute__((cleanup(tidy))) int left = atoi(argv[5]);
		left++;
	}
	chdir(argv[6]);
	puts(getcwd(path, sizeof(path))); /* OUT folder */
	/* -- */
	lim.rlim_cur = lim.rlim_max = (rlim_t)atoi(argv[7]);
	setrlimit(RLIMIT_NOFILE, &lim);
	puts(open("/dev/null", O_RDONLY) < 0 ? "none left" : "opened"); /* OUT limit */
	/* -- */
	if (atoi(argv[8]))
		close(2);
	fputs("error\n", stderr); /* OUT error */
	return 0;
}

/* Through files: under another name, by whether they exist, by their size, by their folder, by a mapping. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");
	fputs(text, f);
	fclose(f);
}
int main(int argc, char **argv)
{
	char line[100] = "";
	struct stat st;
	FILE *f;
	int fd;
	char *m;
	(void)argc;
	/* -- */
	put("one.txt", argv[1]);
	rename("one.txt", "two.txt");
	f = fopen("two.txt", "r");
	fgets(line, sizeof(line), f);
	fclose(f);
	puts(line); /* OUT renamed */
	/* -- */
	if (atoi(argv[2]))
		put("flag", "");
	puts(access("flag", F_OK) == 0 ? "there" : "not there"); /* OUT exists */
	/* -- */
	unlink("flag");
	put("sized", argv[3]);
	stat("sized", &st);
	printf("%ld\n", (long)st.st_size); /* OUT size */
	/* -- */
	mkdir("folder", 0700);
	if (atoi(argv[4]))
		mkdir("folder/inside", 0700);
	DIR *d = opendir("folder");
	int n = 0;
	while (readdir(d))
		n++;
	closedir(d);
	printf("%d\n", n); /* OUT entries */
	/* -- */
	fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ftruncate(fd, 4096);
	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	strcpy(m, argv[5]);
	char back[10] = "";
	pread(fd, back, sizeof(back) - 1, 0);
	puts(back); /* OUT mapped */
	/* -- */
	fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ftruncate(fd, 4096);
	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pwrite(fd, argv[6], 1, 100);
	putchar(m[100]); /* OUT written */
	/* -- */
	put("goal", argv[3]);
	symlink("goal", "alias");
	char target[100];
	f = fopen("alias", "r");
	fgets(target, sizeof(target), f);
	puts(target); /* OUT linked */
	return 0;
}

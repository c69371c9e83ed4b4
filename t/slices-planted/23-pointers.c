/* Pointers by way of text, files, mappings and addresses, each beside one that is known; the streams in stdout's place. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int target, other;
static uintptr_t base = 0x30000000;
extern int hidden_state(int) __attribute__((const));
extern void perhaps(int) __attribute__((weak));
static int *chosen(int which, int *p)
{
	return which ? p : &other;
}
int main(int argc, char **argv)
{
	char text[64];
	int which = getenv("WHICH") != NULL;
	(void)argc;
	int *p, *q;
	/* -- */
	p = &target;
	q = &other;
	FILE *f = fopen("pointer", "w+");
	fwrite(&p, sizeof(p), 1, f);
	rewind(f);
	fread(&q, sizeof(q), 1, f);
	*chosen(which, q) = atoi(argv[1]);
	printf("%d\n", target); /* OUT stored */
	/* -- */
	void *r;
	snprintf(text, sizeof(text), "%p", (void *)&target);
	sscanf(text, "%p", &r);
	*chosen(which, r) = atoi(argv[2]);
	printf("%d\n", target); /* OUT printed */
	/* -- */
	snprintf(text, sizeof(text), "%lu", (unsigned long)&target);
	*(which ? (int *)strtoul(text, NULL, 10) : &other) = atoi(argv[3]);
	printf("%d\n", target); /* OUT number */
	/* -- */
	int fd = open("area", O_RDWR | O_CREAT, 0600);
	int **a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int **b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*a = &target;
	*chosen(which, *b) = atoi(argv[4]);
	printf("%d\n", target); /* OUT mapped */
	/* -- */
	int *m = mmap((void *)base, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	*chosen(which, (int *)base) = atoi(argv[5]);
	printf("%d\n", *m); /* OUT based */
	/* -- */
	printf("%d\n", hidden_state(1)); /* OUT declared */
	puts(argv[6]); /* OUT plain */
	/* -- */
	if (perhaps)
		perhaps(1);
	puts(argv[7]); /* OUT weak */
	/* -- */
	FILE *g = fopen("redirected", "w+");
	stdout = g;
	printf("%s", argv[8]);
	rewind(g);
	fgets(text, sizeof(text), g);
	fputs(text, stderr); /* OUT redirected */
	/* -- */
	int ends[2];
	pipe(ends);
	p = &target;
	write(ends[1], &p, sizeof(p));
	read(ends[0], text, sizeof(p));
	memcpy(&q, text, sizeof(q));
	*chosen(which, q) = atoi(argv[9]);
	fprintf(stderr, "%d\n", target); /* OUT piped */
	return 0;
}

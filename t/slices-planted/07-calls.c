/* Calls through pointers: of a table, masked, cast to another type, in memory that was copied, returned by a library. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef void (*act)(const char *);
static void say(const char *s)
{
	puts(s); /* OUT said */
}
static void shout(const char *s)
{
	printf("%s!\n", s); /* OUT shouted */
}
static void silent(const char *s)
{
	(void)s;
}
static act table[] = {say, shout, silent};
struct object {
	long size;
	act run;
};
static int state;
static long store(long n)
{
	state = (int)n;
	return 0;
}
static long ignore(long n)
{
	return n;
}
static void hide(uintptr_t *p)
{
	*p ^= 0x5555555555555555u;
}
static void last(const char *s)
{
	fprintf(stderr, "%s\n", s); /* OUT last */
}
int main(int argc, char **argv)
{
	struct object o = {1, silent}, copy;
	uintptr_t masked;
	(void)argc;
	/* -- */
	o.run = table[atoi(argv[1]) % 3];
	memcpy(&copy, &o, sizeof(o));
	copy.run(argv[2]);
	/* -- */
	void *any = atoi(argv[3]) ? (void *)store : (void *)ignore;
	((long (*)(unsigned long))any)(strtoul(argv[4], NULL, 10));
	printf("%d\n", state); /* OUT state */
	/* -- */
	masked = (uintptr_t)last;
	hide(&masked);
	char text[40];
	snprintf(text, sizeof(text), "%s", argv[5]);
	hide(&masked);
	((act)masked)(text);
	return 0;
}

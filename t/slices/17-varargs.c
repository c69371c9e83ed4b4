/* A function with a variable number of arguments. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
static void say(FILE *to, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vfprintf(to, format, ap); /* OUT say */
	va_end(ap);
}
static int sum(int n, ...)
{
	va_list ap;
	int s = 0;
	va_start(ap, n);
	while (n--)
		s += va_arg(ap, int);
	va_end(ap);
	return s;
}
int main(int argc, char **argv)
{
	(void)argc;
	say(stderr, "%s\n", argv[1]);
	printf("%d\n", sum(2, 4, atoi(argv[2]))); /* OUT sum */
	printf("%s\n", getenv("USER")); /* OUT user */
	return 0;
}

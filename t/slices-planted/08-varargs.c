/* Variable arguments: handed on, copied, counted by %n, read by scanf into what a pointer in the list points to. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char line[200];
static void log_text(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
}
static int sum(int n, ...)
{
	va_list ap, copy;
	int s = 0;
	va_start(ap, n);
	va_copy(copy, ap);
	for (int i = 0; i < n; i++)
		s += va_arg(ap, int);
	s += va_arg(copy, int);
	va_end(copy);
	va_end(ap);
	return s;
}
static void assign(int which, ...)
{
	va_list ap;
	va_start(ap, which);
	while (which--)
		(void)va_arg(ap, int *);
	*va_arg(ap, int *) = 7;
	va_end(ap);
}
static int scan(const char *text, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vsscanf(text, format, ap);
	va_end(ap);
	return n;
}
static void pass(va_list *ap)
{
	strcpy(line, va_arg(*ap, char *));
}
static void forward(int n, ...)
{
	va_list ap;
	va_start(ap, n);
	pass(&ap);
	va_end(ap);
}
int main(int argc, char **argv)
{
	int n = 0, a = 0, b = 0, x = 0, y = 0;
	(void)argc;
	/* -- */
	log_text("%d-%s", 5, argv[1]);
	puts(line); /* OUT text */
	/* -- */
	printf("%d\n", sum(2, 1, atoi(argv[2]))); /* OUT sum */
	/* -- */
	snprintf(line, sizeof(line), "%s%n", argv[3], &n);
	printf("%d\n", n); /* OUT counted */
	/* -- */
	assign(atoi(argv[4]) ? 1 : 0, &a, &b);
	printf("%d\n", b); /* OUT assigned */
	/* -- */
	scan(argv[5], "%d %d", &x, &y);
	printf("%d\n", y); /* OUT scanned */
	/* -- */
	forward(1, argv[6]);
	puts(line); /* OUT forwarded */
	/* -- */
	printf("%*d\n", atoi(argv[7]), 1); /* OUT width */
	return 0;
}

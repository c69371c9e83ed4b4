/* The other half of 23-modules-main.c. */
#include <stdlib.h>
int scale = 2;
int scaled(const char *s)
{
	const char *e = getenv("SCALE");
	if (e)
		scale = atoi(e);
	return scale * atoi(s);
}
const char *title(void)
{
	return "title";
}

/* Two modules: see 23-modules-part.c. */
#include <stdio.h>
extern int scale;
int scaled(const char *s);
const char *title(void);
int main(int argc, char **argv)
{
	(void)argc;
	printf("%d\n", scaled(argv[1])); /* OUT scaled */
	printf("%s\n", title()); /* OUT title */
	return 0;
}

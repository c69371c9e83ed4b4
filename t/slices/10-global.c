/* State that is kept in variables of the file. */
#include <stdio.h>
#include <stdlib.h>
static int level, total;
static const char *name = "unset";
static void set(int n)
{
	level = n;
}
static int get(void)
{
	return level;
}
static int next(void)
{
	static int id = 100;
	return id++;
}
int main(int argc, char **argv)
{
	(void)argc;
	set(atoi(argv[1]));
	if (getenv("NAME"))
		name = "set";
	for (int i = 0; i < 3; i++)
		total += next();
	printf("%d\n", get()); /* OUT level */
	printf("%s\n", name); /* OUT name */
	printf("%d\n", total); /* OUT total */
	return 0;
}

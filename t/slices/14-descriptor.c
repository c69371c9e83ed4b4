/* Descriptors in the place of streams. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
static ssize_t copy(int from, int to)
{
	char b[256];
	ssize_t n = read(from, b, sizeof(b));
	return n > 0 ? write(to, b, (size_t)n) : n; /* OUT copy */
}
int main(int argc, char **argv)
{
	int in = open("in.dat", O_RDONLY), out = open("out.dat", O_WRONLY | O_CREAT, 0644);
	(void)argc;
	copy(in, out);
	close(in);
	close(out);
	write(2, argv[1], strlen(argv[1])); /* OUT said */
	write(1, "done\n", 5); /* OUT done */
	return 0;
}

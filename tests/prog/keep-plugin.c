/* keep-plugin.c - a plug-in that writes when it comes and when it goes, in the working directory. */
#include <fcntl.h>
#include <unistd.h>

__attribute__((visibility("default"))) int plugin_read(void);

static void note(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, "noted\n", 6) != 6)
		_exit(89);
	close(fd);
}

__attribute__((constructor)) static void begin(void)
{
	note("begun");
}

__attribute__((destructor)) static void end(void)
{
	note("ended");
}

int plugin_read(void)
{
	char b[64];
	int fd = open("in", O_RDONLY);
	int n = (int)read(fd, b, sizeof(b));
	close(fd);
	return n;
}

/* p-gone - is killed in the moment in which it has opened a file. p-gone FILE [ABSENT]: opens ABSENT, which is not
 * there, then FILE, to read; and no more. Statically linked where that can be, so that nothing comes before it. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 2 && open(argv[2], O_RDONLY) >= 0)
		return 2;
	if (argc < 2 || open(argv[1], O_RDONLY) < 0)
		return 1;
	kill(getpid(), SIGKILL);
	return 3;
}

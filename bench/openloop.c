/* openloop.c - open, read and close one file again and again: openloop FILE TIMES. The worst case for a recorder. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s FILE TIMES\n", argv[0]);
		return 2;
	}
	for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
		char byte;
		int fd = open(argv[1], O_RDONLY);
		if (fd < 0 || read(fd, &byte, 1) < 0) {
			perror(argv[1]);
			return 1;
		}
		close(fd);
	}
	return 0;
}

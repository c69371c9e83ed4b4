/* smallfiles.c - fopen, fgets and fclose of many small files: smallfiles FOLDER TIMES. Makes 1000 of them the first
 * time. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char line[64];
	if (argc != 3 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: %s FOLDER TIMES\n", argv[0]);
		return 2;
	}
	for (int i = 0; access("999", F_OK) < 0 && i < 1000; i++) {
		snprintf(line, sizeof(line), "%03d", i);
		FILE *f = fopen(line, "w");
		if (!f || fprintf(f, "line %d\n", i) < 0 || fclose(f))
			return 1;
	}
	for (long i = 0, n = strtol(argv[2], NULL, 10); i < n; i++) {
		char name[16];
		snprintf(name, sizeof(name), "%03ld", i % 1000);
		FILE *f = fopen(name, "r");
		if (!f || !fgets(line, sizeof(line), f)) {
			perror(name);
			return 1;
		}
		fclose(f);
	}
	return 0;
}

/* smallfiles.c - fopen, fgets and fclose of many small files: smallfiles FOLDER TIMES [FILES], one after the other and
 * over again. Makes them (1000) the first time. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char line[64], last[32];
	long files = argc > 3 ? strtol(argv[3], NULL, 10) : 1000;
	if (argc < 3 || argc > 4 || files < 1 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: %s FOLDER TIMES [FILES]\n", argv[0]);
		return 2;
	}
	snprintf(last, sizeof(last), "%03ld", files - 1);
	for (long i = 0; access(last, F_OK) < 0 && i < files; i++) {
		snprintf(line, sizeof(line), "%03ld", i);
		FILE *f = fopen(line, "w");
		if (!f || fprintf(f, "line %ld\n", i) < 0 || fclose(f))
			return 1;
	}
	for (long i = 0, n = strtol(argv[2], NULL, 10); i < n; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%03ld", i % files);
		FILE *f = fopen(name, "r");
		if (!f || !fgets(line, sizeof(line), f)) {
			perror(name);
			return 1;
		}
		fclose(f);
	}
	return 0;
}

/* Runs a fuzz target on files, for compilers without libFuzzer: every input ever found stays tested. TAP. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 2;
	}
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		uint8_t *p = NULL;
		size_t n = 0, cap = 0;
		while (f && !feof(f) && !ferror(f)) {
			if (n == cap) {
				cap = cap ? 2 * cap : 4096;
				p = realloc(p, cap);
				if (!p)
					return 1;
			}
			n += fread(p + n, 1, cap - n, f);
		}
		if (!f || ferror(f)) {
			printf("not ok %d - %s cannot be read\n", i, argv[i]);
			return 1;
		}
		fclose(f);
		/* exactly n bytes, so that a sanitizer sees a step outside */
		uint8_t *exact = malloc(n ? n : 1);
		if (!exact)
			return 1;
		for (size_t k = 0; k < n; k++)
			exact[k] = p[k];
		free(p);
		LLVMFuzzerTestOneInput(exact, n);
		free(exact);
		printf("ok %d - %s\n", i, argv[i]);
		fflush(stdout);
	}
	return 0;
}

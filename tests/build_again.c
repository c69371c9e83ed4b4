/* stemma-build-again FILE OUT - builds the program FILE once more from its record, into OUT, for tests: prints same or
 * different and ends with 0; else why not, and 1. The store is $STEMMA_HOME's, and must be up to date. */
#include "cc/build.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct build_list l = {0};
	struct err err = {0};
	struct store *s = NULL;
	bool same = false;
	int rc = argc == 3 ? store_open(NULL, STORE_READ, &err, &s) : -1;
	if (rc == 0)
		rc = build_find(s, argv[1], &err, &l);
	if (rc == 0 && l.n)
		rc = build_again(s, &l.v[0], argv[2], 2, &err, &same);
	if (rc == 0 && l.n)
		puts(same ? "same" : "different");
	else
		printf("%s\n", rc == 0 ? "no record" : err.text);
	build_list_release(&l);
	store_close(s);
	return rc == 0 && same ? 0 : 1;
}

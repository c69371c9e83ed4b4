/* Edges beside an index, of any bytes: they are read, or the index is asked; nothing is read beyond what there is.
 *
 * The input is the rows of a segment, as adj_segment.c would have them after its checksums held: a file's versions, or
 * a process with its executions (the first byte says which). */
#include "fuzz_file.h"
#include "store/adjacency/adjacency.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store *s;
	struct err err = {0};
	struct edges edges = {0};
	struct ids ids = {0};
	struct version_judged judged;
	if (!s) {
		char home[] = "/dev/shm/stemma-fuzz.XXXXXX";
		must(mkdtemp(home) != NULL);
		must(store_open(home, STORE_WRITE | STORE_MEMORY, &err, &s) == 0 && store_reader(s) && adj_of(s));
		rmdir(home);
		s->adj->off = false;
	}
	if (!size)
		return 0;
	char *copy = malloc(size); /* so that its end is the end of what may be read */
	must(copy != NULL);
	memcpy(copy, data + 1, size - 1);
	must(read_rows_begin(s, 16) == 0);
	const struct str row = str_n(copy, size - 1);
	s->adj->given = &row;
	for (uint64_t n = 1; n < 6; n++) {
		if (data[0] & 1) {
			const store_id version = version_id(7, n);
			adj_version_judged(s, version, &judged);
			adj_version_gens(s, version, &edges);
			adj_version_derived(s, version, &edges);
			adj_version_readers(s, version, &ids);
		} else {
			const store_id exec = exec_id(7, n - 1);
			adj_exec_edges(s, exec, ADJ_USES, &edges);
			adj_exec_edges(s, exec, ADJ_OUTPUTS, &edges);
			store_informed(s, exec, &edges);
			store_informs(s, exec, &edges);
		}
	}
	s->adj->given = NULL;
	read_rows_end(s);
	edges_release(&edges);
	free(ids.v);
	free(copy);
	return 0;
}

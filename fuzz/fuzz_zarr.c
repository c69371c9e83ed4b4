/* Metadata of Zarr arrays, and names of chunks: the first byte is the version, then the name up to a NUL, then the
 * text. */
#include "answer/zarr/zarr_meta.h"
#include "fuzz_file.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *nul = size > 1 ? memchr(p + 1, '\0', size - 1) : NULL;
	struct zarr_meta m;
	uint64_t index[ZARR_RANK_MAX];
	if (!nul)
		return 0;
	const struct str name = str_n(p + 1, (size_t)(nul - p - 1)), text = str_n(nul + 1, size - name.n - 2);
	int r = zarr_meta_read(text, *p == '3' ? 3 : 2, &m);
	must(r == 0 || r == -EINVAL);
	must((r < 0) == (m.kind == ZARR_NONE));
	must(m.rank <= ZARR_RANK_MAX && memchr(m.type, '\0', sizeof(m.type)));
	for (unsigned i = 0; i < m.rank; i++)
		must(m.chunk[i] > 0);
	const uint64_t chunks = zarr_meta_chunks(&m);
	if (zarr_meta_index(&m, name, index)) {
		must(m.kind == ZARR_ARRAY);
		for (unsigned i = 0; i < m.rank; i++)
			must(index[i] <= (m.shape[i] - 1) / m.chunk[i]);
		must(!chunks || chunks >= 1);
	}
	return 0;
}

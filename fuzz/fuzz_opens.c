/* fuzz_opens.c - the log of opens that a program writes: whatever is in it, an entry lies within it. */
#include "capture/inline_open/open_code.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two numbers, where the entries begin and end; then the log's first bytes, and again as often as they fit. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct opens_slot log;
	uint32_t from, pos;
	if (size < 9)
		return 0;
	memcpy(&from, data, 4);
	memcpy(&pos, data + 4, 4);
	data += 8;
	size -= 8;
	for (size_t at = 0; at < sizeof(log.cell); at += size)
		memcpy(log.cell + at, data, size < sizeof(log.cell) - at ? size : sizeof(log.cell) - at);
	for (unsigned n = 0; pos != from && n <= OPENS_CELLS; n++) {
		struct opens_entry e;
		const unsigned char *path;
		int cells = opens_entry_read(&log, from, pos, &e, &path);
		if (cells < 0)
			break;
		if (cells == 0 || path < log.cell || path + e.length > log.cell + sizeof(log.cell) || n == OPENS_CELLS)
			abort();
		from += (uint32_t)cells;
	}
	return 0;
}

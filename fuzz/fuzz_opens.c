/* fuzz_opens.c - the logs of opens that a program and its threads write: whatever is in it, an entry lies within it. */
#include "capture/inline_open/open_code.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_thread_log(uint32_t from, uint32_t pos, const uint8_t *data, size_t size)
{
	static struct opens_thread log;
	for (size_t at = 0; at < sizeof(log.cell); at += size)
		memcpy(log.cell + at, data, size < sizeof(log.cell) - at ? size : sizeof(log.cell) - at);
	for (unsigned n = 0; pos != from && n <= OPENS_THREAD_CELLS; n++) {
		struct opens_thread_entry e;
		const unsigned char *path;
		int cells = opens_thread_entry_read(&log, from, pos, &e, &path);
		if (cells < 0)
			break;
		if (cells == 0 || path < log.cell || path + e.e.length > log.cell + sizeof(log.cell) || n == OPENS_THREAD_CELLS)
			abort();
		from += (uint32_t)cells;
	}
}

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
	read_thread_log(from, pos, data, size);
	for (size_t at = 0; at < sizeof(log.cell); at += size)
		memcpy(log.cell + at, data, size < sizeof(log.cell) - at ? size : sizeof(log.cell) - at);
	for (unsigned n = 0; pos != from && n <= OPENS_CELLS; n++) {
		struct opens_entry e;
		struct opens_folder_row made;
		const unsigned char *path;
		int cells = opens_entry_read(&log, from, pos, &e, &made, &path);
		if (cells < 0)
			break;
		if (cells == 0 || path < log.cell || path + e.length > log.cell + sizeof(log.cell) || n == OPENS_CELLS)
			abort();
		from += (uint32_t)cells;
	}
	return 0;
}

/* Logs of somebody else, taken into a record: the input's first segment (fuzz_frames.h) is the record's own, the second
 * one comes. What is taken in once adds nothing the second time, and the own segment is as it was. */
#include "fuzz_home.h"
#include "import/logs.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char from[64], own[64];
	struct buf in[2] = {0};
	struct err err = {0};
	struct import_logs_report first, again;
	struct stat before, after;
	struct buf none = {0};
	bool torn = size && data[0] & 128;
	frames_cut(data, size, in);
	if (torn && in[1].n) /* what is not whole is passed over */
		in[1].p[in[1].n / 2] ^= 4;
	fuzz_home_logs((struct buf[2]){in[0], none});
	fuzz_home_folder("from");
	fuzz_home_file("from/x.stl", &in[1]);
	snprintf(from, sizeof(from), "%s/from", fuzz_home);
	snprintf(own, sizeof(own), "%s/logs/a/2026-01-01/0.stl", fuzz_home);
	must(stat(own, &before) == 0);
	int r = import_logs(fuzz_home, from, &err, &first);
	must(r == 0 || err.text[0]);
	if (r == 0) {
		must(first.new_blocks <= first.blocks && first.new_bytes <= in[1].n);
		must(import_logs(fuzz_home, from, &err, &again) == 0);
		must(!again.new_blocks && !again.new_bytes && !again.new_segments && again.blocks == first.blocks);
		must(again.clashing == first.clashing && again.forgotten == first.forgotten);
	}
	must(stat(own, &after) == 0 && after.st_ino == before.st_ino && after.st_size == before.st_size);
	buf_release(&in[0]);
	buf_release(&in[1]);
	return 0;
}

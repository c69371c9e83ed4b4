/* What a run used and made, read from its own session in a log of any events (fuzz_frames.h). */
#include "fuzz_frames.h"
#include "trust/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf in[2] = {0};
	frames_cut(data, size, in);
	for (unsigned k = 0; k < FRAMES_SESSIONS; k++) {
		char path[32];
		struct session_files s;
		struct err err = {0};
		int fd = fuzz_file(in[k & 1].p, in[k & 1].n, path);
		int r = session_files(&(struct run_place){.segment = path, .session = 2 + 2 * k}, "/opt", &err, &s);
		must(r == 0 || err.text[0]);
		for (size_t i = 0; i < s.n; i++)
			must(s.v[i].path && s.v[i].domain);
		for (size_t i = 0; i < s.argc; i++)
			must(s.argv[i] != NULL);
		session_files_release(&s);
		close(fd);
	}
	buf_release(&in[0]);
	buf_release(&in[1]);
	return 0;
}

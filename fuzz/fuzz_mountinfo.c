/* Lists of mounts and of control groups, in which whoever may mount chooses the names: the text is a mountinfo up to
 * its first NUL, then what /proc/self/cgroup says. A folder that is found lies at a mount point that the list has. */
#include "base/fileid.h"
#include "fuzz_file.h"
#include "monitor/cgroup/cgroup_where.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_where w[CGROUP_PLACES];
	char mounts[32], groups[32], type[64];
	char *text = fuzz_text(&data, &size);
	int fds[] = {fuzz_file(text, strlen(text), mounts), fuzz_file(data, size, groups)};
	must(cgroup_where_in(mounts, groups, w) == 0);
	for (int i = 0; i < CGROUP_PLACES; i++) {
		must(w[i].group || !w[i].dir);
		must(w[i].dir || w[i].why[0]);
		must(!w[i].group || w[i].group[0] == '/');
		if (w[i].group)
			cgroup_batch(w[i].group);
	}
	cgroup_where_release(w);
	for (uint64_t dev = 0; dev < 32; dev++) {
		bool found = fileid_type_in(mounts, dev << 32 | (dev & 1), type);
		must(strnlen(type, sizeof(type)) < sizeof(type) && (!found || type[0]));
		fileid_type_waits(type);
	}
	close(fds[0]);
	close(fds[1]);
	free(text);
	return 0;
}

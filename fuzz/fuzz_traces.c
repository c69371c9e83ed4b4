/* Two function traces and their specifications: whatever they say, they are read, brought together and compared, and
 * the answer does not depend on which comes first. The input: four lengths of two bytes (specification of A, of B,
 * words of A's trace, of B's; what is missing is empty), then these. */
#include "spec/align/align_traces.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int put_trace(const uint8_t *words, size_t n, uint64_t spec, char *path, size_t size)
{
	struct trace_info info = {.spec = spec, .pid = 1, .thread = "0", .exe = "x"};
	struct buf b = {0};
	trace_put_header(&b, &info);
	buf_add(&b, words, n / 4 * 4);
	trace_put_end(&b, TRACE_EXIT);
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (b.failed || fd < 0 || write(fd, b.p, b.n) != (ssize_t)b.n)
		exit(1);
	buf_release(&b);
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t *part[4];
	size_t size[4], at = 8;
	struct spec *spec[2] = {NULL, NULL};
	char path[2][64];
	int fd[2];
	struct atlas m[2];
	struct compared c[2];
	struct err err = {0};
	if (n < 8)
		return 0;
	for (int i = 0; i < 4; i++) {
		size[i] = data[2 * i] | (size_t)data[2 * i + 1] << 8;
		if (size[i] > n - at)
			size[i] = n - at;
		part[i] = data + at;
		at += size[i];
	}
	for (int i = 0; i < 2; i++) {
		char *copy = malloc(size[i] + 1);
		if (!copy)
			return 0;
		memcpy(copy, part[i], size[i]);
		if (size[i] && spec_read(copy, size[i], &err, &spec[i]) < 0)
			spec[i] = NULL;
		free(copy);
	}
	if (!spec[1] && spec[0] && !size[1])
		spec[1] = spec[0];
	for (int i = 0; i < 2; i++)
		fd[i] = put_trace(part[2 + i], size[2 + i], spec[i] ? spec[i]->id : 1, path[i], sizeof(path[i]));
	for (int turned = 0; turned < 2; turned++) {
		const char *const paths[2] = {path[turned], path[!turned]};
		struct compare_options o = {.max = 50};
		if (atlas_make(spec[turned], spec[!turned], &m[turned]) < 0 ||
		    compare_traces(&m[turned], paths, &o, &err, &c[turned]) < 0)
			abort();
	}
	/* Of one build the points are the same ones; of two the numbers are those of whichever comes first. */
	if (!m[0].built_otherwise) {
		if (c[0].result.total != c[1].result.total)
			abort();
		if (c[0].message != c[1].message || c[0].n_messages != c[1].n_messages)
			abort();
		for (int s = 0; c[0].message && s < 2; s++)
			if (c[0].messages[s].there != c[1].messages[!s].there ||
			    c[0].messages[s].at.node != c[1].messages[!s].at.node ||
			    (c[0].messages[s].there && c[0].messages[s].message.peer != c[1].messages[!s].message.peer))
				abort();
		for (size_t i = 0; i < c[0].n; i++)
			for (int s = 0; s < 2; s++)
				if (c[0].v[i].d.at[s] != c[1].v[i].d.at[!s] || c[0].v[i].d.end[s] != c[1].v[i].d.end[!s])
					abort();
	}
	for (int i = 0; i < 2; i++) {
		compared_release(&c[i]);
		atlas_release(&m[i]);
		close(fd[i]);
	}
	if (spec[1] != spec[0])
		spec_free(spec[1]);
	spec_free(spec[0]);
	return 0;
}

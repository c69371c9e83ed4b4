/* trace_source.c - the lines of a source around a place. */
#include "answer/trace/trace_answer.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads the lines around a line of a source file. 1, or 0 where the source is not there; -ENOMEM. ret->text is the
 * caller's. Only regular files of at most 16 MiB are read. */
static int source_around(const char *file, unsigned line, unsigned around, struct source_lines *ret)
{
	/* A name out of a trace may be any file: only regular ones are read, and only so much of them. */
	enum { MOST = 16 << 20 };
	struct stat st;
	int fd = *file && line ? open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MOST) {
		close(fd);
		return 0;
	}
	char *text = malloc((size_t)st.st_size + 1);
	ssize_t n = text ? io_pread(fd, text, (size_t)st.st_size, 0) : -ENOMEM;
	close(fd);
	if (n <= 0) {
		free(text);
		return n == -ENOMEM ? -ENOMEM : 0;
	}
	struct buf b = {0};
	unsigned at = 1, first = line > around ? line - around : 1;
	*ret = (struct source_lines){.first = first};
	for (const char *p = text, *stop = text + n; p < stop; at++) {
		const char *end = memchr(p, '\n', (size_t)(stop - p));
		if (!end)
			end = stop;
		if (at >= first && at <= line + around) {
			fmt_source(&b, str_n(p, (size_t)(end - p)));
			buf_char(&b, '\n');
			ret->n++;
		}
		p = end + 1;
	}
	free(text);
	ret->text = strdup(buf_cstr(&b));
	buf_release(&b);
	if (at <= line || !ret->text) {
		free(ret->text);
		return at <= line ? 0 : -ENOMEM;
	}
	return 1;
}

int source_of_difference(const struct trace_pair *p, const struct difference *d, unsigned around,
                         struct source_lines *ret, unsigned *ret_line)
{
	const struct spot *at = &d->at[0];
	uint32_t function = at->kind == STEP_AT ? at->function : d->depth[0] ? d->stack[0][0].function : SPEC_NONE;
	uint32_t node = at->kind == STEP_AT ? at->node : d->depth[0] ? d->stack[0][0].node : SPEC_NONE;
	int side = atlas_node(p->atlas, 0, function, node) ? 0 : 1;
	const struct spec_node *n = node == SPEC_NONE ? NULL : atlas_node(p->atlas, side, function, node);
	if (!n)
		return 0;
	*ret_line = n->line;
	return source_around(spec_file(trace_pair_spec(p, side), n->file), n->line, around, ret);
}

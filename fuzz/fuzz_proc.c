/* What /proc tells of processes, which can choose their names and command lines: the texts of stat, status and io, and
 * an environment as make's children have it. The first byte says which. */
#include "base/os/procfs.h"
#include "capture/supervisor/channels/jobserver.h"
#include "fuzz_file.h"

#include <string.h>

static void environment(const char *text, size_t n)
{
	struct buf env = {0};
	buf_add(&env, text, n);
	buf_char(&env, '\0');
	struct jobserver j = jobserver_find(&env), copy = jobserver_copy(&j);
	must(!j.fifo == !copy.fifo && (!j.fifo || !strcmp(j.fifo, copy.fifo)));
	jobserver_release(&j);
	jobserver_release(&copy);
	must(!j.fifo && j.fds[0] == -1 && j.fds[1] == -1);
	buf_release(&env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct procfs p;
	if (!size)
		return 0;
	char *text = malloc(size); /* of its own size, so that a sanitizer sees its end */
	must(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	procfs_clear(&p);
	switch (data[0] % 4) {
	case 0:
		if (procfs_parse_stat(text, &p) == 0)
			must(p.state != '\0');
		break;
	case 1:
		procfs_parse_status(text, &p);
		break;
	case 2:
		procfs_parse_io(text, &p);
		break;
	default:
		environment(text, size - 1);
	}
	free(text);
	return 0;
}

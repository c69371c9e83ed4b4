/* What the daemon's helper is asked: questions of any bytes are done or refused, the answer is within its bounds, and
 * no descriptor is left open. The bytes are questions, each after a byte that says how much of them there is: the size
 * of its kind, but for 0xff (all of the rest). None that makes or marks a group: the machine is left alone. */
#include "capture/node_tracer/helper_int.h"
#include "fuzz_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct helper_question q;
	struct helper_work *w = NULL;
	if (helper_work_new(&w) < 0)
		return 0;
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(before);
	for (unsigned i = 0; size > 1 && i < 8; i++) {
		bool all = *data++ == 0xff;
		size--;
		memset(&q, 0, sizeof(q));
		memcpy(&q, data, size < sizeof(q) ? size : sizeof(q));
		if (q.op == HELPER_OP_WATCH)
			q.op = HELPER_OP_LOOK;
		size_t n = all ? size : helper_size(q.op, q.n), answer;
		int fd;
		const struct helper_answer *a = helper_work_do(w, &q, n, &answer, &fd);
		must(answer >= HELPER_ANSWER_HEAD && answer <= sizeof(*a));
		must(fd < 0 || a->r >= 0);
		if (helper_size(q.op, q.n) != n)
			must(a->r < 0 && fd < 0);
		if (fd >= 0)
			close(fd);
		n = n < size ? n : size;
		data += n;
		size -= n;
	}
	helper_work_free(w);
	int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	must(after == before);
	close(after);
	return 0;
}

/* The queue of frames between the worker and who writes them, with either of them killed at any step: what was shown is
 * taken whole and in order, what was not is as if it had never been put in, and what was taken and not dropped comes
 * again.
 *
 * An input is steps of three bytes: what (1), how many bytes (2). A large frame is 16 times as long. */
#include "event/log_queue.h"
#include "fuzz_file.h"

#include <string.h>

enum { FRAMES = 4096, LARGE = 16 };

struct model {
	uint32_t length[FRAMES]; /* of the frames that wait: those that are shown, then those that are not */
	uint8_t mark[FRAMES];
	unsigned from, shown, put;
};

static unsigned char frame[LARGE << 16];

static void mark(size_t n, uint8_t m)
{
	for (size_t i = 0; i < n; i += i + 64 < n ? 61 : 1) /* its end whole, the rest in places */
		frame[i] = (uint8_t)(m + i);
}

static void compare(const uint8_t *p, size_t n, uint8_t m)
{
	for (size_t i = 0; i < n; i += i + 64 < n ? 61 : 1)
		must(p[i] == (uint8_t)(m + i));
}

static void put(struct log_queue *q, struct model *m, uint64_t *head, size_t n)
{
	uint8_t next = (uint8_t)(m->put * 7 + 1);
	if (m->put - m->from == FRAMES)
		return;
	mark(n, next);
	size_t waiting = log_queue_waiting(q);
	uint64_t before = *head;
	if (!log_queue_put(q, head, frame, n)) {
		must(*head == before && before - q->taken + 2 * (n + 16) > LOG_QUEUE); /* there was little room */
		return;
	}
	must(*head > before && log_queue_waiting(q) == waiting); /* nobody sees it yet */
	m->length[m->put % FRAMES] = (uint32_t)n;
	m->mark[m->put++ % FRAMES] = next;
}

static void next(struct log_queue *q, const struct model *m)
{
	size_t n = 0;
	const uint8_t *p = log_queue_next(q, &n);
	must((p == NULL) == (m->from == m->shown));
	if (!p)
		return;
	must(p >= q->at && p + n <= q->at + LOG_QUEUE);
	must(n == m->length[m->from % FRAMES]);
	compare(p, n, m->mark[m->from % FRAMES]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct log_queue *q;
	struct model m = {0};
	if (!q)
		q = mmap(NULL, sizeof(*q), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(q != MAP_FAILED);
	q->filled = q->taken = 0;
	uint64_t head = 0, shown = 0;
	for (; size >= 3; data += 3, size -= 3) {
		size_t n = data[1] | (size_t)data[2] << 8;
		switch (data[0] % 8) {
		case 0:
		case 1:
			put(q, &m, &head, data[0] % 8 ? n * LARGE : n);
			break;
		case 2:
			shown = head; /* as the state of the writer has it, before the queue has */
			m.shown = m.put;
			log_queue_show(q, head);
			break;
		case 3: /* the worker is killed: another one goes on from the state */
			head = shown;
			m.put = m.shown;
			log_queue_show(q, head);
			break;
		case 4: /* who writes is killed behind the write */
			next(q, &m);
			break;
		default:
			next(q, &m);
			log_queue_drop(q);
			m.from += m.from != m.shown;
		}
		must(log_queue_waiting(q) <= LOG_QUEUE && (m.from != m.shown || log_queue_waiting(q) == 0 || head != shown));
	}
	while (m.from != m.shown) {
		next(q, &m);
		log_queue_drop(q);
		m.from++;
	}
	next(q, &m);
	return 0;
}

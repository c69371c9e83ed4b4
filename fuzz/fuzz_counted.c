/* The log in which a program counts its bytes (--count) is memory of its own: whatever it writes there, what is claimed
 * stays within what was seen of it, and a log that does not fit is given up.
 *
 * An input is entries: what (1 byte), then for an entry its kind, two descriptors and a value (1 byte each, the value
 * as so many bits), and counts. The log is read after some of them. */
#include "capture/count/counted_int.h"
#include "capture/supervisor/worker.h"
#include "event/log_reader.h"
#include "fuzz_file.h"

#include <string.h>

enum { FILES = 3, ENTRY = 8 };

static struct counted_table table;

static void entry(const uint8_t *p, bool whole)
{
	struct counted_entry *e = &table.entry[table.pos % COUNTED_LOG];
	memset(e, 0, sizeof(*e));
	e->kind = p[0] % 26;
	e->fd = (int8_t)p[1];
	e->value = p[2] & 128 ? (int64_t)((uint64_t)p[2] << (p[2] & 63)) : (int64_t)p[2] - 2;
	e->to = (int8_t)p[3];
	e->tid = p[4] % 3;
	e->flying = p[5] % 3;
	if (e->fd >= 0)
		e->row = table.row[e->fd];
	e->row.read_bytes += (uint64_t)p[6] << (p[6] & 63);
	e->seq = whole ? table.pos + 1 : p[7];
	table.pos++;
}

static void count(const uint8_t *p)
{
	uint64_t *at = (uint64_t *)&table.row[p[0] % 16];
	at[p[1] % 8] += (uint64_t)p[2] << (p[3] & 63);
}

/* An access of p to the file, as if it had been opened. */
static void hold(struct proc *p, struct file *f, struct access *a, uint64_t num, unsigned mode)
{
	*f = (struct file){.num = num, .kind = num == FILES ? TERM_kind_pipe : TERM_kind_regular, .live = a};
	*a = (struct access){.file = f, .proc = p, .mode = mode, .proc_next = p->live, .seq = num, .start = 1, .count = 1};
	p->live = a;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sup s;
	static struct known known;
	static struct sites sites;
	struct file files[FILES];
	struct access held[FILES];
	struct proc p = {.pid = getpid(), .num = 1, .pidfd = -1};
	struct err err = {0};
	if (!s.hz) {
		sup_init(&s);
		s.known = &known;
		feature_add(&s, &counted_feature);
	}
	if (size < 2)
		return 0;
	s.narrow = data[0] & 1;
	sites.tid = data[0] & 2 ? 16 : 0;
	memset(&table, 0, sizeof(table));
	table.owner = (uint32_t)p.pid;
	table.pos = data[0] & 4 ? UINT32_MAX - 3 : 0;
	table.threads = data[0] & 8;
	int fd = memfd_create("log", MFD_CLOEXEC);
	must(fd >= 0 && log_writer_fdopen(fd, 1, &err, &s.log) == 0);
	struct counted *c = p.counted = counted_new(&s, (uintptr_t)&sites, (uintptr_t)&table, (uintptr_t)&sites, &sites);
	must(c != NULL);
	c->shared = data[0] & 16 ? &table : NULL;
	c->read = table.pos;
	c->many = table.threads;
	for (unsigned i = 0; i < FILES; i++)
		hold(&p, &files[i], &held[i], i + 1, i ? ACCESS_READ | ACCESS_WRITE : ACCESS_READ);
	for (data++, size--; size > ENTRY && !c->lost; data += 1 + ENTRY, size -= 1 + ENTRY) {
		const uint8_t *at = data + 1;
		switch (data[0] % 16) {
		case 0:
			c->opened[c->opens % OPENED] = (struct stopped){.file = 1 + at[0] % (FILES + 1), .tid = at[1] % 3};
			c->opens += c->opens - c->seen < OPENED;
			break;
		case 1:
			if (!counted_is_behind(&p))
				counted_logged(&p, (int8_t)at[0], at[1] % 4 ? &files[at[1] % FILES] : NULL, at[2] % 8);
			break;
		case 2:
		case 3:
			s.epoch++;
			counted_drain(&s, &p, data[0] & 1);
			must(c->high < COUNTED_FDS && c->nlogged <= LOGGED && c->nresumes <= RESUMES);
			must(c->seen <= c->opens && c->opens - c->seen <= OPENED);
			break;
		case 4:
			count(at);
			break;
		case 5: /* anything, anywhere */
			memcpy((unsigned char *)&table.entry[at[0]] + at[1] % 160, at + 2, ENTRY - 2);
			break;
		case 6:
			table.pos += at[0] * 8;
			break;
		default:
			entry(at, data[0] % 16 != 7);
		}
	}
	s.epoch++;
	counted_update(&s, &p);
	for (unsigned i = 0; i < FILES; i++) {
		counted_unsaid(&held[i]);
		io_free(&held[i]);
	}
	c->shared = NULL; /* it is not mapped here */
	counted_free(&s, &p);
	must(log_writer_close(s.log) == 0);
	return 0;
}

#include "capture/node_tracer/programs.h"

#include "capture/node_tracer/programs_int.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char process_object[] = {
#include "process.inc"
};

#define RING_SHARED 8 /* processors a ring */
#define RINGS_MAX 64
#define RINGS_BYTES_MAX (64u << 20)

struct programs {
	struct bpf_object *object;
	struct bpf_link *links[4];
	struct ring_buffer *reader;
	struct rec_control *control;
	int rings[RINGS_MAX];
	/* The kernel's counts of bytes written to each ring, and read. */
	const volatile unsigned long *produced[RINGS_MAX], *consumed[RINGS_MAX];
	unsigned nrings;
	size_t ring_size;
	unsigned processors;
	bool uring;
	void (*each)(void *arg, const void *record, size_t size);
	void *arg;
};

/* Called for each record of a ring. Always 0: go on. */
static int forward_record(void *arg, void *data, size_t size)
{
	struct programs *p = arg;
	p->each(p->arg, data, size);
	return 0;
}

/* The largest power of two up to n, at least a page. */
static size_t power_below(size_t n)
{
	size_t r = 4096;
	while (r * 2 <= n)
		r *= 2;
	return r;
}

/* Makes the ring buffers through which BPF programs tell of events. ring_kb: for each processor, 0: 512; all rings
 * together take RINGS_BYTES_MAX at most. 0; -errno with a sentence. */
static int make_rings(struct programs *p, unsigned ring_kb, int map, struct err *err)
{
	unsigned shared = p->processors < RING_SHARED ? p->processors : RING_SHARED;
	size_t size = (size_t)(ring_kb ? ring_kb : 512) * 1024 * shared;
	if (size * p->nrings > RINGS_BYTES_MAX)
		size = RINGS_BYTES_MAX / p->nrings;
	p->ring_size = power_below(size);
	for (unsigned i = 0; i < p->nrings; i++) {
		p->rings[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "stemma_ring", 0, 0, (uint32_t)p->ring_size, NULL);
		if (p->rings[i] < 0)
			return programs_refused(err, p->rings[i], "cannot make a ring buffer");
		if (bpf_map_update_elem(map, &i, &p->rings[i], 0) < 0)
			return programs_refused(err, errno, "cannot use a ring buffer");
		if (i == 0) {
			p->reader = ring_buffer__new(p->rings[i], forward_record, p, NULL);
			if (!p->reader)
				return programs_refused(err, errno, "cannot read a ring buffer");
		} else if (ring_buffer__add(p->reader, p->rings[i], forward_record, p) < 0)
			return programs_refused(err, errno, "cannot read a ring buffer");
		size_t page = (size_t)sysconf(_SC_PAGESIZE);
		void *consumed = mmap(NULL, page, PROT_READ, MAP_SHARED, p->rings[i], 0);
		void *produced = mmap(NULL, page, PROT_READ, MAP_SHARED, p->rings[i], (off_t)page);
		if (consumed != MAP_FAILED && produced != MAP_FAILED) {
			p->consumed[i] = consumed;
			p->produced[i] = produced;
		}
	}
	return 0;
}

int programs_open(unsigned ring_kb, struct programs **ret, struct err *err)
{
	static const char *const names[] = {"on_fork", "on_exec", "on_exit", "on_uring"};
	struct programs *p = calloc(1, sizeof(*p));
	int n = libbpf_num_possible_cpus(), r;
	if (!p)
		return err_set(err, ENOMEM, "cannot load programs");
	for (unsigned i = 0; i < RINGS_MAX; i++)
		p->rings[i] = -1;
	p->processors = n > 0 ? (unsigned)n : 1;
	unsigned share = RING_SHARED;
	while ((p->processors + share - 1) / share > RINGS_MAX)
		share *= 2;
	p->nrings = (p->processors + share - 1) / share;
	p->object = programs_object(process_object, sizeof(process_object));
	if (!p->object) {
		r = programs_refused(err, errno, "cannot open the programs for processes");
		goto fail;
	}
	/* Declared const, but where the value is until the programs are loaded. */
	struct bpf_map *rodata = programs_section(p->object, ".rodata");
	size_t size = 0;
	uint32_t *of = rodata ? (uint32_t *)(uintptr_t)bpf_map__initial_value(rodata, &size) : NULL;
	if (size < sizeof(*of)) {
		r = err_set(err, EPROTO, "the programs for processes are not what this program was built with");
		goto fail;
	}
	*of = share;
	bpf_map__set_max_entries(bpf_object__find_map_by_name(p->object, "rings"), p->nrings);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(p->object, "scratches"), p->processors);
	struct bpf_program *uring = bpf_object__find_program_by_name(p->object, "on_uring");
	r = bpf_object__load(p->object);
	if (r < 0) {
		r = programs_refused(err, r, "cannot load the programs for processes");
		goto fail;
	}
	r = programs_shared(p->object, sizeof(*p->control), (void **)&p->control, err);
	if (r < 0)
		goto fail;
	p->control->wake = 4096;
	r = make_rings(p, ring_kb, bpf_object__find_map_fd_by_name(p->object, "rings"), err);
	if (r < 0)
		goto fail;
	for (size_t i = 0; i < 4; i++) {
		struct bpf_program *one = bpf_object__find_program_by_name(p->object, names[i]);
		p->links[i] = bpf_program__attach(one);
		if (!p->links[i] && one != uring) {
			r = programs_refused(err, errno, "cannot attach to the kernel's tracepoints of processes");
			goto fail;
		}
	}
	p->uring = p->links[3] != NULL;
	*ret = p;
	return 0;
fail:
	programs_close(p);
	return r;
}

/* NULL is no error. */
void programs_close(struct programs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < 4; i++)
		bpf_link__destroy(p->links[i]);
	ring_buffer__free(p->reader);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < RINGS_MAX; i++) {
		if (p->produced[i]) {
			munmap((void *)(uintptr_t)p->produced[i], page);
			munmap((void *)(uintptr_t)p->consumed[i], page);
		}
		if (p->rings[i] >= 0)
			close(p->rings[i]);
	}
	programs_unshare(p->control, sizeof(*p->control));
	bpf_object__close(p->object);
	free(p);
}

struct rec_control *programs_control(struct programs *p)
{
	return p->control;
}

bool programs_has_uring(const struct programs *p)
{
	return p->uring;
}

int programs_fd(const struct programs *p)
{
	return ring_buffer__epoll_fd(p->reader);
}

int programs_read(struct programs *p, void (*each)(void *arg, const void *record, size_t size), void *arg)
{
	p->each = each;
	p->arg = arg;
	return ring_buffer__consume(p->reader);
}

size_t programs_ring_size(const struct programs *p)
{
	return p->ring_size;
}

void programs_waiting(const struct programs *p, uint64_t *ret_waiting, uint64_t *ret_size)
{
	*ret_waiting = 0;
	for (unsigned i = 0; i < p->nrings; i++)
		*ret_waiting += p->produced[i] ? *p->produced[i] - *p->consumed[i] : 0;
	*ret_size = (uint64_t)p->ring_size * p->nrings;
}

uint64_t programs_memory(const struct programs *p)
{
	return (uint64_t)p->ring_size * p->nrings + programs_maps(p->object);
}

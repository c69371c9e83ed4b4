#include "capture/function_trace/functions.h"

#include "capture/node_tracer/programs_int.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned char functions_object[] = {
#include "functions.inc"
};

/* Of linux/bpf.h, since 6.6. */
enum { LINK_CREATE = 28, ATTACH_UPROBE_MULTI = 48 };
struct multi_attr {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, references, cookies;
	uint32_t count, multi_flags, pid, room;
};

struct functions {
	struct bpf_object *object;
	struct bpf_link *watch[3];
	struct bpf_link **single;
	size_t n_single;
	int *multi; /* a program of the found each */
	size_t n_multi;
	struct ring_buffer *reader;
	struct function_control *control;
	void (*each)(void *arg, const struct function_record *t, size_t size);
	void *arg;
};

/* Passes records of the full size on, and leaves shorter ones out. Always 0. */
static int pass_record(void *arg, void *data, size_t size)
{
	struct functions *x = arg;
	if (size >= sizeof(struct function_record))
		x->each(x->arg, data, size);
	return 0;
}

/* Attaches a program to all functions of one program. -EINVAL: the kernel does not know how. */
static int attach_multi(struct functions *x, const struct found *f, uint32_t program, int bpf)
{
	uint64_t *offsets = calloc(f->n + 1, sizeof(*offsets)), *cookies = calloc(f->n + 1, sizeof(*cookies));
	struct multi_attr a = {.program = (uint32_t)bpf, .type = ATTACH_UPROBE_MULTI};
	long fd = -ENOMEM;
	for (size_t i = 0; offsets && cookies && i < f->n; i++)
		if (f->v[i].program == program) {
			offsets[a.count] = f->v[i].offset + f->v[i].probe;
			cookies[a.count++] = i;
		}
	a.path = (uint64_t)(uintptr_t)f->programs[program].path;
	a.offsets = (uint64_t)(uintptr_t)offsets;
	a.cookies = (uint64_t)(uintptr_t)cookies;
	if (offsets && cookies && a.count) {
		fd = syscall(SYS_bpf, LINK_CREATE, &a, sizeof(a));
		fd = fd < 0 ? -errno : fd;
	}
	free(offsets);
	free(cookies);
	if (fd >= 0)
		x->multi[x->n_multi++] = (int)fd;
	return fd < 0 && a.count ? (int)fd : 0;
}

/* A probe for each, for kernels that cannot take all at once. 0; -E2BIG: too many; -errno; with a sentence. */
static int attach_single(struct functions *x, const struct found *f, struct bpf_program *bpf, struct err *err)
{
	if (f->n > FUNCTIONS_SINGLE)
		return err_set(err, 0, "%zu functions have such names: before Linux 6.6 no more than %d can be traced", f->n,
		               FUNCTIONS_SINGLE),
		       -E2BIG;
	x->single = calloc(f->n + 1, sizeof(struct bpf_link *));
	if (!x->single)
		return err_set(err, ENOMEM, "cannot trace functions");
	for (; x->n_single < f->n; x->n_single++) {
		const struct found_function *v = &f->v[x->n_single];
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = x->n_single);
		x->single[x->n_single] =
		    bpf_program__attach_uprobe_opts(bpf, -1, f->programs[v->program].path, v->offset + v->probe, &opts);
		if (!x->single[x->n_single]) {
			char what[FUNCTION_NAME_MAX + 64];
			int e = errno;
			snprintf(what, sizeof(what), "the kernel does not allow tracing of the function %s", v->name);
			return programs_refused(err, e, what);
		}
	}
	return 0;
}

/* Attaches the BPF programs to the functions that were found. 0; -errno with a sentence. What was attached is x's in
 * any case. */
static int attach_programs(struct functions *x, const struct found *f, bool single, struct err *err)
{
	static const char *const names[] = {"on_fork", "on_exec", "on_exit"};
	struct bpf_program *enter = bpf_object__find_program_by_name(x->object, "on_enter");
	int begin = bpf_program__fd(bpf_object__find_program_by_name(x->object, "begin_command")), r = 0;
	for (size_t i = 0; i < 3; i++) {
		x->watch[i] = bpf_program__attach(bpf_object__find_program_by_name(x->object, names[i]));
		if (!x->watch[i])
			return programs_refused(err, errno, "cannot attach to the kernel's tracepoints of processes");
	}
	LIBBPF_OPTS(bpf_test_run_opts, run);
	r = bpf_prog_test_run_opts(begin, &run);
	if (r < 0 || run.retval)
		return programs_refused(err, r < 0 ? -r : EIO, "cannot select the processes to trace");
	x->multi = calloc(f->n_programs + 1, sizeof(*x->multi));
	if (!x->multi)
		return err_set(err, ENOMEM, "cannot trace functions");
	for (uint32_t i = 0; r == 0 && !single && i < f->n_programs; i++)
		r = attach_multi(x, f, i, bpf_program__fd(enter));
	if (single || (r == -EINVAL && !x->n_multi))
		return attach_single(x, f, enter, err);
	return r < 0 ? programs_refused(err, -r, "the kernel does not allow tracing of these functions") : 0;
}

int functions_open(const struct found *f, bool single, uint32_t ring, struct functions **ret, struct err *err)
{
	struct functions *x = calloc(1, sizeof(*x));
	int r = -ENOMEM;
	if (!x)
		return err_set(err, ENOMEM, "cannot trace functions");
	x->object = programs_object(functions_object, sizeof(functions_object));
	if (!x->object) {
		r = programs_refused(err, errno, "cannot open the programs that trace functions");
		goto fail;
	}
	struct bpf_program *enter = bpf_object__find_program_by_name(x->object, "on_enter");
	/* Kernels that do not know it do not look at it. */
	if (!single)
		bpf_program__set_expected_attach_type(enter, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(x->object, "ring"), ring);
	r = bpf_object__load(x->object);
	if (r < 0) {
		r = programs_refused(err, -r,
		                     r == -EPERM ? "tracing functions needs root, or CAP_BPF and CAP_PERFMON"
		                                 : "cannot load the programs that trace functions: they need Linux 5.17");
		goto fail;
	}
	r = programs_shared(x->object, sizeof(*x->control), (void **)&x->control, err);
	if (r < 0)
		goto fail;
	x->reader = ring_buffer__new(bpf_object__find_map_fd_by_name(x->object, "ring"), pass_record, x, NULL);
	if (!x->reader) {
		r = programs_refused(err, errno, "cannot read a ring buffer");
		goto fail;
	}
	r = attach_programs(x, f, single, err);
	if (r < 0)
		goto fail;
	*ret = x;
	return 0;
fail:
	functions_close(x);
	return r;
}

/* NULL is no error. */
void functions_close(struct functions *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < 3; i++)
		bpf_link__destroy(x->watch[i]);
	for (size_t i = 0; i < x->n_single; i++)
		bpf_link__destroy(x->single[i]);
	for (size_t i = 0; i < x->n_multi; i++)
		close(x->multi[i]);
	ring_buffer__free(x->reader);
	programs_unshare(x->control, sizeof(*x->control));
	bpf_object__close(x->object);
	free(x->single);
	free(x->multi);
	free(x);
}

/* To be polled: readable where there is something. */
int functions_fd(const struct functions *x)
{
	return ring_buffer__epoll_fd(x->reader);
}

int functions_read(struct functions *x, void (*each)(void *arg, const struct function_record *t, size_t size),
                   void *arg)
{
	x->each = each;
	x->arg = arg;
	return ring_buffer__consume(x->reader);
}

void functions_stop(struct functions *x)
{
	__atomic_store_n(&x->control->off, 1, __ATOMIC_RELEASE);
}

/* Shared with the programs in the kernel; it lives as long as x. */
const volatile struct function_control *functions_control(const struct functions *x)
{
	return x->control;
}

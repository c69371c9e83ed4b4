#include "capture/node_tracer/programs.h"
#include "capture/node_tracer/programs_int.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What libbpf complained of first: it says more than its error number. */
static _Thread_local char complaint[160];

/* libbpf's callback: keeps the first warning, without its prefix. Always 0. */
__attribute__((format(printf, 2, 0))) static int keep_complaint(enum libbpf_print_level level, const char *fmt,
                                                                va_list ap)
{
	char line[sizeof(complaint)];
	if (level != LIBBPF_WARN || complaint[0])
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	const char *p = strncmp(line, "libbpf: ", 8) ? line : line + 8;
	memmove(complaint, p, strlen(p) + 1);
	return 0;
}

struct bpf_object *programs_object(const void *bytes, size_t size)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "stemma");
	complaint[0] = '\0';
	libbpf_set_print(keep_complaint);
	return bpf_object__open_mem(bytes, size, &opts);
}

int programs_refused(struct err *err, int r, const char *what)
{
	int e = r < 0 ? -r : r;
	if (e == EPERM || e == EACCES || !*complaint)
		return err_set(err, e, "%s", what);
	return err_set(err, e, "%s (%s)", what, complaint);
}

struct bpf_map *programs_section(const struct bpf_object *o, const char *section)
{
	struct bpf_map *m;
	bpf_object__for_each_map(m, o)
	{
		const char *dot = strrchr(bpf_map__name(m), '.');
		if (dot && !strcmp(dot, section))
			return m;
	}
	return NULL;
}

/* A mapping is of whole pages. */
static size_t round_to_pages(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (n + page - 1) / page * page;
}

int programs_shared(const struct bpf_object *o, size_t size, void **ret, struct err *err)
{
	struct bpf_map *m = programs_section(o, ".bss");
	if (!m || bpf_map__value_size(m) < size)
		return err_set(err, EPROTO, "the programs for the kernel are not what this program was built with");
	void *p = mmap(NULL, round_to_pages(size), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
	if (p == MAP_FAILED)
		return err_set(err, errno, "cannot map the variables of the kernel's programs");
	*ret = p;
	return 0;
}

/* p NULL: nothing. */
void programs_unshare(void *p, size_t size)
{
	if (p)
		munmap(p, round_to_pages(size));
}

uint64_t programs_maps(const struct bpf_object *o)
{
	uint64_t n = 0;
	struct bpf_map *m;
	/* An element of a hash has 48 bytes of its own beside key and value. */
	bpf_object__for_each_map(m, o) n +=
	    (uint64_t)bpf_map__max_entries(m) *
	    (((bpf_map__key_size(m) + 7u) & ~7u) + ((bpf_map__value_size(m) + 7u) & ~7u) + 48u);
	return n;
}

bool programs_has_fentry(void)
{
	/* r0 = 0; exit */
	const struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "vfs_open", BTF_KIND_FUNC) : -1, prog = -1, link = -1;
	btf__free(btf);
	if (id > 0) {
		opts.attach_btf_id = (uint32_t)id;
		prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "stemma_probe", "GPL", insns, 2, &opts);
	}
	if (prog >= 0)
		link = bpf_raw_tracepoint_open(NULL, prog);
	if (link >= 0)
		close(link);
	if (prog >= 0)
		close(prog);
	return link >= 0;
}

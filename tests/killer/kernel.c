#include "killer.h"

#include "control.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned char programs[] __attribute__((aligned(8))) = {
#include "killer.inc"
};

static volatile struct killer_control *control;

static int say_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

static int map_control(const struct bpf_object *o)
{
	struct bpf_map *m;
	bpf_object__for_each_map(m, o)
	{
		const char *dot = strrchr(bpf_map__name(m), '.');
		if (!dot || strcmp(dot, ".bss") != 0)
			continue;
		size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (sizeof(*control) + page - 1) / page * page;
		void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
		control = p == MAP_FAILED ? NULL : p;
		return control ? 0 : -errno;
	}
	return -EPROTO;
}

int killer_kernel_open(char *why, size_t size)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "killer");
	libbpf_set_print(say_nothing);
	struct bpf_object *o = bpf_object__open_mem(programs, sizeof(programs), &opts);
	struct bpf_program *p;
	int r = o ? bpf_object__load(o) : -errno;
	if (r < 0) {
		snprintf(why, size, "the kernel does not load the programs: %s", strerror(-r));
		return r;
	}
	bpf_object__for_each_program(p, o)
	{
		if (!bpf_program__attach(p)) {
			r = -errno;
			snprintf(why, size, "the kernel does not run %s: %s", bpf_program__name(p), strerror(-r));
			return r;
		}
	}
	r = map_control(o);
	if (r < 0)
		snprintf(why, size, "the variables of the programs cannot be mapped: %s", strerror(-r));
	return r;
}

void killer_kernel(const struct killer_round *r, struct killer_report *ret)
{
	int go[2], status = 0;
	char byte = 0;
	*ret = (struct killer_report){.status = 125};
	memset((void *)(size_t)control, 0, sizeof(*control));
	if (pipe(go) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(125);
		close(go[0]);
		killer_become(r);
	}
	close(go[0]);
	if (pid > 0) {
		control->of_worker = r->of_worker;
		control->of_keeper = r->of_keeper;
		control->number = r->number;
		control->k = r->k;
		control->pending = (unsigned)pid;
		if (write(go[1], &byte, 1) == 1 && waitpid(pid, &status, 0) == pid)
			ret->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	close(go[1]);
	ret->worker = control->calls_worker;
	ret->keeper = control->calls_keeper;
	ret->standby = control->standby;
	ret->killed = control->killed;
	control->keeper = 0;
}

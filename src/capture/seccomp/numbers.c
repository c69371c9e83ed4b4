/* Run while building: the numbers of the calls in calls.def, for each architecture and its 32-bit sibling, from
 * libseccomp's tables. So that what is built needs neither the library nor the time to ask it: see filter.c. */
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define CALL(name, word, set) #name,
#include "capture/seccomp/calls.def"
#undef CALL
};

/* The number of a call by its name: by the number's name and not the name's number: for calls that can also be made
 * by way of another (socketcall) the latter is none. -1: there is none. */
static int resolve_call_number(uint32_t arch, const char *name)
{
	int ret = -1;
	for (int nr = 0; nr < 512 && ret < 0; nr++) {
		char *is = seccomp_syscall_resolve_num_arch(arch, nr);
		if (is && !strcmp(is, name))
			ret = nr;
		free(is);
	}
	return ret;
}

/* Prints the table of calls' numbers as C, by architecture. */
int main(void)
{
	static const struct {
		const char *macro;
		uint32_t arch[2];
	} machines[] = {
	    {"__x86_64__", {SCMP_ARCH_X86_64, SCMP_ARCH_X86}},
	    {"__aarch64__", {SCMP_ARCH_AARCH64, SCMP_ARCH_ARM}},
	};
	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
		printf("#%s defined(%s)\n", m ? "elif" : "if", machines[m].macro);
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			printf("{%d, %d}, /* %s */\n", resolve_call_number(machines[m].arch[0], names[i]),
			       resolve_call_number(machines[m].arch[1], names[i]), names[i]);
	}
	return puts("#else\n#error \"no table of system calls for this architecture\"\n#endif") < 0;
}

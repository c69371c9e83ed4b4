/* killer.h - the two ways to kill a recorder behind its k-th call, and what a round tells. Only for stemma-killer. */
#ifndef STEMMA_TESTS_KILLER_H
#define STEMMA_TESTS_KILLER_H

#include <stdbool.h>
#include <sys/types.h>

/* Whose calls count, those of which number (-1: all), and who is killed. k 0: nobody. command: NULL behind its last. */
struct killer_round {
	bool of_worker, of_keeper;
	int number;
	unsigned long k;
	const char *folder;
	char **command;
};

/* The calls that were made up to the kill, or in all; whether there was a standby by then. status: of the command, 128
 * + signal if one killed it. */
struct killer_report {
	unsigned long worker, keeper;
	bool standby, killed;
	int status;
};

/* In the process that becomes the command: its folder, no input, no output. Does not return. */
void killer_become(const struct killer_round *r);

/* By ptrace: each call stops twice. Returns when the command has ended and nobody is traced. */
void killer_traced(const struct killer_round *r, struct killer_report *ret);

/* By programs in the kernel: nothing is stopped. -errno, with a sentence in why, where they cannot be loaded. */
int killer_kernel_open(char *why, size_t size);
void killer_kernel(const struct killer_round *r, struct killer_report *ret);

#endif

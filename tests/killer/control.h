/* control.h - what stemma-killer and its programs in the kernel share: a variable of those, mapped. */
#ifndef STEMMA_TESTS_KILLER_CONTROL_H
#define STEMMA_TESTS_KILLER_CONTROL_H

#define KILLER_WORKERS 16 /* forks of the keeper that are remembered */

struct killer_control {
	unsigned int pending; /* becomes the keeper by its exec; 0 none */
	unsigned int keeper;  /* processes by their number; 0 none */
	unsigned int nworkers;
	unsigned int workers[KILLER_WORKERS]; /* the last one is who is killed */
	unsigned int of_worker, of_keeper;    /* whose calls count, and who is killed */
	unsigned int standby, killed;
	int number;           /* the calls of this number count; -1: all */
	unsigned long long k; /* 0: nobody is killed */
	unsigned long long calls_worker, calls_keeper;
};

#endif

/* functions_record.h - what the program in the kernel tells of functions that are entered (functions.bpf.c), in the
 * order in which it happened. Shared with it: plain types only. */
#ifndef STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_RECORD_H
#define STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_RECORD_H

enum {
	RECORD_ENTER = 1, /* struct function_record */
	RECORD_STACK,     /* the thread's next ENTER is on another stack: sp its lowest byte, back the one behind its end */
	RECORD_FORK,      /* sp: the new thread, back: its process */
	RECORD_EXIT,      /* sp: as wait() would have it; back: it is the process's last thread */
	RECORD_EXEC,      /* struct function_exec_record */
};

enum {
	RECORD_ALTERNATE = 1, /* on the stack for signals */
	RECORD_UNKNOWN = 2,   /* which stack it is could not be told */
	RECORD_UNREAD = 4,    /* back is not known */
};

struct function_record {
	unsigned int tid;
	unsigned short what, flags;
	unsigned int pid; /* ENTER: how many of those that were told before are still open, as far as the stack shows */
	unsigned int function;
	unsigned long long sp;
	long long back; /* ENTER: where it returns to, as a distance from the probe */
};

#define RECORD_NAME_MAX 255
struct function_exec_record {
	struct function_record head; /* sp: the thread's number before */
	unsigned long long started;  /* of the process, ns since boot */
	char name[RECORD_NAME_MAX + 1];
};

/* Counted in the kernel. */
struct function_control {
	unsigned long long lost;   /* records for which there was no room */
	unsigned long long beyond; /* threads that could not be followed */
	unsigned long long other;  /* calls by processes that are none of the run's */
	unsigned long long told;   /* calls of the run */
	unsigned long long off;    /* set by the reader: nothing is told any more */
};

#endif

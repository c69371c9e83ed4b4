/* summary.h - what one task used: the summary of `run --summary`, in memory and as JSON.
 *
 * Each figure has a value, the method it was found by, bounds where it is not exact, and whether it is complete; one
 * that is not known has the reason, never a 0. Strings are owned by the summary. No threads, no printing. */
#ifndef STEMMA_SUMMARY_SUMMARY_H
#define STEMMA_SUMMARY_SUMMARY_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum figure_name {
#define FIGURE(name, unit, decimals, meaning) FIGURE_##name,
#include "summary/figures.def"
	FIGURES
};

struct figure {
	bool known;    /* else only `absent` counts */
	bool bounded;  /* low and high hold; else the value is exact */
	bool complete; /* false: part of the task was not seen, the truth may be more */
	int64_t value, low, high;
	char *method; /* how it was found: "wait4", "cgroup", "exit stop", "sample 1s", ... */
	char *absent; /* why it is not known; NULL: nobody asked */
};

/* Of one process. Times ns, sizes bytes; -1 not known. */
struct summary_process {
	pid_t pid, ppid;
	char *exe;          /* path of its last program; NULL unknown */
	int64_t start, end; /* ns since 1970 */
	int64_t user_time, system_time;
	int64_t resident_peak, virtual_peak;
	int64_t bytes_read, bytes_written;
	int64_t threads_peak;
	int status; /* wait status; -1 not known */
};

struct summary_limit {
	char *name;          /* as in --limit */
	int64_t peak, limit; /* in the limit's own unit: ns, bytes, count */
};

/* Of the machine: name, kernel, machine ("x86_64"), cpu (its model), cores, memory (bytes), load, container, job
 * (NAME=value of the scheduler's variable), and what else is known. */
struct summary_pair {
	char *key, *value;
};

/* A regular file that was opened. */
struct summary_file {
	char *path;
	int64_t size; /* as it was seen last; -1 not known */
	bool read, written;
	char *how; /* it was seen: "open"; "descriptor": it was held, by whoever opened it */
};

#define SUMMARY_FORMAT 1 /* of the JSON */

enum exit_type { EXIT_TYPE_UNKNOWN, EXIT_TYPE_NORMAL, EXIT_TYPE_SIGNAL, EXIT_TYPE_LIMIT };

struct summary {
	char *run; /* ULID; NULL: of no run of ours */
	char *cwd, *user;
	char **argv; /* redacted; NULL-terminated, NULL unknown */
	struct figure figure[FIGURES];
	enum exit_type exit_type;
	int exit_status, signal;     /* -1: none */
	bool oom;                    /* killed by the kernel for want of memory */
	struct summary_limit *limit; /* that it was held to, all of them */
	size_t nlimit;
	struct summary_limit *exceeded;
	size_t nexceeded;
	struct summary_pair *host, *label; /* description of the machine; the user's labels */
	size_t nhost, nlabel;
	char **escaped; /* what outlived the command or could not be followed: a sentence each */
	size_t nescaped;
	struct summary_process *process;
	size_t nprocess;
	struct summary_file *file;
	size_t nfile;
	bool files_told, files_complete; /* there is a list of files; each that was opened is in it */
};

void summary_init(struct summary *s); /* everything unknown */
void summary_release(struct summary *s);

/* Setting a figure again replaces it. method and absent are copied. 0 or -ENOMEM. */
int summary_set(struct summary *s, enum figure_name f, int64_t value, const char *method, bool complete);
int summary_set_bounds(struct summary *s, enum figure_name f, int64_t value, int64_t low, int64_t high,
                       const char *method, bool complete);
int summary_absent(struct summary *s, enum figure_name f, const char *why);

const char *figure_key(enum figure_name f);  /* "cpu_time" */
const char *figure_unit(enum figure_name f); /* "s" */
int figure_decimals(enum figure_name f);
/* The figure of that name, or -ENOENT. */
int figure_by_name(const char *name);
const char *exit_type_name(enum exit_type t); /* "normal"; NULL unknown */

/* In which unit the limit of that name stands in the JSON: times in s and cores with their decimals, sizes in B, all
 * else is counted ("", 0). Never NULL. */
struct limit_unit {
	const char *unit;
	unsigned decimals;
};
const struct limit_unit *limit_unit_of(const char *name);

/* Appends the summary as JSON (the contract in doc/ARCHITECTURE.md; format 1). with_processes: also the record of each
 * process. What is not UTF-8 stands lossy in its field and exactly in ..._base64. 0 or -ENOMEM. */
int summary_json(const struct summary *s, bool with_processes, bool indent, struct buf *ret);
/* Reads one. Fields it does not know are passed over; a newer `format` is an error. Numbers are read exactly; what has
 * more decimals than its figure is rounded. 0 or -errno with a sentence. *ret is to be released by the caller on
 * success only. */
int summary_read(const char *text, size_t n, struct err *err, struct summary *ret);

#endif

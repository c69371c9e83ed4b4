/* Files that recorders and build tools leave: each part of the input (fuzz_parts.h) is one file; its first byte says
 * which of the names below it gets. Whatever they are, the jobs become a segment, and all of it is read again as it was
 * written. */
#include "adopt/adopt.h"
#include "fuzz_home.h"
#include "fuzz_parts.h"

#define PARTS 4

static const char *const names[] = {"work/a.strace",
                                    "work/dvc.lock",
                                    "work/.ninja_log",
                                    "work/build.ninja",
                                    "work/.ninja_deps",
                                    "work/meta.yaml",
                                    "work/a.darshan.txt",
                                    "work/audit.log",
                                    "work/trace.sqlite3",
                                    "work/history.gitlog",
                                    "work/compile_commands.json",
                                    "work/jobs.sacct"};

static uint64_t sum(const uint64_t v[ADOPT_TOOL_COUNT])
{
	uint64_t all = 0;
	for (int i = 0; i < ADOPT_TOOL_COUNT; i++)
		all += v[i];
	return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *part[PARTS];
	size_t n[PARTS];
	char folder[64];
	struct adopt_jobs jobs;
	struct adopt_report report;
	struct err err = {0};
	fuzz_parts(data, size, PARTS, part, n);
	fuzz_home_folder("work");
	fuzz_home_folder("logs");
	for (int i = 0; i < PARTS; i++) {
		struct buf b = {.p = (char *)part[i] + (n[i] > 0), .n = n[i] ? n[i] - 1 : 0};
		if (b.n)
			fuzz_home_file(names[(unsigned char)part[i][0] % (sizeof(names) / sizeof(*names))], &b);
	}
	fuzz_home_file("work/result", &(struct buf){.p = (char *)"1", .n = 1});
	snprintf(folder, sizeof(folder), "%s/work", fuzz_home);
	must(adopt_find(folder, &jobs, &err) == 0);
	for (size_t i = 0; i < jobs.v.n; i++) {
		must(jobs.v.v[i].name && jobs.v.v[i].cwd && jobs.v.v[i].source);
		must(!jobs.v.v[i].in_at.n || jobs.v.v[i].in_at.n == jobs.v.v[i].in.n);
		must(!jobs.v.v[i].out_at.n || jobs.v.v[i].out_at.n == jobs.v.v[i].out.n);
	}
	must(adopt_write(&jobs, NULL, fuzz_home, false, &err, &report) == 0);
	must(report.added == (sum(report.jobs) > 0));
	must(adopt_write(&jobs, NULL, fuzz_home, false, &err, &report) == 0 && !report.added);
	adopt_release(&jobs);
	return 0;
}

/* A folder with what workflow systems left: the input's parts (fuzz_parts.h) are a metadata file of Snakemake's, a
 * crate, events, and the head, script and exit status of a task of Nextflow's. Whatever they are, the jobs become a
 * segment, and all of it is read again as it was written. */
#include "adopt/adopt.h"
#include "fuzz_home.h"
#include "fuzz_parts.h"

static void put(const char *name, const char *part, size_t n)
{
	struct buf b = {.p = (char *)part, .n = n};
	if (n)
		fuzz_home_file(name, &b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *part[6];
	size_t n[6];
	char folder[64];
	struct adopt_jobs jobs;
	struct adopt_report report;
	struct err err = {0};
	fuzz_parts(data, size, 6, part, n);
	fuzz_home_folder("work");
	fuzz_home_folder("work/.snakemake");
	fuzz_home_folder("work/.snakemake/metadata");
	fuzz_home_folder("work/task");
	fuzz_home_folder("logs");
	put("work/.snakemake/metadata/b3V0", part[0], n[0]);
	put("work/ro-crate-metadata.json", part[1], n[1]);
	put("work/events.jsonl", part[2], n[2]);
	put("work/task/.command.run", part[3], n[3]);
	put("work/task/.command.sh", part[4], n[4]);
	put("work/task/.exitcode", part[5], n[5]);
	put("work/task/result", "1", 1);
	snprintf(folder, sizeof(folder), "%s/work", fuzz_home);
	must(adopt_find(folder, &jobs, &err) == 0);
	for (size_t i = 0; i < jobs.v.n; i++)
		must(jobs.v.v[i].name && jobs.v.v[i].cwd && jobs.v.v[i].source);
	must(adopt_write(&jobs, NULL, fuzz_home, false, &err, &report) == 0);
	uint64_t all = 0;
	for (int i = 0; i < ADOPT_TOOL_COUNT; i++)
		all += report.jobs[i];
	must(report.added == (all > 0));
	must(adopt_write(&jobs, NULL, fuzz_home, false, &err, &report) == 0 && !report.added);
	adopt_release(&jobs);
	return 0;
}

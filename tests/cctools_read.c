/* cctools-read FILE - what cctools' own reader makes of a summary of resource_monitor: a line "field value" each. Built
 * where its library is. */
#include <cctools/rmsummary.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	static const char *const fields[] = {
	    "start",           "end",         "wall_time",       "cpu_time",      "memory", "virtual_memory",
	    "swap_memory",     "disk",        "bytes_read",      "bytes_written", "cores",  "max_concurrent_processes",
	    "total_processes", "total_files", "context_switches"};
	struct rmsummary *s = argc == 2 ? rmsummary_parse_file_single(argv[1]) : NULL;
	if (!s)
		return 1;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		printf("%s %.17g\n", fields[i], rmsummary_get(s, fields[i]));
		if (s->limits_exceeded)
			printf("limit_%s %.17g\n", fields[i], rmsummary_get(s->limits_exceeded, fields[i]));
	}
	printf("command %s\nexit_type %s\nexit_status %lld\n", s->command, s->exit_type, (long long)s->exit_status);
	rmsummary_delete(s);
	return 0;
}

#include "monitor/series.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct series {
	int fd;
	bool lines; /* of JSON */
	int failed; /* errno */
};

/* The columns: of a peak, what is used at the moment; of a total, what was used so far. */
static const struct {
	enum figure_name figure;
	const char *name;
} columns[] = {
    {FIGURE_cpu_time, "cpu_time"},
    {FIGURE_cores_peak, "cores"},
    {FIGURE_memory_resident_peak, "memory_resident"},
    {FIGURE_memory_anonymous_peak, "memory_anonymous"},
    {FIGURE_memory_file_peak, "memory_file"},
    {FIGURE_memory_shared_peak, "memory_shared"},
    {FIGURE_memory_virtual_peak, "memory_virtual"},
    {FIGURE_swap_peak, "swap"},
    {FIGURE_bytes_read, "bytes_read"},
    {FIGURE_bytes_written, "bytes_written"},
    {FIGURE_storage_read, "storage_read"},
    {FIGURE_storage_written, "storage_written"},
    {FIGURE_processes_concurrent_peak, "processes"},
    {FIGURE_processes_total, "processes_total"},
    {FIGURE_threads_peak, "threads"},
    {FIGURE_open_files_peak, "open_files"},
    {FIGURE_disk_footprint_peak, "disk_footprint"},
    {FIGURE_files_peak, "files"},
    {FIGURE_gpu_memory_peak, "gpu_memory"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Writes and releases b. A failure is noted, and nothing is told. */
static void write_series(struct series *s, struct buf *b)
{
	/* A disk that is full is no reason to end: the summary says what there was. */
	int rc = b->failed ? -ENOMEM : io_write(s->fd, b->p, b->n, NULL);
	if (rc < 0)
		s->failed = -rc;
	buf_release(b);
}

int series_open(const char *path, struct err *err, struct series **ret)
{
	struct series *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	size_t n = strlen(path);
	s->lines = n >= 6 && !strcmp(path + n - 6, ".jsonl");
	s->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (s->fd < 0) {
		int rc = err_set(err, errno, "cannot write '%s'", path);
		free(s);
		return rc;
	}
	if (!s->lines) {
		struct buf b = {0};
		buf_str(&b, str_of("time\tsince"));
		for (size_t i = 0; i < COLUMNS; i++)
			buf_printf(&b, "\t%s", columns[i].name);
		buf_char(&b, '\n');
		write_series(s, &b);
	}
	if (s->failed) {
		int rc = err_set(err, s->failed, "cannot write '%s'", path);
		series_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* value without its decimals, e.g. 1234 and 3: 1.234. It must not be negative. */
static void append_fixed_point(struct buf *b, int64_t value, int decimals)
{
	int64_t unit = 1;
	for (int i = 0; i < decimals; i++)
		unit *= 10;
	if (decimals)
		buf_printf(b, "%lld.%0*lld", (long long)(value / unit), decimals, (long long)(value % unit));
	else
		buf_printf(b, "%lld", (long long)value);
}

int series_add(struct series *s, const struct monitor_now *now)
{
	struct buf b = {0};
	if (s->failed)
		return s->failed;
	buf_str(&b, str_of(s->lines ? "{\"time\": " : ""));
	append_fixed_point(&b, now->time, 9);
	buf_str(&b, str_of(s->lines ? ", \"since\": " : "\t"));
	append_fixed_point(&b, now->since, 9);
	for (size_t i = 0; i < COLUMNS; i++) {
		int64_t v = now->value[columns[i].figure];
		if (s->lines)
			buf_printf(&b, ", \"%s\": ", columns[i].name);
		else
			buf_char(&b, '\t');
		if (v >= 0)
			append_fixed_point(&b, v, figure_decimals(columns[i].figure));
		else if (s->lines)
			buf_str(&b, str_of("null"));
	}
	buf_str(&b, str_of(s->lines ? "}\n" : "\n"));
	write_series(s, &b);
	return s->failed;
}

/* NULL is no error. */
void series_close(struct series *s)
{
	if (!s)
		return;
	close(s->fd);
	free(s);
}

#include "base/unsafe_char.h"
#include "base/utf8.h"
#include "summary/decimal.h"
#include "summary/kickstart.h"
#include "summary/units.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define NS 1000000000ll

/* In double quotes, with escapes for all that YAML 1.1 does not print or takes for the end of a line. */
static void write_yaml_quoted(struct buf *b, const char *s)
{
	size_t n = strlen(s);
	uint32_t c = 0;
	buf_char(b, '"');
	for (size_t i = 0, k; i < n; i += k) {
		k = utf8_char(s + i, n - i, &c);
		if (!k) {
			k = 1;
			buf_str(b, str_of("\xef\xbf\xbd"));
		} else if (c == '"' || c == '\\') {
			buf_printf(b, "\\%c", (char)c);
		} else if (c == '\n' || c == '\t') {
			buf_str(b, str_of(c == '\n' ? "\\n" : "\\t"));
		} else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
			buf_printf(b, "\\x%02x", (unsigned)c);
		} else if ((unsafe_char(c) && c >= 0xa0) || c == 0xfffe || c == 0xffff) {
			buf_printf(b, "\\u%04x", (unsigned)c);
		} else {
			buf_add(b, s + i, k);
		}
	}
	buf_char(b, '"');
}

/* Writes a text as a member. key: with its indentation and colon, as " name: ". */
static void write_yaml_text(struct buf *b, const char *key, const char *value)
{
	if (value) {
		buf_str(b, str_of(key));
		write_yaml_quoted(b, value);
		buf_char(b, '\n');
	}
}

/* ISO 8601 with milliseconds and a zone, as kickstart writes it. */
static void write_yaml_date(struct buf *b, const char *key, int64_t ns)
{
	time_t t = (time_t)(ns / NS);
	struct tm tm;
	char day[64];
	if (ns >= 0 && gmtime_r(&t, &tm) && strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
		buf_printf(b, "%s%s.%03d+00:00\n", key, day, (int)(ns % NS / 1000000));
}

/* Always with a point: what reads it takes the type from that. */
static void write_yaml_seconds(struct buf *b, const char *key, int64_t ns)
{
	buf_printf(b, "%s%lld.%06d\n", key, (long long)(ns / NS), (int)(ns % NS / 1000));
}

/* Writes a number as a member. Negative: not known, left out. */
static void write_yaml_known(struct buf *b, const char *key, int64_t value)
{
	if (value >= 0)
		buf_printf(b, "%s%lld\n", key, (long long)value);
}

/* A figure of the summary. NULL: not known. */
static const struct figure *find_known_figure(const struct summary *s, enum figure_name f)
{
	const struct figure *v = &s->figure[f];
	return v->known && v->value >= 0 ? v : NULL;
}

/* The value of a label. NULL: it has none. Belongs to s. */
static const char *find_label(const struct summary *s, const char *key)
{
	for (size_t i = 0; i < s->nlabel; i++)
		if (strcmp(s->label[i].key, key) == 0)
			return s->label[i].value;
	return NULL;
}

/* Writes what the task used. Nothing at all if no figure is known. */
static void write_usage(struct buf *b, const struct summary *s)
{
	static const struct {
		const char *key;
		enum figure_name figure;
		int64_t unit; /* the figure's, in one of theirs; 0 seconds */
	} rows[] = {
#define USAGE(key, figure, unit) {#key, FIGURE_##figure, unit},
#include "summary/kickstart.def"
	};
	size_t empty = b->n;
	buf_str(b, str_of("    usage:\n"));
	size_t at = b->n;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct figure *v = find_known_figure(s, rows[i].figure);
		if (!v)
			continue;
		buf_printf(b, "      %s", rows[i].key);
		if (!rows[i].unit)
			write_yaml_seconds(b, ": ", v->value);
		else
			write_yaml_known(b, ": ", v->value / rows[i].unit + (v->value % rows[i].unit != 0));
	}
	if (b->n == at)
		b->n = empty;
}

/* Writes how the task ended, as wait gives it; nothing where it is not known. */
static void write_status(struct buf *b, const struct summary *s)
{
	if (s->signal > 0) {
		const char *name = strsignal(s->signal);
		buf_printf(b, "    status:\n      raw: %d\n      signalled_signal: %d\n", W_EXITCODE(0, s->signal), s->signal);
		write_yaml_text(b, "      signalled_name: ", name ? name : "");
	} else if (s->exit_status >= 0) {
		buf_printf(b, "    status:\n      raw: %d\n      regular_exitcode: %d\n", W_EXITCODE(s->exit_status, 0),
		           s->exit_status);
	}
}

/* Writes a process. Nothing without a process id. What is not known is left out; memory in KiB. */
static void write_yaml_process(struct buf *b, const struct summary_process *p)
{
	if (p->pid < 0)
		return;
	buf_printf(b, "      %d:\n", (int)p->pid);
	write_yaml_known(b, "        ppid: ", p->ppid);
	write_yaml_known(b, "        pid: ", p->pid);
	write_yaml_text(b, "        exe: ", p->exe);
	if (p->start >= 0)
		write_yaml_seconds(b, "        start: ", p->start);
	if (p->end >= 0)
		write_yaml_seconds(b, "        stop: ", p->end);
	if (p->user_time >= 0)
		write_yaml_seconds(b, "        utime: ", p->user_time);
	if (p->system_time >= 0)
		write_yaml_seconds(b, "        stime: ", p->system_time);
	write_yaml_known(b, "        maxthreads: ", p->threads_peak);
	write_yaml_known(b, "        vmpeak: ", p->virtual_peak < 0 ? -1 : p->virtual_peak / 1024);
	write_yaml_known(b, "        rsspeak: ", p->resident_peak < 0 ? -1 : p->resident_peak / 1024);
	write_yaml_known(b, "        rchar: ", p->bytes_read);
	write_yaml_known(b, "        wchar: ", p->bytes_written);
}

/* The command is the process that started first. */
static const struct summary_process *find_first_process(const struct summary *s)
{
	const struct summary_process *first = s->nprocess ? &s->process[0] : NULL;
	for (size_t i = 1; i < s->nprocess; i++)
		if (s->process[i].start >= 0 && (first->start < 0 || s->process[i].start < first->start))
			first = &s->process[i];
	return first;
}

/* The job: when and how long it ran, what it used, how it ended, and its processes. */
static void write_mainjob(struct buf *b, const struct summary *s)
{
	const struct summary_process *command = find_first_process(s);
	const struct figure *start = find_known_figure(s, FIGURE_start), *wall = find_known_figure(s, FIGURE_wall_time);
	buf_str(b, str_of("  mainjob:\n"));
	if (start)
		write_yaml_date(b, "    start: ", start->value);
	if (wall)
		write_yaml_seconds(b, "    duration: ", wall->value);
	if (command)
		write_yaml_known(b, "    pid: ", command->pid);
	write_usage(b, s);
	write_status(b, s);
	const char *program = command && command->exe ? command->exe : s->argv ? s->argv[0] : NULL;
	if (program) {
		buf_str(b, str_of("    executable:\n"));
		write_yaml_text(b, "      file_name: ", program);
	}
	if (s->argv && s->argv[0]) {
		buf_str(b, str_of("    argument_vector:"));
		buf_str(b, str_of(s->argv[1] ? "\n" : " []\n"));
		for (char **a = s->argv + 1; *a; a++)
			write_yaml_text(b, "      - ", *a);
	}
	buf_str(b, str_of(s->nprocess ? "    procs:\n" : "    procs: {}\n"));
	for (size_t i = 0; i < s->nprocess; i++)
		write_yaml_process(b, &s->process[i]);
}

/* Writes the machine. Nothing at all if nothing of the machine is known. */
static void write_machine(struct buf *b, const struct summary *s)
{
	static const struct {
		const char *key, *host;
		int64_t unit;
	} rows[] = {
#define MACHINE(key, host, unit) {#key, host, unit},
#include "summary/kickstart.def"
	};
	size_t empty = b->n;
	buf_str(b, str_of("  machine:\n"));
	size_t at = b->n;
	if (summary_host(s, "kernel"))
		buf_str(b, str_of("    uname_system: linux\n"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value = summary_host(s, rows[i].host);
		int64_t v;
		if (!value)
			continue;
		unsigned decimals = rows[i].unit < 0 ? 2 : 0;
		if (rows[i].unit && decimal_read(str_of(value), decimals, &v) < 0)
			continue;
		buf_printf(b, "    %s: ", rows[i].key);
		if (rows[i].unit)
			decimal_add(b, rows[i].unit < 0 ? v : v / rows[i].unit, decimals);
		else
			write_yaml_quoted(b, value);
		buf_char(b, '\n');
	}
	if (b->n == at)
		b->n = empty;
}

/* The batch system's number of the job. */
static void write_batch_job(struct buf *b, const struct summary *s)
{
	static const struct {
		const char *prefix, *type;
	} systems[] = {{"SLURM_", "slurm"}, {"PBS_", "pbs"}, {"LSB_", "lsf"}, {"COBALT_", "cobalt"}, {"JOB_ID", "sge"}};
	const char *told = summary_host(s, "job"), *value = told ? strchr(told, '=') : NULL;
	for (size_t i = 0; value && i < sizeof(systems) / sizeof(systems[0]); i++)
		if (str_starts(str_of(told), str_of(systems[i].prefix))) {
			buf_printf(b, "  jobids:\n    lrmtype: %s\n", systems[i].type);
			write_yaml_text(b, "    lrm: ", value + 1);
			return;
		}
}

int kickstart_write(const struct summary *s, struct buf *ret)
{
	static const char *const labels[] = {"transformation", "derivation", "resource", "wf-label", "wf-stamp"};
	const struct figure *start = find_known_figure(s, FIGURE_start), *wall = find_known_figure(s, FIGURE_wall_time);
	size_t at = ret->n;
	buf_str(ret, str_of("- invocation: True\n  version: 3.0\n"));
	if (start)
		write_yaml_date(ret, "  start: ", start->value);
	if (wall)
		write_yaml_seconds(ret, "  duration: ", wall->value);
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		const char *value = find_label(s, labels[i]);
		if (value) {
			buf_printf(ret, "  %s", labels[i]);
			write_yaml_text(ret, ": ", value);
		}
	}
	write_yaml_text(ret, "  hostname: ", summary_host(s, "name"));
	write_yaml_text(ret, "  user: ", s->user);
	write_mainjob(ret, s);
	write_batch_job(ret, s);
	write_yaml_text(ret, "  cwd: ", s->cwd);
	write_machine(ret, s);
	buf_str(ret, str_of("  files: {}\n")); /* its readers want one */
	if (!ret->failed)
		return 0;
	ret->n = at;
	return -ENOMEM;
}

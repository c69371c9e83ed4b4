/* A summary as JSON. Written by hand and not by jansson: that holds numbers as doubles, and the whole in memory. */
#include "base/utf8.h"
#include "summary/jout.h"
#include "summary/summary.h"

#include <errno.h>
#include <sys/wait.h>

/* A figure that is not known says why. */
static void write_figure(struct jout *j, enum figure_name f, const struct figure *v)
{
	unsigned decimals = (unsigned)figure_decimals(f);
	jout_key(j, figure_key(f));
	jout_open(j, '{');
	if (!v->known) {
		jout_string_pair(j, "absent", v->absent ? v->absent : "not measured");
		jout_bool(j, "complete", false); /* nobody is to take it for nothing */
	} else {
		jout_number(j, "value", v->value, decimals);
		jout_string_pair(j, "unit", figure_unit(f));
		if (v->method)
			jout_string_pair(j, "method", v->method);
		if (v->bounded) {
			jout_number(j, "low", v->low, decimals);
			jout_number(j, "high", v->high, decimals);
		}
		jout_bool(j, "complete", v->complete);
	}
	jout_close(j, '}');
}

/* A text that is no UTF-8 makes a second list, twin, in base64. */
static void write_string_list(struct jout *j, const char *name, const char *twin, char *const *list, size_t n)
{
	bool exact = true;
	jout_key(j, name);
	jout_open(j, '[');
	for (size_t i = 0; i < n; i++) {
		jout_text(j, str_of(list[i]));
		exact = exact && utf8_is_valid(str_of(list[i]));
	}
	jout_close(j, ']');
	if (exact)
		return;
	jout_key(j, twin);
	jout_open(j, '[');
	for (size_t i = 0; i < n; i++)
		jout_base64(j, str_of(list[i]));
	jout_close(j, ']');
}

/* Texts that are no UTF-8 make a list of pairs, twin, in base64. */
static void write_pair_object(struct jout *j, const char *name, const char *twin, const struct summary_pair *list,
                              size_t n)
{
	bool exact = true;
	jout_key(j, name);
	jout_open(j, '{');
	for (size_t i = 0; i < n; i++) {
		jout_key(j, list[i].key);
		jout_text(j, str_of(list[i].value));
		exact = exact && utf8_is_valid(str_of(list[i].key)) && utf8_is_valid(str_of(list[i].value));
	}
	jout_close(j, '}');
	if (exact)
		return;
	jout_key(j, twin);
	jout_open(j, '[');
	for (size_t i = 0; i < n; i++) {
		jout_open(j, '[');
		jout_base64(j, str_of(list[i].key));
		jout_base64(j, str_of(list[i].value));
		jout_close(j, ']');
	}
	jout_close(j, ']');
}

/* The members of a limit; the peak is null where it is not known. */
static void write_limit(struct jout *j, const struct summary_limit *l)
{
	const struct limit_unit *u = limit_unit_of(l->name);
	jout_number(j, "limit", l->limit, u->decimals);
	if (l->peak >= 0) {
		jout_number(j, "peak", l->peak, u->decimals);
	} else {
		jout_key(j, "peak");
		jout_null(j);
	}
	jout_string_pair(j, "unit", u->unit);
}

/* The limits that were set, and those that were exceeded. */
static void write_limits(struct jout *j, const struct summary *s)
{
	jout_key(j, "limits");
	jout_open(j, '{');
	for (size_t i = 0; i < s->nlimit; i++) {
		jout_key(j, s->limit[i].name);
		jout_open(j, '{');
		write_limit(j, &s->limit[i]);
		jout_close(j, '}');
	}
	jout_close(j, '}');
	jout_line(j, 1);
	jout_key(j, "limits_exceeded");
	jout_open(j, '[');
	for (size_t i = 0; i < s->nexceeded; i++) {
		jout_open(j, '{');
		jout_string_pair(j, "name", s->exceeded[i].name);
		write_limit(j, &s->exceeded[i]);
		jout_close(j, '}');
	}
	jout_close(j, ']');
}

/* Writes a number that may be unknown. -1 is not known. */
static void write_known(struct jout *j, const char *name, int64_t value, unsigned decimals)
{
	if (value >= 0) {
		jout_number(j, name, value, decimals);
	} else {
		jout_key(j, name);
		jout_null(j);
	}
}

/* What is not known is left out or null. Times in ns. */
static void write_summary_process(struct jout *j, const struct summary_process *p)
{
	jout_open(j, '{');
	write_known(j, "pid", p->pid, 0);
	write_known(j, "ppid", p->ppid, 0);
	jout_string_pair(j, "exe", p->exe);
	write_known(j, "start", p->start, 9);
	write_known(j, "end", p->end, 9);
	write_known(j, "user_time", p->user_time, 9);
	write_known(j, "system_time", p->system_time, 9);
	write_known(j, "memory_resident_peak", p->resident_peak, 0);
	write_known(j, "memory_virtual_peak", p->virtual_peak, 0);
	write_known(j, "bytes_read", p->bytes_read, 0);
	write_known(j, "bytes_written", p->bytes_written, 0);
	write_known(j, "threads_peak", p->threads_peak, 0);
	jout_key(j, "exit");
	if (p->status >= 0 && (WIFEXITED(p->status) || WIFSIGNALED(p->status))) {
		jout_open(j, '{');
		jout_number(j, WIFEXITED(p->status) ? "status" : "signal",
		            WIFEXITED(p->status) ? WEXITSTATUS(p->status) : WTERMSIG(p->status), 0);
		if (WIFSIGNALED(p->status) && WCOREDUMP(p->status))
			jout_bool(j, "core", true);
		jout_close(j, '}');
	} else {
		jout_null(j);
	}
	jout_close(j, '}');
}

/* The files, and whether those are all. */
static void write_summary_files(struct jout *j, const struct summary *s)
{
	jout_line(j, 1);
	jout_key(j, "files");
	jout_open(j, '[');
	for (size_t i = 0; i < s->nfile; i++) {
		const struct summary_file *f = &s->file[i];
		jout_line(j, 2);
		jout_open(j, '{');
		jout_string_pair(j, "path", f->path);
		write_known(j, "size", f->size, 0);
		jout_bool(j, "read", f->read);
		jout_bool(j, "written", f->written);
		jout_string_pair(j, "how", f->how);
		jout_close(j, '}');
	}
	if (s->nfile) {
		j->comma = false;
		jout_line(j, 1);
	}
	jout_close(j, ']');
	jout_line(j, 1);
	jout_bool(j, "files_complete", s->files_complete);
}

int summary_json(const struct summary *s, bool with_processes, bool indent, struct buf *ret)
{
	struct jout j = {.b = ret, .indent = indent};
	size_t argc = 0, at = ret->n;
	jout_open(&j, '{');
	jout_line(&j, 1);
	jout_number(&j, "format", SUMMARY_FORMAT, 0);
	jout_line(&j, 1);
	jout_string_pair(&j, "run", s->run);
	jout_line(&j, 1);
	while (s->argv && s->argv[argc])
		argc++;
	if (s->argv) {
		write_string_list(&j, "command", "command_base64", s->argv, argc);
	} else {
		jout_key(&j, "command");
		jout_null(&j);
	}
	jout_line(&j, 1);
	jout_string_pair(&j, "cwd", s->cwd);
	jout_line(&j, 1);
	jout_string_pair(&j, "user", s->user);
	jout_line(&j, 1);
	jout_string_pair(&j, "exit_type", exit_type_name(s->exit_type));
	jout_line(&j, 1);
	write_known(&j, "exit_status", s->exit_status, 0);
	jout_line(&j, 1);
	write_known(&j, "signal", s->signal, 0);
	jout_line(&j, 1);
	jout_bool(&j, "oom", s->oom);
	for (int f = 0; f < FIGURES; f++) {
		jout_line(&j, 1);
		write_figure(&j, (enum figure_name)f, &s->figure[f]);
	}
	jout_line(&j, 1);
	write_limits(&j, s);
	jout_line(&j, 1);
	write_string_list(&j, "escaped", "escaped_base64", s->escaped, s->nescaped);
	jout_line(&j, 1);
	write_pair_object(&j, "host", "host_base64", s->host, s->nhost);
	jout_line(&j, 1);
	write_pair_object(&j, "label", "label_base64", s->label, s->nlabel);
	if (with_processes) {
		jout_line(&j, 1);
		jout_key(&j, "processes");
		jout_open(&j, '[');
		for (size_t i = 0; i < s->nprocess; i++) {
			jout_line(&j, 2);
			write_summary_process(&j, &s->process[i]);
		}
		if (s->nprocess) {
			j.comma = false;
			jout_line(&j, 1);
		}
		jout_close(&j, ']');
		if (s->files_told)
			write_summary_files(&j, s);
	}
	j.comma = false;
	jout_line(&j, 0);
	jout_close(&j, '}');
	if (!ret->failed)
		return 0;
	ret->n = at;
	return -ENOMEM;
}

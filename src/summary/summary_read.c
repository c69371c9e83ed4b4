/* A summary from its JSON. A field that is not there is not known; one of the wrong kind is an error with its name. */
#include "summary/summary_read.h"

#include "summary/decimal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Of the labels and of the host: no one has more, and twins are looked for one by one. */
#define PAIRS_MAX 4096
#define SIGNAL_MAX 126 /* what a wait status can hold */

/* Reports what is wrong with a member. -EBADMSG with a sentence. */
static int report_bad_member(struct err *err, const char *name, const char *what)
{
	return err_set(err, 0, "the summary's '%.100s' %s", name, what), -EBADMSG;
}

/* Reports why it is no summary. -EBADMSG with the sentence. */
static int refuse_summary(struct err *err, const char *sentence)
{
	return err_set(err, 0, "%s", sentence), -EBADMSG;
}

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int summary_no_memory(struct err *err)
{
	return err_set(err, ENOMEM, "cannot read the summary");
}

/* v must be a text; the result belongs to it. */
static struct str json_string_str(const json_t *v)
{
	return str_n(json_string_value(v), json_string_length(v));
}

/* null and what is not there change nothing. Numbers are strings here: see jin.h. */
static int read_decimal_member(json_t *o, const char *name, unsigned decimals, int64_t *ret, struct err *err)
{
	json_t *v = json_object_get(o, name);
	if (!v || json_is_null(v))
		return 0;
	int rc = json_is_string(v) ? decimal_read(json_string_str(v), decimals, ret) : -EINVAL;
	return rc == -ERANGE ? report_bad_member(err, name, "is too large")
	       : rc < 0      ? report_bad_member(err, name, "is not a number")
	                     : 0;
}

/* *ret stays as it was where there is none. -EBADMSG with a sentence. */
static int read_count_member(json_t *o, const char *name, int64_t least, int64_t most, int *ret, struct err *err)
{
	int64_t n = INT64_MIN;
	int rc = read_decimal_member(o, name, 0, &n, err);
	if (rc < 0 || n == INT64_MIN)
		return rc;
	if (n < least || n > most)
		return report_bad_member(err, name, "is out of range");
	*ret = (int)n;
	return 0;
}

/* Reads a number that may be unknown. -1 where it is not told. */
static int read_known_member(json_t *o, const char *name, unsigned decimals, int64_t *ret, struct err *err)
{
	int64_t n = INT64_MIN;
	int rc = read_decimal_member(o, name, decimals, &n, err);
	*ret = -1;
	if (rc < 0 || n == INT64_MIN)
		return rc;
	if (n < 0)
		return report_bad_member(err, name, "is below 0");
	*ret = n;
	return 0;
}

/* Reads a truth value. False where there is none. -EBADMSG with a sentence. */
static int read_flag_member(json_t *o, const char *name, bool *ret, struct err *err)
{
	json_t *v = json_object_get(o, name);
	if (v && !json_is_boolean(v))
		return report_bad_member(err, name, "is neither true nor false");
	*ret = json_is_true(v);
	return 0;
}

/* Copies a text of JSON. -EBADMSG, -ENOMEM, with a sentence. */
static int copy_json_string(const char *name, json_t *v, bool base64, char **ret, struct err *err)
{
	struct buf b = {0};
	if (!json_is_string(v))
		return report_bad_member(err, name, "is not a string");
	if (!base64) {
		*ret = strdup(json_string_value(v));
		return *ret ? 0 : summary_no_memory(err);
	}
	bool whole = jin_base64(json_string_str(v), &b);
	if (b.failed || (whole && !(*ret = strdup(buf_cstr(&b))))) {
		buf_release(&b);
		return summary_no_memory(err);
	}
	whole = whole && strlen(*ret) == b.n;
	buf_release(&b);
	return whole ? 0 : report_bad_member(err, name, "is not base64 of a string");
}

/* The exact twin where there is one. Replaces what is there. */
static int read_string_member(json_t *o, const char *name, char **ret, struct err *err)
{
	char twin[64];
	snprintf(twin, sizeof(twin), "%s_base64", name);
	json_t *v = json_object_get(o, name), *exact = json_object_get(o, twin);
	if (!v || json_is_null(v))
		return 0;
	free(*ret);
	*ret = NULL;
	return exact ? copy_json_string(twin, exact, true, ret, err) : copy_json_string(name, v, false, ret, err);
}

/* A list of strings, NULL at its end. What was read before an error is the caller's to release, too. */
static int read_string_list(json_t *o, const char *name, const char *twin, char ***ret, size_t *ret_n, struct err *err)
{
	json_t *v = json_object_get(o, name), *exact = json_object_get(o, twin);
	if (!v || json_is_null(v))
		return 0;
	if (exact) {
		v = exact;
		name = twin;
	}
	if (!json_is_array(v))
		return report_bad_member(err, name, "is not a list");
	size_t n = json_array_size(v);
	char **list = calloc(n + 1, sizeof(*list));
	if (!list)
		return summary_no_memory(err);
	*ret = list;
	for (size_t i = 0; i < n; i++) {
		int rc = copy_json_string(name, json_array_get(v, i), exact != NULL, &list[i], err);
		if (rc < 0)
			return rc;
		if (ret_n)
			*ret_n = i + 1;
	}
	return 0;
}

/* Its two are base64. -EBADMSG, also for a name that is there twice; -ENOMEM. */
static int read_exact_pair(const char *name, json_t *v, struct summary_pair *list, size_t *n, struct err *err)
{
	if (!json_is_array(v) || json_array_size(v) != 2)
		return report_bad_member(err, name, "is not a list of pairs");
	struct summary_pair *p = &list[(*n)++];
	int rc = copy_json_string(name, json_array_get(v, 0), true, &p->key, err);
	if (rc == 0)
		rc = copy_json_string(name, json_array_get(v, 1), true, &p->value, err);
	for (size_t i = 0; rc == 0 && i + 1 < *n; i++)
		if (strcmp(list[i].key, p->key) == 0)
			return report_bad_member(err, name, "has a name twice");
	return rc;
}

/* Reads an object of texts. twin: the member with the same pairs as base64, which counts where it is there.
 * -EBADMSG, -ENOMEM. */
static int read_pair_members(json_t *o, const char *name, const char *twin, struct summary_pair **ret, size_t *ret_n,
                             struct err *err)
{
	json_t *v = json_object_get(o, name), *exact = json_object_get(o, twin), *value;
	const char *key;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_object(v) || (exact && !json_is_array(exact)))
		return report_bad_member(err, name, "is not an object");
	size_t n = exact ? json_array_size(exact) : json_object_size(v);
	if (n > PAIRS_MAX)
		return report_bad_member(err, name, "has more names than any that is taken");
	struct summary_pair *list = calloc(n + 1, sizeof(*list));
	if (!list)
		return summary_no_memory(err);
	*ret = list;
	*ret_n = 0;
	for (size_t i = 0; exact && i < n; i++) {
		int rc = read_exact_pair(twin, json_array_get(exact, i), list, ret_n, err);
		if (rc < 0)
			return rc;
	}
	if (exact)
		return 0;
	json_object_foreach(v, key, value)
	{
		struct summary_pair *p = &list[(*ret_n)++];
		if (!(p->key = strdup(key)))
			return summary_no_memory(err);
		int rc = copy_json_string(name, value, false, &p->value, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Reads a figure. 0 also where there is none; -EBADMSG with a sentence. */
static int read_figure(json_t *o, enum figure_name f, struct figure *ret, struct err *err)
{
	const char *name = figure_key(f);
	unsigned decimals = (unsigned)figure_decimals(f);
	json_t *v = json_object_get(o, name), *unit = json_object_get(v, "unit");
	struct err why = {0};
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_object(v))
		return report_bad_member(err, name, "is not an object");
	if (json_object_get(v, "absent"))
		return read_string_member(v, "absent", &ret->absent, &why) == 0
		           ? 0
		           : report_bad_member(err, name, "is absent without a reason");
	if (!json_object_get(v, "value"))
		return report_bad_member(err, name, "has neither a value nor a reason why it is absent");
	if (unit && !(json_is_string(unit) && strcmp(json_string_value(unit), figure_unit(f)) == 0))
		return report_bad_member(err, name, "is in another unit than that of this figure");
	int rc = read_decimal_member(v, "value", decimals, &ret->value, &why);
	ret->low = ret->high = ret->value;
	if (rc == 0)
		rc = read_decimal_member(v, "low", decimals, &ret->low, &why);
	if (rc == 0)
		rc = read_decimal_member(v, "high", decimals, &ret->high, &why);
	if (rc == 0)
		rc = read_string_member(v, "method", &ret->method, &why);
	if (rc == 0)
		rc = read_flag_member(v, "complete", &ret->complete, &why);
	ret->bounded = json_object_get(v, "low") || json_object_get(v, "high");
	ret->known = true;
	return rc == 0 ? 0 : report_bad_member(err, name, "has a value, bound or method that cannot be read");
}

/* Reads a limit with the most that was used of it. -EBADMSG, -ENOMEM, with a sentence. */
static int read_limit(json_t *v, const char *name, struct summary_limit *ret, struct err *err)
{
	struct err why = {0};
	if (!(ret->name = strdup(name)))
		return summary_no_memory(err);
	unsigned decimals = limit_unit_of(name)->decimals;
	ret->peak = -1;
	ret->limit = -1;
	if (!json_is_object(v) || read_known_member(v, "limit", decimals, &ret->limit, &why) < 0 || ret->limit < 0 ||
	    read_known_member(v, "peak", decimals, &ret->peak, &why) < 0)
		return report_bad_member(err, name, "has no limit that can be read");
	return 0;
}

/* Reads all limits. -EBADMSG, -ENOMEM, with a sentence. */
static int read_limits(json_t *o, struct summary *s, struct err *err)
{
	json_t *all = json_object_get(o, "limits"), *exceeded = json_object_get(o, "limits_exceeded"), *v, *name;
	const char *key;
	size_t i;
	int rc;
	if (all && !json_is_object(all))
		return report_bad_member(err, "limits", "is not an object");
	if (exceeded && !json_is_array(exceeded))
		return report_bad_member(err, "limits_exceeded", "is not a list");
	s->limit = calloc(json_object_size(all) + 1, sizeof(*s->limit));
	s->exceeded = calloc(json_array_size(exceeded) + 1, sizeof(*s->exceeded));
	if (!s->limit || !s->exceeded)
		return summary_no_memory(err);
	json_object_foreach(all, key, v) if ((rc = read_limit(v, key, &s->limit[s->nlimit++], err)) < 0) return rc;
	json_array_foreach(exceeded, i, v)
	{
		name = json_object_get(v, "name");
		if (!json_is_string(name))
			return report_bad_member(err, "limits_exceeded", "has one without a name");
		if ((rc = read_limit(v, json_string_value(name), &s->exceeded[s->nexceeded++], err)) < 0)
			return rc;
	}
	return 0;
}

/* How it ended, as wait tells it; it stays -1 where that is not said. */
static int read_process_end(json_t *v, struct summary_process *p, struct err *err)
{
	json_t *end = json_object_get(v, "exit");
	int status = -1, sig = -1, rc;
	bool core;
	if (!end || json_is_null(end))
		return 0;
	if ((rc = read_count_member(end, "status", 0, 255, &status, err)) < 0 ||
	    (rc = read_count_member(end, "signal", 1, SIGNAL_MAX, &sig, err)) < 0 ||
	    (rc = read_flag_member(end, "core", &core, err)) < 0)
		return rc;
	if (sig > 0)
		p->status = W_EXITCODE(0, sig) | (core ? WCOREFLAG : 0);
	else if (status >= 0)
		p->status = W_EXITCODE(status, 0);
	return 0;
}

/* What it does not have is -1. -EBADMSG, -ENOMEM, with a sentence. */
static int read_summary_process(json_t *v, struct summary_process *p, struct err *err)
{
	*p = (struct summary_process){.pid = -1, .ppid = -1, .status = -1};
	const struct {
		const char *name;
		unsigned decimals;
		int64_t *to;
	} numbers[] = {
	    {"start", 9, &p->start},
	    {"end", 9, &p->end},
	    {"user_time", 9, &p->user_time},
	    {"system_time", 9, &p->system_time},
	    {"memory_resident_peak", 0, &p->resident_peak},
	    {"memory_virtual_peak", 0, &p->virtual_peak},
	    {"bytes_read", 0, &p->bytes_read},
	    {"bytes_written", 0, &p->bytes_written},
	    {"threads_peak", 0, &p->threads_peak},
	};
	int rc;
	if ((rc = read_count_member(v, "pid", 0, INT_MAX, &p->pid, err)) < 0 ||
	    (rc = read_count_member(v, "ppid", 0, INT_MAX, &p->ppid, err)) < 0 ||
	    (rc = read_string_member(v, "exe", &p->exe, err)) < 0)
		return rc;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if ((rc = read_known_member(v, numbers[i].name, numbers[i].decimals, numbers[i].to, err)) < 0)
			return rc;
	return read_process_end(v, p, err);
}

/* Reads the processes of the task. 0 also where there are none; -EBADMSG, -ENOMEM, with a sentence. */
static int read_processes(json_t *o, struct summary *s, struct err *err)
{
	json_t *list = json_object_get(o, "processes");
	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return report_bad_member(err, "processes", "is not a list");
	size_t n = json_array_size(list);
	if (!(s->process = calloc(n + 1, sizeof(*s->process))))
		return summary_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_array_get(list, i);
		if (!json_is_object(v))
			return report_bad_member(err, "processes", "has one that is not an object");
		s->nprocess++;
		int rc = read_summary_process(v, &s->process[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Reads the files that the task opened. 0 also where there are none; -EBADMSG, -ENOMEM, with a sentence. */
static int read_files(json_t *o, struct summary *s, struct err *err)
{
	json_t *list = json_object_get(o, "files");
	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return report_bad_member(err, "files", "is not a list");
	size_t n = json_array_size(list);
	if (!(s->file = calloc(n + 1, sizeof(*s->file))))
		return summary_no_memory(err);
	s->files_told = true;
	int rc = read_flag_member(o, "files_complete", &s->files_complete, err);
	for (size_t i = 0; i < n && rc == 0; i++) {
		json_t *v = json_array_get(list, i);
		struct summary_file *f = &s->file[i];
		if (!json_is_object(v))
			return report_bad_member(err, "files", "has one that is not an object");
		s->nfile++;
		f->size = -1;
		if ((rc = read_string_member(v, "path", &f->path, err)) == 0 &&
		    (rc = read_known_member(v, "size", 0, &f->size, err)) == 0 &&
		    (rc = read_flag_member(v, "read", &f->read, err)) == 0 &&
		    (rc = read_flag_member(v, "written", &f->written, err)) == 0)
			rc = read_string_member(v, "how", &f->how, err);
		if (rc == 0 && !f->path)
			return report_bad_member(err, "files", "has one without a path");
	}
	return rc;
}

/* Reads how the task ended. -EBADMSG with a sentence. */
static int read_exit(json_t *o, struct summary *s, struct err *err)
{
	json_t *v = json_object_get(o, "exit_type");
	if (v && !json_is_null(v)) {
		for (enum exit_type t = EXIT_TYPE_NORMAL; json_is_string(v) && t <= EXIT_TYPE_LIMIT; t++)
			if (strcmp(json_string_value(v), exit_type_name(t)) == 0)
				s->exit_type = t;
		if (!s->exit_type)
			return report_bad_member(err, "exit_type", "is none of normal, signal, limit");
	}
	int rc = read_count_member(o, "exit_status", 0, 255, &s->exit_status, err);
	if (rc == 0)
		rc = read_count_member(o, "signal", 1, SIGNAL_MAX, &s->signal, err);
	return rc < 0 ? rc : read_flag_member(o, "oom", &s->oom, err);
}

/* Is it a summary of a format that is known here? 0, or -errno with a sentence. */
static int check_summary_format(json_t *o, struct err *err)
{
	int rc, format = 0;
	if (!json_is_object(o))
		return refuse_summary(err, "this is not a summary: it is not a JSON object");
	if ((rc = read_count_member(o, "format", 1, INT_MAX, &format, err)) < 0)
		return rc;
	if (!format)
		return refuse_summary(err, "this is not a summary: it has no 'format'");
	if (format > SUMMARY_FORMAT)
		return err_set(err, 0, "the summary is from a newer stemma: its format is %d, this one reads %d", format,
		               SUMMARY_FORMAT),
		       -EPROTO;
	return 0;
}

/* Reads a summary. -EBADMSG, -ENOMEM, with a sentence: s is to be released then, too. */
static int read_summary_object(json_t *o, struct summary *s, struct err *err)
{
	int rc = check_summary_format(o, err);
	if (rc < 0 || (rc = read_string_member(o, "run", &s->run, err)) < 0 ||
	    (rc = read_string_list(o, "command", "command_base64", &s->argv, NULL, err)) < 0 ||
	    (rc = read_string_member(o, "cwd", &s->cwd, err)) < 0 ||
	    (rc = read_string_member(o, "user", &s->user, err)) < 0 || (rc = read_exit(o, s, err)) < 0)
		return rc;
	for (int f = 0; f < FIGURES; f++)
		if ((rc = read_figure(o, (enum figure_name)f, &s->figure[f], err)) < 0)
			return rc;
	if ((rc = read_limits(o, s, err)) < 0 ||
	    (rc = read_string_list(o, "escaped", "escaped_base64", &s->escaped, &s->nescaped, err)) < 0 ||
	    (rc = read_pair_members(o, "host", "host_base64", &s->host, &s->nhost, err)) < 0 ||
	    (rc = read_pair_members(o, "label", "label_base64", &s->label, &s->nlabel, err)) < 0)
		return rc;
	rc = read_processes(o, s, err);
	return rc < 0 ? rc : read_files(o, s, err);
}

int summary_from_json(json_t *value, struct err *err, struct summary *ret)
{
	struct summary s;
	summary_init(&s);
	int rc = read_summary_object(value, &s, err);
	if (rc < 0) {
		summary_release(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

int summary_read(const char *text, size_t n, struct err *err, struct summary *ret)
{
	struct jin in;
	struct summary s;
	json_t *value = NULL, *more = NULL;
	char why[200];
	if (jin_open(&in, text, n) < 0)
		return summary_no_memory(err);
	int rc = jin_next(&in, &value, why);
	if (rc < 0)
		err_set(err, 0, "the summary is not JSON: %s", why);
	else if (rc == 0)
		rc = refuse_summary(err, "the summary is empty");
	else if ((rc = summary_from_json(value, err, &s)) == 0 && jin_next(&in, &more, why) != 0) {
		summary_release(&s);
		rc = refuse_summary(err, "there is data after the end of the summary");
	}
	json_decref(value);
	json_decref(more);
	jin_release(&in);
	if (rc == 0)
		*ret = s;
	return rc;
}

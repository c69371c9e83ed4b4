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

static int wrong(struct err *err, const char *name, const char *what)
{
	return err_set(err, 0, "the summary's '%.100s' %s", name, what), -EBADMSG;
}

static int bad(struct err *err, const char *sentence)
{
	return err_set(err, 0, "%s", sentence), -EBADMSG;
}

static int no_memory(struct err *err)
{
	return err_set(err, ENOMEM, "cannot read the summary");
}

static struct str text_of(const json_t *v)
{
	return str_n(json_string_value(v), json_string_length(v));
}

/* null and what is not there change nothing. Numbers are strings here: see jin.h. */
static int number(json_t *o, const char *name, unsigned decimals, int64_t *ret, struct err *err)
{
	json_t *v = json_object_get(o, name);
	if (!v || json_is_null(v))
		return 0;
	int rc = json_is_string(v) ? decimal_read(text_of(v), decimals, ret) : -EINVAL;
	return rc == -ERANGE ? wrong(err, name, "is too large") : rc < 0 ? wrong(err, name, "is no number") : 0;
}

static int count(json_t *o, const char *name, int64_t least, int64_t most, int *ret, struct err *err)
{
	int64_t n = INT64_MIN;
	int rc = number(o, name, 0, &n, err);
	if (rc < 0 || n == INT64_MIN)
		return rc;
	if (n < least || n > most)
		return wrong(err, name, "is out of range");
	*ret = (int)n;
	return 0;
}

/* -1 where it is not told. */
static int known(json_t *o, const char *name, unsigned decimals, int64_t *ret, struct err *err)
{
	int64_t n = INT64_MIN;
	int rc = number(o, name, decimals, &n, err);
	*ret = -1;
	if (rc < 0 || n == INT64_MIN)
		return rc;
	if (n < 0)
		return wrong(err, name, "is below 0");
	*ret = n;
	return 0;
}

static int flag(json_t *o, const char *name, bool *ret, struct err *err)
{
	json_t *v = json_object_get(o, name);
	if (v && !json_is_boolean(v))
		return wrong(err, name, "is neither true nor false");
	*ret = json_is_true(v);
	return 0;
}

static int copy(const char *name, json_t *v, bool base64, char **ret, struct err *err)
{
	struct buf b = {0};
	if (!json_is_string(v))
		return wrong(err, name, "is no string");
	if (!base64) {
		*ret = strdup(json_string_value(v));
		return *ret ? 0 : no_memory(err);
	}
	bool whole = jin_base64(text_of(v), &b);
	if (b.failed || (whole && !(*ret = strdup(buf_cstr(&b))))) {
		buf_release(&b);
		return no_memory(err);
	}
	whole = whole && strlen(*ret) == b.n;
	buf_release(&b);
	return whole ? 0 : wrong(err, name, "is no base64 of a string");
}

/* The exact twin where there is one. Replaces what is there. */
static int string(json_t *o, const char *name, char **ret, struct err *err)
{
	char twin[64];
	snprintf(twin, sizeof(twin), "%s_base64", name);
	json_t *v = json_object_get(o, name), *exact = json_object_get(o, twin);
	if (!v || json_is_null(v))
		return 0;
	free(*ret);
	*ret = NULL;
	return exact ? copy(twin, exact, true, ret, err) : copy(name, v, false, ret, err);
}

/* A list of strings, NULL at its end. What was read before an error is the caller's to release, too. */
static int strings(json_t *o, const char *name, const char *twin, char ***ret, size_t *ret_n, struct err *err)
{
	json_t *v = json_object_get(o, name), *exact = json_object_get(o, twin);
	if (!v || json_is_null(v))
		return 0;
	if (exact) {
		v = exact;
		name = twin;
	}
	if (!json_is_array(v))
		return wrong(err, name, "is no list");
	size_t n = json_array_size(v);
	char **list = calloc(n + 1, sizeof(*list));
	if (!list)
		return no_memory(err);
	*ret = list;
	for (size_t i = 0; i < n; i++) {
		int rc = copy(name, json_array_get(v, i), exact != NULL, &list[i], err);
		if (rc < 0)
			return rc;
		if (ret_n)
			*ret_n = i + 1;
	}
	return 0;
}

static int twin_pair(const char *name, json_t *v, struct summary_pair *list, size_t *n, struct err *err)
{
	if (!json_is_array(v) || json_array_size(v) != 2)
		return wrong(err, name, "is no list of pairs");
	struct summary_pair *p = &list[(*n)++];
	int rc = copy(name, json_array_get(v, 0), true, &p->key, err);
	if (rc == 0)
		rc = copy(name, json_array_get(v, 1), true, &p->value, err);
	for (size_t i = 0; rc == 0 && i + 1 < *n; i++)
		if (strcmp(list[i].key, p->key) == 0)
			return wrong(err, name, "has a name twice");
	return rc;
}

static int pairs(json_t *o, const char *name, const char *twin, struct summary_pair **ret, size_t *ret_n,
                 struct err *err)
{
	json_t *v = json_object_get(o, name), *exact = json_object_get(o, twin), *value;
	const char *key;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_object(v) || (exact && !json_is_array(exact)))
		return wrong(err, name, "is no object");
	size_t n = exact ? json_array_size(exact) : json_object_size(v);
	if (n > PAIRS_MAX)
		return wrong(err, name, "has more names than any that is taken");
	struct summary_pair *list = calloc(n + 1, sizeof(*list));
	if (!list)
		return no_memory(err);
	*ret = list;
	*ret_n = 0;
	for (size_t i = 0; exact && i < n; i++) {
		int rc = twin_pair(twin, json_array_get(exact, i), list, ret_n, err);
		if (rc < 0)
			return rc;
	}
	if (exact)
		return 0;
	json_object_foreach(v, key, value)
	{
		struct summary_pair *p = &list[(*ret_n)++];
		if (!(p->key = strdup(key)))
			return no_memory(err);
		int rc = copy(name, value, false, &p->value, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int figure(json_t *o, enum figure_name f, struct figure *ret, struct err *err)
{
	const char *name = figure_word(f);
	unsigned decimals = (unsigned)figure_decimals(f);
	json_t *v = json_object_get(o, name), *unit = json_object_get(v, "unit");
	struct err why = {0};
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_object(v))
		return wrong(err, name, "is no object");
	if (json_object_get(v, "absent"))
		return string(v, "absent", &ret->absent, &why) == 0 ? 0 : wrong(err, name, "is absent without a reason");
	if (!json_object_get(v, "value"))
		return wrong(err, name, "has neither a value nor a reason why it is absent");
	if (unit && !(json_is_string(unit) && strcmp(json_string_value(unit), figure_unit(f)) == 0))
		return wrong(err, name, "is in another unit than that of this figure");
	int rc = number(v, "value", decimals, &ret->value, &why);
	ret->low = ret->high = ret->value;
	if (rc == 0)
		rc = number(v, "low", decimals, &ret->low, &why);
	if (rc == 0)
		rc = number(v, "high", decimals, &ret->high, &why);
	if (rc == 0)
		rc = string(v, "method", &ret->method, &why);
	if (rc == 0)
		rc = flag(v, "complete", &ret->complete, &why);
	ret->bounded = json_object_get(v, "low") || json_object_get(v, "high");
	ret->known = true;
	return rc == 0 ? 0 : wrong(err, name, "has a value, bound or method that cannot be read");
}

static int limit(json_t *v, const char *name, struct summary_limit *ret, struct err *err)
{
	struct err why = {0};
	if (!(ret->name = strdup(name)))
		return no_memory(err);
	unsigned decimals = limit_unit_of(name)->decimals;
	ret->peak = -1;
	ret->limit = -1;
	if (!json_is_object(v) || known(v, "limit", decimals, &ret->limit, &why) < 0 || ret->limit < 0 ||
	    known(v, "peak", decimals, &ret->peak, &why) < 0)
		return wrong(err, name, "has no limit that can be read");
	return 0;
}

static int limits(json_t *o, struct summary *s, struct err *err)
{
	json_t *all = json_object_get(o, "limits"), *exceeded = json_object_get(o, "limits_exceeded"), *v, *name;
	const char *key;
	size_t i;
	int rc;
	if (all && !json_is_object(all))
		return wrong(err, "limits", "is no object");
	if (exceeded && !json_is_array(exceeded))
		return wrong(err, "limits_exceeded", "is no list");
	s->limit = calloc(json_object_size(all) + 1, sizeof(*s->limit));
	s->exceeded = calloc(json_array_size(exceeded) + 1, sizeof(*s->exceeded));
	if (!s->limit || !s->exceeded)
		return no_memory(err);
	json_object_foreach(all, key, v) if ((rc = limit(v, key, &s->limit[s->nlimit++], err)) < 0) return rc;
	json_array_foreach(exceeded, i, v)
	{
		name = json_object_get(v, "name");
		if (!json_is_string(name))
			return wrong(err, "limits_exceeded", "has one without a name");
		if ((rc = limit(v, json_string_value(name), &s->exceeded[s->nexceeded++], err)) < 0)
			return rc;
	}
	return 0;
}

static int process(json_t *v, struct summary_process *p, struct err *err)
{
	json_t *end = json_object_get(v, "exit");
	int status = -1, sig = -1, rc;
	bool core;
	*p = (struct summary_process){.pid = -1, .ppid = -1, .status = -1};
	if ((rc = count(v, "pid", 0, INT_MAX, &p->pid, err)) < 0 ||
	    (rc = count(v, "ppid", 0, INT_MAX, &p->ppid, err)) < 0 || (rc = string(v, "exe", &p->exe, err)) < 0 ||
	    (rc = known(v, "start", 9, &p->start, err)) < 0 || (rc = known(v, "end", 9, &p->end, err)) < 0 ||
	    (rc = known(v, "user_time", 9, &p->user_time, err)) < 0 ||
	    (rc = known(v, "system_time", 9, &p->system_time, err)) < 0 ||
	    (rc = known(v, "memory_resident_peak", 0, &p->resident_peak, err)) < 0 ||
	    (rc = known(v, "memory_virtual_peak", 0, &p->virtual_peak, err)) < 0 ||
	    (rc = known(v, "bytes_read", 0, &p->bytes_read, err)) < 0 ||
	    (rc = known(v, "bytes_written", 0, &p->bytes_written, err)) < 0 ||
	    (rc = known(v, "threads_peak", 0, &p->threads_peak, err)) < 0)
		return rc;
	if (!end || json_is_null(end))
		return 0;
	if ((rc = count(end, "status", 0, 255, &status, err)) < 0 ||
	    (rc = count(end, "signal", 1, SIGNAL_MAX, &sig, err)) < 0 || (rc = flag(end, "core", &core, err)) < 0)
		return rc;
	if (sig > 0)
		p->status = W_EXITCODE(0, sig) | (core ? WCOREFLAG : 0);
	else if (status >= 0)
		p->status = W_EXITCODE(status, 0);
	return 0;
}

static int processes(json_t *o, struct summary *s, struct err *err)
{
	json_t *list = json_object_get(o, "processes");
	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return wrong(err, "processes", "is no list");
	size_t n = json_array_size(list);
	if (!(s->process = calloc(n + 1, sizeof(*s->process))))
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_array_get(list, i);
		if (!json_is_object(v))
			return wrong(err, "processes", "has one that is no object");
		s->nprocess++;
		int rc = process(v, &s->process[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int files(json_t *o, struct summary *s, struct err *err)
{
	json_t *list = json_object_get(o, "files");
	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return wrong(err, "files", "is no list");
	size_t n = json_array_size(list);
	if (!(s->file = calloc(n + 1, sizeof(*s->file))))
		return no_memory(err);
	s->files_told = true;
	int rc = flag(o, "files_complete", &s->files_complete, err);
	for (size_t i = 0; i < n && rc == 0; i++) {
		json_t *v = json_array_get(list, i);
		struct summary_file *f = &s->file[i];
		if (!json_is_object(v))
			return wrong(err, "files", "has one that is no object");
		s->nfile++;
		f->size = -1;
		if ((rc = string(v, "path", &f->path, err)) == 0 && (rc = known(v, "size", 0, &f->size, err)) == 0 &&
		    (rc = flag(v, "read", &f->read, err)) == 0 && (rc = flag(v, "written", &f->written, err)) == 0)
			rc = string(v, "how", &f->how, err);
		if (rc == 0 && !f->path)
			return wrong(err, "files", "has one without a path");
	}
	return rc;
}

static int ending(json_t *o, struct summary *s, struct err *err)
{
	json_t *v = json_object_get(o, "exit_type");
	if (v && !json_is_null(v)) {
		for (enum exit_type t = EXIT_TYPE_NORMAL; json_is_string(v) && t <= EXIT_TYPE_LIMIT; t++)
			if (strcmp(json_string_value(v), exit_type_word(t)) == 0)
				s->exit_type = t;
		if (!s->exit_type)
			return wrong(err, "exit_type", "is none of normal, signal, limit");
	}
	int rc = count(o, "exit_status", 0, 255, &s->exit_status, err);
	if (rc == 0)
		rc = count(o, "signal", 1, SIGNAL_MAX, &s->signal, err);
	return rc < 0 ? rc : flag(o, "oom", &s->oom, err);
}

static int all(json_t *o, struct summary *s, struct err *err)
{
	int rc, format = 0;
	if (!json_is_object(o))
		return bad(err, "this is no summary: it is no JSON object");
	if ((rc = count(o, "format", 1, INT_MAX, &format, err)) < 0)
		return rc;
	if (!format)
		return bad(err, "this is no summary: it has no 'format'");
	if (format > SUMMARY_FORMAT)
		return err_set(err, 0, "the summary is from a newer stemma: its format is %d, this one reads %d", format,
		               SUMMARY_FORMAT),
		       -EPROTO;
	if ((rc = string(o, "run", &s->run, err)) < 0 ||
	    (rc = strings(o, "command", "command_base64", &s->argv, NULL, err)) < 0 ||
	    (rc = string(o, "cwd", &s->cwd, err)) < 0 || (rc = string(o, "user", &s->user, err)) < 0 ||
	    (rc = ending(o, s, err)) < 0)
		return rc;
	for (int f = 0; f < FIGURES; f++)
		if ((rc = figure(o, (enum figure_name)f, &s->figure[f], err)) < 0)
			return rc;
	if ((rc = limits(o, s, err)) < 0 ||
	    (rc = strings(o, "escaped", "escaped_base64", &s->escaped, &s->nescaped, err)) < 0 ||
	    (rc = pairs(o, "host", "host_base64", &s->host, &s->nhost, err)) < 0 ||
	    (rc = pairs(o, "label", "label_base64", &s->label, &s->nlabel, err)) < 0)
		return rc;
	rc = processes(o, s, err);
	return rc < 0 ? rc : files(o, s, err);
}

int summary_from_json(json_t *value, struct err *err, struct summary *ret)
{
	struct summary s;
	summary_init(&s);
	int rc = all(value, &s, err);
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
		return no_memory(err);
	int rc = jin_next(&in, &value, why);
	if (rc < 0)
		err_set(err, 0, "the summary is no JSON: %s", why);
	else if (rc == 0)
		rc = bad(err, "the summary is empty");
	else if ((rc = summary_from_json(value, err, &s)) == 0 && jin_next(&in, &more, why) != 0) {
		summary_release(&s);
		rc = bad(err, "there is more behind the end of the summary");
	}
	json_decref(value);
	json_decref(more);
	jin_release(&in);
	if (rc == 0)
		*ret = s;
	return rc;
}

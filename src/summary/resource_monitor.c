#include "summary/resource_monitor.h"

#include "summary/decimal.h"
#include "summary/jout.h"
#include "summary/limit.h"
#include "summary/text_line.h"
#include "summary/units.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static const struct field {
	const char *name, *old, *unit;
	enum figure_name figure;
} fields[] = {
#define FIELD(name, old, unit, figure) {#name, old, unit, FIGURE_##figure},
#include "summary/resource_monitor.def"
};
#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

/* Our limit on that figure, LIMITS none. */
static unsigned limit_on(enum figure_name f)
{
	unsigned l = 0;
	while (l < LIMITS && limit_figure((enum limit_name)l) != f)
		l++;
	return l;
}

/* By either of its names. NULL: it has none. */
static const struct field *field_of(struct str name)
{
	for (size_t i = 0; i < NFIELDS; i++)
		if (str_is(name, fields[i].name) || (*fields[i].old && str_is(name, fields[i].old)))
			return &fields[i];
	return NULL;
}

/* Strings and numbers of theirs that are no figures; a label of such a name would be taken for them. */
static bool is_meta(struct str name)
{
	static const char *const words[] = {"command",         "exit_type",  "exit_status",    "signal",
	                                    "limits_exceeded", "peak_times", "snapshots",      "snapshot_name",
	                                    "last_error",      "host",       "monitor_version"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_is(name, words[i]))
			return true;
	return false;
}

/* ---- reading ---- */

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int monitor_no_memory(struct err *err)
{
	return err_set(err, ENOMEM, "cannot read the summary");
}

/* Reports what is wrong with a member. -EBADMSG with a sentence. */
static int report_bad_field(struct err *err, struct str name, const char *what)
{
	return err_set(err, 0, "resource_monitor's '%.*s' %s", name.n > 60 ? 60 : (int)name.n, name.p, what), -EBADMSG;
}

/* What the monitor reads off a clock, and so has right. */
static bool is_clock(enum figure_name f)
{
	return f == FIGURE_start || f == FIGURE_end || f == FIGURE_wall_time;
}

/* A negative one is absent. 0, -EBADMSG, -ENOMEM, with a sentence. */
static int set_field_figure(struct summary *s, const struct field *f, struct str number, struct str unit,
                            struct err *err)
{
	int64_t v;
	int rc = units_read(f->figure, number, unit.n ? unit : str_of(f->unit), &v);
	if (rc == -ENOENT)
		return report_bad_field(err, str_of(f->name), "is in a unit that is not known for it");
	if (rc < 0)
		return report_bad_field(err, str_of(f->name), rc == -ERANGE ? "is too large" : "is not a number");
	if (v < 0) /* old versions write -1 */
		rc = summary_absent(s, f->figure, "resource_monitor did not measure it");
	else
		rc = summary_set(s, f->figure, v, "resource_monitor", is_clock(f->figure));
	return rc < 0 ? monitor_no_memory(err) : 0;
}

/* Adds nothing, and gives 0, where no limit is on that figure, or the number cannot be read. 0, -ENOMEM with a
 * sentence. */
static int append_exceeded(struct summary *s, const struct field *f, struct str number, struct str unit,
                           struct err *err)
{
	int64_t v;
	unsigned l = limit_on(f->figure);
	if (l == LIMITS || units_read(f->figure, number, unit.n ? unit : str_of(f->unit), &v) < 0 || v < 0)
		return 0;
	struct summary_limit *more = realloc(s->exceeded, (s->nexceeded + 1) * sizeof(*more));
	if (!more)
		return monitor_no_memory(err);
	s->exceeded = more;
	if (!(more[s->nexceeded].name = strdup(limit_key((enum limit_name)l))))
		return monitor_no_memory(err);
	more[s->nexceeded].peak = -1;
	more[s->nexceeded++].limit = v;
	return 0;
}

/* The word that ends at a blank; *s is what follows it. */
static struct str next_blank_token(struct str *s)
{
	size_t i = 0, k;
	while (i < s->n && (s->p[i] == ' ' || s->p[i] == '\t'))
		i++;
	for (k = i; k < s->n && s->p[k] != ' ' && s->p[k] != '\t';)
		k++;
	struct str w = str_n(s->p + i, k - i);
	*s = str_n(s->p + k, s->n - k);
	return w;
}

/* The command is told as one line, its words joined by blanks; where a word ended is lost where it had blanks. 0,
 * -ENOMEM. */
static int split_command(struct summary *s, struct str line, struct err *err)
{
	struct str rest = line;
	size_t n = 0;
	if (s->argv)
		return 0;
	while (next_blank_token(&rest).n)
		n++;
	if (!(s->argv = calloc(n + 1, sizeof(*s->argv))))
		return monitor_no_memory(err);
	rest = line;
	for (size_t i = 0; i < n; i++) {
		struct str w = next_blank_token(&rest);
		if (!(s->argv[i] = strndup(w.p, w.n)))
			return monitor_no_memory(err);
	}
	return 0;
}

/* Copies both. 0, -ENOMEM with a sentence. */
static int append_monitor_pair(struct summary_pair **list, size_t *n, struct str key, struct str value, struct err *err)
{
	return units_pair(list, n, key, value) < 0 ? monitor_no_memory(err) : 0;
}

/* What is said in words or plain numbers. What is no field becomes a label. 0, -EBADMSG, -ENOMEM, with a sentence. */
static int read_meta_field(struct summary *s, struct str name, struct str text, struct err *err)
{
	int64_t n = -1;
	if (str_is(name, "command"))
		return split_command(s, text, err);
	if (str_is(name, "exit_type")) {
		s->exit_type = str_is(text, "normal")                                        ? EXIT_TYPE_NORMAL
		               : str_is(text, "signal")                                      ? EXIT_TYPE_SIGNAL
		               : str_is(text, "limits") || str_starts(text, str_of("limit")) ? EXIT_TYPE_LIMIT
		                                                                             : EXIT_TYPE_UNKNOWN;
		return 0;
	}
	if (str_is(name, "exit_status") || str_is(name, "signal")) {
		bool is_signal = str_is(name, "signal");
		if (decimal_read(text, 0, &n) < 0)
			return report_bad_field(err, name, "is not a number");
		if (n >= is_signal && n <= (is_signal ? 126 : 255))
			*(is_signal ? &s->signal : &s->exit_status) = (int)n;
		return 0;
	}
	if (str_is(name, "host"))
		return append_monitor_pair(&s->host, &s->nhost, str_of("name"), text, err);
	return is_meta(name) ? 0 : append_monitor_pair(&s->label, &s->nlabel, name, text, err);
}

/* What was exceeded is told without what was reached; that is the figure. And the status of a task that was killed is
 * the shell's way of saying so. */
static void complete_exceeded_limits(struct summary *s)
{
	for (size_t i = 0; i < s->nexceeded; i++) {
		const struct figure *v = &s->figure[limit_figure((enum limit_name)limit_by_name(s->exceeded[i].name))];
		if (v->known)
			s->exceeded[i].peak = v->value;
	}
	if (s->exit_type == EXIT_TYPE_SIGNAL)
		s->exit_status = -1;
	else
		s->signal = -1;
}

/* All that the text did not have. 0, -ENOMEM. */
static int mark_absent_figures(struct summary *s, struct err *err)
{
	for (int f = 0; f < FIGURES; f++)
		if (!s->figure[f].known && !s->figure[f].absent &&
		    summary_absent(s, (enum figure_name)f, "resource_monitor does not tell it") < 0)
			return monitor_no_memory(err);
	return 0;
}

/* "" for what is no text. Belongs to v. */
static struct str json_text_or_empty(json_t *v)
{
	return json_is_string(v) ? str_n(json_string_value(v), json_string_length(v)) : str_of("");
}

bool resource_monitor_is(json_t *value)
{
	for (size_t i = 0; i < NFIELDS; i++)
		if (json_is_array(json_object_get(value, fields[i].name)))
			return true;
	return json_object_get(value, "monitor_version") || json_is_string(json_object_get(value, "wall_time"));
}

/* Reads the limits that were exceeded. 0, -EBADMSG, -ENOMEM, with a sentence. */
static int limits_of(json_t *o, struct summary *s, struct err *err)
{
	const char *key;
	json_t *v;
	int rc = 0;
	json_object_foreach(o, key, v)
	{
		const struct field *f = field_of(str_of(key));
		json_t *number = json_is_array(v) ? json_array_get(v, 0) : v;
		if (f && rc == 0)
			rc = append_exceeded(s, f, json_text_or_empty(number), json_text_or_empty(json_array_get(v, 1)), err);
	}
	return rc;
}

/* Reads a summary in JSON. 0, -EBADMSG, -ENOMEM, with a sentence. */
static int read_monitor_object(json_t *value, struct summary *s, struct err *err)
{
	const char *key;
	json_t *v;
	int rc = 0;
	json_object_foreach(value, key, v)
	{
		struct str name = str_of(key);
		const struct field *f = field_of(name);
		if (rc < 0)
			break;
		if (f && json_is_array(v))
			rc = json_array_size(v) ? set_field_figure(s, f, json_text_or_empty(json_array_get(v, 0)),
			                                           json_text_or_empty(json_array_get(v, 1)), err)
			                        : 0;
		else if (strcmp(key, "machine_cpus") == 0)
			rc = append_monitor_pair(&s->host, &s->nhost, str_of("cores"), json_text_or_empty(json_array_get(v, 0)),
			                         err);
		else if (f && json_is_string(v))
			rc = set_field_figure(s, f, json_text_or_empty(v), str_of(""), err);
		else if (strcmp(key, "limits_exceeded") == 0)
			rc = limits_of(v, s, err);
		else if (json_is_string(v))
			rc = read_meta_field(s, name, json_text_or_empty(v), err);
	}
	complete_exceeded_limits(s);
	return rc < 0 ? rc : mark_absent_figures(s, err);
}

int resource_monitor_read(json_t *value, struct err *err, struct summary *ret)
{
	struct summary s;
	summary_init(&s);
	int rc = read_monitor_object(value, &s, err);
	if (rc < 0) {
		summary_release(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* "name: rest" */
static bool split_name(struct str line, struct str *ret_name, struct str *ret_rest)
{
	const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
	if (!colon)
		return false;
	*ret_name = text_trim(str_n(line.p, (size_t)(colon - line.p)));
	*ret_rest = text_trim(str_n(colon + 1, line.n - (size_t)(colon + 1 - line.p)));
	return ret_name->n > 0;
}

/* Whether one of its lines has a field of theirs. */
bool resource_monitor_is_text(struct str text)
{
	struct str name, rest;
	for (size_t at = 0; at < text.n;) {
		struct str line = text_line_at(text, at);
		if (split_name(line, &name, &rest) && field_of(name))
			return true;
		at += line.n + 1;
	}
	return false;
}

/* "memory: 20, cpu_time: 3" */
static int read_exceeded_list(struct summary *s, struct str list, struct err *err)
{
	int rc = 0;
	while (list.n && rc == 0) {
		const char *comma = memchr(list.p, ',', list.n);
		size_t n = comma ? (size_t)(comma - list.p) : list.n;
		struct str name, rest;
		const struct field *f = split_name(str_n(list.p, n), &name, &rest) ? field_of(name) : NULL;
		if (f) {
			struct str number = next_blank_token(&rest);
			rc = append_exceeded(s, f, number, next_blank_token(&rest), err);
		}
		list = str_n(list.p + n + (comma != NULL), list.n - n - (comma != NULL));
	}
	return rc;
}

/* ASCII only; an empty one is. */
static bool is_identifier(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] == '_' || (s.p[i] >= '0' && s.p[i] <= '9') || ((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z')))
			return false;
	return true;
}

/* Reads a line of a summary. *ret_any is set where it has a name; comments and what has none are passed over. 0,
 * -EBADMSG, -ENOMEM, with a sentence. */
static int read_monitor_line(struct summary *s, struct str line, bool *ret_any, struct err *err)
{
	struct str name, rest;
	if (!line.n || line.p[0] == '#' || !split_name(line, &name, &rest))
		return 0;
	const struct field *f = field_of(name);
	*ret_any = true;
	if (str_is(name, "limits_exceeded"))
		return read_exceeded_list(s, rest, err);
	if (!f) /* among them what it was held to, limits_memory and so on; and what is no field at all */
		return str_starts(name, str_of("limits_")) || !is_identifier(name) ? 0 : read_meta_field(s, name, rest, err);
	struct str number = next_blank_token(&rest);
	return set_field_figure(s, f, number, next_blank_token(&rest), err);
}

int resource_monitor_read_lines(struct str text, struct err *err, struct summary *ret, size_t *ret_n)
{
	struct summary s;
	bool any = false, end = false;
	size_t at = 0;
	int rc = 0;
	summary_init(&s);
	while (at < text.n && !end && rc == 0) {
		struct str line = text_line_at(text, at);
		at += line.n + (at + line.n < text.n);
		end = any && str_starts(line, str_of("--"));
		rc = end ? 0 : read_monitor_line(&s, text_trim(line), &any, err);
	}
	complete_exceeded_limits(&s);
	if (rc == 0)
		rc = any ? mark_absent_figures(&s, err) : -ENODATA;
	if (rc < 0) {
		summary_release(&s);
		return rc;
	}
	*ret = s;
	*ret_n = at;
	return 0;
}

/* ---- writing ---- */

/* [number, unit] in a line of its own. Times have six decimals and sizes are MB, as there. */
static void write_quantity(struct jout *j, const char *name, const char *unit, int64_t value, unsigned decimals)
{
	jout_line(j, 1);
	jout_key(j, name);
	jout_open(j, '[');
	jout_decimal(j, value, decimals);
	jout_text(j, str_of(unit));
	jout_close(j, ']');
}

/* value as the figure has it; unit as this format has it. */
static void write_figure_quantity(struct jout *j, const char *name, const char *unit, enum figure_name f, int64_t value)
{
	if (strcmp(unit, "MB") == 0 && value >> 59 == 0) /* to 10^-7 MB, so that a reader gets the same byte back */
		write_quantity(j, name, unit, (int64_t)(((__int128)value * 10000000 + (1 << 19)) >> 20), 7);
	else if (strcmp(unit, "MB") == 0)
		write_quantity(j, name, unit, value >> 20, 0);
	else if (strcmp(unit, "s") == 0)
		write_quantity(j, name, unit, value / 1000 + (value % 1000 >= 500), 6);
	else
		write_quantity(j, name, unit, value, (unsigned)figure_decimals(f));
}

/* Writes the sum of two figures. Nothing if either is not known. */
static void write_figure_sum(struct jout *j, const struct summary *s, const char *name, const char *unit,
                             enum figure_name a, enum figure_name b)
{
	int64_t both;
	if (s->figure[a].known && s->figure[b].known &&
	    !__builtin_add_overflow(s->figure[a].value, s->figure[b].value, &both))
		write_quantity(j, name, unit, both, 0);
}

/* A signal counts as status 128 and more. What is not known is left out. */
static void write_monitor_exit(struct jout *j, const struct summary *s)
{
	int status = s->exit_status >= 0 ? s->exit_status : s->signal > 0 ? 128 + s->signal : -1;
	const char *type = s->exit_type == EXIT_TYPE_LIMIT ? "limits" : exit_type_name(s->exit_type);
	if (status >= 0) {
		jout_line(j, 1);
		jout_number(j, "exit_status", status, 0);
	}
	if (type) {
		jout_line(j, 1);
		jout_string_pair(j, "exit_type", type);
	}
	if (s->exit_type == EXIT_TYPE_SIGNAL && s->signal > 0) {
		jout_line(j, 1);
		jout_number(j, "signal", s->signal, 0);
	}
	if (s->exit_type != EXIT_TYPE_LIMIT)
		return;
	jout_line(j, 1);
	jout_key(j, "limits_exceeded");
	struct jout flat = {.b = j->b}; /* on one line */
	jout_open(&flat, '{');
	for (size_t i = 0; i < s->nexceeded; i++) {
		int l = limit_by_name(s->exceeded[i].name);
		for (size_t k = 0; l >= 0 && k < NFIELDS; k++)
			if (fields[k].figure == limit_figure((enum limit_name)l))
				write_figure_quantity(&flat, fields[k].name, fields[k].unit, fields[k].figure, s->exceeded[i].limit);
	}
	jout_close(&flat, '}');
	j->comma = true;
}

/* Writes a text as a member, on a line of its own. */
static void write_text_pair(struct jout *j, const char *key, struct str text)
{
	jout_line(j, 1);
	jout_key(j, key);
	jout_text(j, text);
}

/* Labels whose names stand for nothing else there. */
static void write_monitor_labels(struct jout *j, const struct summary *s)
{
	for (size_t i = 0; i < s->nlabel; i++)
		if (!is_meta(str_of(s->label[i].key)) && !field_of(str_of(s->label[i].key)))
			write_text_pair(j, s->label[i].key, str_of(s->label[i].value));
}

/* The command as one text. False without memory. */
static bool write_monitor_command(struct jout *j, const struct summary *s)
{
	struct buf line = {0};
	for (size_t i = 0; s->argv && s->argv[i]; i++)
		buf_printf(&line, "%s%s", i ? " " : "", s->argv[i]);
	if (s->argv)
		write_text_pair(j, "command", buf_view(&line));
	bool ok = !line.failed;
	buf_release(&line);
	return ok;
}

/* Figures that are not known are left out. */
static void write_monitor_figures(struct jout *j, const struct summary *s)
{
	for (size_t i = 0; i < NFIELDS; i++) {
		const struct figure *v = &s->figure[fields[i].figure];
		if (fields[i].figure == FIGURE_cores_peak && !v->known) /* as theirs of a task of one sample */
			v = &s->figure[FIGURE_cores];
		if (fields[i].figure == FIGURE_files_peak) /* theirs counts folders, too */
			write_figure_sum(j, s, fields[i].name, fields[i].unit, FIGURE_files_peak, FIGURE_directories_peak);
		else if (v->known && v->value >= 0)
			write_figure_quantity(j, fields[i].name, fields[i].unit, fields[i].figure, v->value);
	}
}

int resource_monitor_write(const struct summary *s, struct buf *ret)
{
	struct jout j = {.b = ret, .indent = true};
	size_t at = ret->n;
	int64_t n;
	jout_open(&j, '{');
	/* Their readers end at an object or list they do not know, and pass over strings. */
	write_monitor_labels(&j, s);
	jout_line(&j, 1);
	jout_string_pair(&j, "monitor_version", "stemma " STEMMA_VERSION);
	const char *host = summary_host(s, "name"), *cores = summary_host(s, "cores");
	if (host)
		write_text_pair(&j, "host", str_of(host));
	bool ok = write_monitor_command(&j, s);
	write_monitor_exit(&j, s);
	write_monitor_figures(&j, s);
	if (cores && decimal_read(str_of(cores), 3, &n) == 0 && n > 0)
		write_quantity(&j, "machine_cpus", "cores", n, 3);
	write_figure_sum(&j, s, "context_switches", "switches", FIGURE_context_switches_voluntary,
	                 FIGURE_context_switches_involuntary);
	j.comma = false;
	jout_line(&j, 0);
	jout_close(&j, '}');
	buf_char(ret, '\n');
	if (ok && !ret->failed)
		return 0;
	ret->n = at;
	return -ENOMEM;
}

/* tables.c - CSV (RFC 4180) and TSV: a directory of a table each for agents, entities, activities and relations, and
 * csv-metadata.json, which gives every column its type (W3C "CSV on the Web").
 *
 * An empty field is a value that is not known. In TSV a tab, a line end and a backslash are \t, \n, \r and \\. A text
 * that a spreadsheet would take for a formula has a ' before it. The last column, base64, is a JSON object of the exact
 * bytes of those texts that are not UTF-8. One walk; nothing is kept. */
#include "base/unsafe_char.h"
#include "export/dir.h"
#include "export/export.h"
#include "export/jsonw.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum table { TABLE_agent, TABLE_entity, TABLE_activity, TABLE_relation, TABLES };

/* Columns before the attributes, and whose attributes follow. */
static const struct {
	const char *name, *of;
	const char *columns[8];
} table[TABLES] = {
    [TABLE_agent] = {"agent", "agent", {"id", "type", "name"}},
    [TABLE_entity] = {"entity", "entity", {"id", "type", "name"}},
    [TABLE_activity] = {"activity", "activity", {"id", "type", "name", "start", "end"}},
    [TABLE_relation] = {"relation", "relation", {"type", "subject", "object", "activity", "time"}},
};

struct tables {
	struct out out[TABLES];
	bool tsv;
	struct buf list, base64;
	struct out base64_out;
};

/* Has the table a column for the attribute? Agents have those that prov.c gives them. */
static bool has_column(enum table t, enum prov_attr attr)
{
	if (t == TABLE_agent)
		return attr == ATTR_path || attr == ATTR_user || attr == ATTR_host || attr == ATTR_fileKind ||
		       attr == ATTR_domain || attr == ATTR_inode || attr == ATTR_generation || attr == ATTR_network;
	return strstr(attr_words[attr].of, table[t].of) != NULL; /* one or several */
}

/* Writes what separates two fields. */
static void write_separator(struct tables *t, struct out *o)
{
	out_char(o, t->tsv ? '\t' : ',');
}

/* RFC 4180: quotes around what has a quote, a comma or the end of a line; or leading blanks, which some readers drop.
 */
static void write_csv_field(struct out *o, struct str s)
{
	bool quoted = s.n && (s.p[0] == ' ' || s.p[s.n - 1] == ' ');
	bool formula = unsafe_formula(s);
	for (size_t i = 0; !quoted && i < s.n; i++)
		quoted = s.p[i] == '"' || s.p[i] == ',' || s.p[i] == '\n' || s.p[i] == '\r';
	if (!quoted) {
		if (formula)
			out_char(o, '\'');
		out_str(o, s);
		return;
	}
	out_char(o, '"');
	if (formula)
		out_char(o, '\'');
	for (size_t i = 0, from = 0; i <= s.n; i++)
		if (i == s.n || s.p[i] == '"') {
			out_bytes(o, s.p + from, i - from);
			if (i < s.n)
				out_text(o, "\"\"");
			from = i + 1;
		}
	out_char(o, '"');
}

/* Escaped so that a line is a row; what a spreadsheet would take for a formula gets a quote before it. */
static void write_tsv_field(struct out *o, struct str s)
{
	if (unsafe_formula(s) && s.p[0] != '\t' && s.p[0] != '\r') /* those two are escaped */
		out_char(o, '\'');
	for (size_t i = 0; i < s.n; i++)
		switch (s.p[i]) {
		case '\t':
			out_text(o, "\\t");
			break;
		case '\n':
			out_text(o, "\\n");
			break;
		case '\r':
			out_text(o, "\\r");
			break;
		case '\\':
			out_text(o, "\\\\");
			break;
		default:
			out_char(o, s.p[i]);
		}
}

/* Writes a field of a table, as TSV or CSV, whichever the tables are. */
static void write_table_field(struct tables *t, struct out *o, struct str s)
{
	(t->tsv ? write_tsv_field : write_csv_field)(o, s);
}

/* A text, made one that may stand as it is. Returns whether it was. */
static bool write_table_text(struct tables *t, struct out *o, struct str s)
{
	bool exact = str_is_shown(s);
	struct out clean = out_into(&t->list);
	if (!exact) {
		buf_reset(&t->list);
		out_shown(&clean, s);
		s = buf_view(&t->list);
	}
	write_table_field(t, o, s);
	return exact;
}

/* Notes a value that was no UTF-8 for the row's last column. */
static void append_base64_cell(struct tables *t, const struct prov_value *v)
{
	struct out *b = &t->base64_out;
	out_text(b, t->base64.n ? ", \"" : "{\"");
	out_text(b, attr_words[v->attr].name);
	out_text(b, "\": ");
	if (attr_words[v->attr].type == TYPE_text) {
		out_char(b, '"');
		out_base64(b, v->text);
		out_char(b, '"');
	} else
		out_list(b, &v->list, true, NULL);
}

/* Writes a value by its type. What is not exact goes to the row's base64 column as well. */
static void write_table_value(struct tables *t, struct out *o, const struct prov_value *v)
{
	bool exact = true;
	switch (attr_words[v->attr].type) {
	case TYPE_text:
		exact = write_table_text(t, o, v->text);
		break;
	case TYPE_list:
		write_table_field(t, o, out_list_text(&t->list, &v->list, false, &exact));
		break;
	case TYPE_count:
		out_count(o, v->count);
		break;
	case TYPE_time:
		out_time(o, v->time);
		break;
	case TYPE_flag:
		out_text(o, v->count ? "true" : "false");
		break;
	case TYPE_name:
		out_str(o, v->text);
		break;
	}
	if (!exact)
		append_base64_cell(t, v);
}

/* Writes a time. With a separator before; empty for TIME_NONE. */
static void write_table_time(struct tables *t, struct out *o, int64_t at)
{
	write_separator(t, o);
	if (at != TIME_NONE)
		out_time(o, at);
}

/* One row; texts that are no UTF-8 also stand exactly in the column base64. 0, -errno. */
static int write_table_statement(void *arg, const struct prov_statement *st)
{
	struct tables *t = arg;
	enum table which = st->kind == PROV_agent      ? TABLE_agent
	                   : st->kind == PROV_entity   ? TABLE_entity
	                   : st->kind == PROV_activity ? TABLE_activity
	                                               : TABLE_relation;
	struct out *o = &t->out[which];
	const struct prov_value *of[ATTR_COUNT] = {NULL};
	for (size_t i = 0; i < st->n; i++)
		of[st->v[i].attr] = &st->v[i];
	buf_reset(&t->base64);
	if (which == TABLE_relation) {
		const struct str ends[] = {st->subject, st->object, st->third};
		out_text(o, prov_kind_name[st->kind]);
		for (int i = 0; i < 3; i++) {
			write_separator(t, o);
			out_str(o, ends[i]);
		}
		write_table_time(t, o, st->start);
	} else {
		out_str(o, st->id);
		write_separator(t, o);
		out_text(o, st->type);
		write_separator(t, o);
		write_table_text(t, o, st->label);
		if (which == TABLE_activity) {
			write_table_time(t, o, st->start);
			write_table_time(t, o, st->end);
		}
	}
	for (int attr = 0; attr < ATTR_COUNT; attr++)
		if (has_column(which, attr)) {
			write_separator(t, o);
			if (of[attr])
				write_table_value(t, o, of[attr]);
		}
	write_separator(t, o);
	if (t->base64.n) {
		buf_char(&t->base64, '}');
		write_table_field(t, o, buf_view(&t->base64));
	}
	out_text(o, t->tsv ? "\n" : "\r\n");
	return t->list.failed || t->base64.failed ? -ENOMEM : -o->error;
}

/* ---- the columns ---- */

/* Its own columns, those of the attributes that it may have, and the one for base64. */
static void write_table_header(struct tables *t, enum table which)
{
	struct out *o = &t->out[which];
	for (int i = 0; table[which].columns[i]; i++) {
		if (i)
			write_separator(t, o);
		out_text(o, table[which].columns[i]);
	}
	for (int attr = 0; attr < ATTR_COUNT; attr++)
		if (has_column(which, attr)) {
			write_separator(t, o);
			out_text(o, attr_words[attr].name);
		}
	write_separator(t, o);
	out_text(o, t->tsv ? "base64\n" : "base64\r\n");
}

/* Writes what CSVW says of a column. */
static void write_csvw_column(struct jsonw *j, const char *name, const char *type, const char *meaning)
{
	jsonw_line(j, 3);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "name", name);
	jsonw_pair_cstr(j, "titles", name);
	jsonw_pair_cstr(j, "datatype", type);
	if (*meaning)
		jsonw_pair(j, "dc:description", "", str_of(meaning));
	jsonw_close(j, '}');
}

/* What the columns of all tables mean, as CSVW has it. */
static void write_csvw_metadata(struct tables *t, struct out *out)
{
	static const char *const types[] = {[TYPE_text] = "string",   [TYPE_list] = "json",    [TYPE_count] = "integer",
	                                    [TYPE_time] = "dateTime", [TYPE_flag] = "boolean", [TYPE_name] = "string"};
	struct jsonw j = {.out = out};
	jsonw_open(&j, '{');
	jsonw_pair_cstr(&j, "@context", "http://www.w3.org/ns/csvw");
	if (t->tsv) {
		jsonw_line(&j, 1);
		jsonw_key(&j, "", "dialect");
		jsonw_open(&j, '{');
		jsonw_pair_cstr(&j, "delimiter", "\\t");
		jsonw_key(&j, "", "quoteChar");
		out_text(out, "null");
		jsonw_close(&j, '}');
	}
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "tables");
	jsonw_open(&j, '[');
	for (int which = 0; which < TABLES; which++) {
		jsonw_line(&j, 2);
		jsonw_open(&j, '{');
		jsonw_pair(&j, "url", table[which].name, str_of(t->tsv ? ".tsv" : ".csv"));
		jsonw_key(&j, "", "tableSchema");
		jsonw_open(&j, '{');
		jsonw_key(&j, "", "columns");
		jsonw_open(&j, '[');
		for (int i = 0; table[which].columns[i]; i++) {
			const char *name = table[which].columns[i];
			bool when = strcmp(name, "time") == 0 || strcmp(name, "start") == 0 || strcmp(name, "end") == 0;
			write_csvw_column(&j, name, when ? "dateTime" : "string", "");
		}
		for (int attr = 0; attr < ATTR_COUNT; attr++)
			if (has_column(which, attr))
				write_csvw_column(&j, attr_words[attr].name, types[attr_words[attr].type], attr_words[attr].meaning);
		write_csvw_column(&j, "base64", "json", "exact bytes of texts that are not UTF-8");
		jsonw_close(&j, ']');
		jsonw_close(&j, '}');
		jsonw_close(&j, '}');
	}
	jsonw_close(&j, ']');
	jsonw_close(&j, '}');
	out_char(out, '\n');
	jsonw_release(&j);
}

/* Opens name in d. 0, -errno with a sentence; then nothing is open. */
static int open_table_file(struct export_dir *d, const char *name, struct err *err, struct out *ret)
{
	int fd, r = export_dir_file(d, name, err, &fd);
	if (r < 0)
		return r;
	if (out_open(ret, fd) < 0) {
		close(fd);
		return err_set(err, ENOMEM, "cannot write '%s'", name);
	}
	return 0;
}

/* Closes the file of a table. r: what is returned if all is well. Nothing where it is not open. -errno with a
 * sentence. */
static int close_table_file(struct out *o, int r, struct err *err)
{
	if (!o->p)
		return r;
	int fd = o->fd, w = out_close(o);
	if (close(fd) < 0 && w == 0)
		w = -errno;
	return w < 0 ? err_set(err, -w, "cannot write a table") : r;
}

/* A folder of four tables and what describes them. 0; -errno with a sentence. */
static int write_tables(struct prov_source *p, const struct export_options *o, bool tsv, struct err *err)
{
	struct tables t = {.tsv = tsv};
	struct out meta = {.fd = -1};
	struct export_dir d;
	char name[32];
	int r = export_dir_open(o->target, err, &d);
	t.base64_out = out_into(&t.base64);
	for (int i = 0; r == 0 && i < TABLES; i++) {
		snprintf(name, sizeof(name), "%s.%s", table[i].name, tsv ? "tsv" : "csv");
		r = open_table_file(&d, name, err, &t.out[i]);
		if (r == 0)
			write_table_header(&t, i);
	}
	if (r == 0)
		r = open_table_file(&d, "csv-metadata.json", err, &meta);
	if (r == 0) {
		write_csvw_metadata(&t, &meta);
		int w = prov_walk(p, PROV_ALL | PROV_BUILDS, write_table_statement, &t);
		r = w < 0 ? err_set(err, -w, "cannot write the tables") : 0;
	}
	for (int i = 0; i < TABLES; i++)
		r = close_table_file(&t.out[i], r, err);
	r = close_table_file(&meta, r, err);
	buf_release(&t.list);
	buf_release(&t.base64);
	return export_dir_close(&d, r, err);
}

/* Into a folder of files. 0, -errno with a sentence. */
int export_csv(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	(void)out;
	return write_tables(p, o, false, err);
}

/* Into a folder of files. 0, -errno with a sentence. */
int export_tsv(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	(void)out;
	return write_tables(p, o, true, err);
}

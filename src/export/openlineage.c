/* openlineage.c - OpenLineage run events (spec 2-0-2), one JSON object a line: START and, once it has ended, COMPLETE
 * or FAIL for each run and each execution; runs are the parents of their executions. Images before any exec that
 * neither used nor wrote anything are left out.
 *
 * A run id is a UUID of the public id: of an execution version 8 (RFC 9562) with its 96 bits, of a run version 7 with
 * the ULID's time and 74 of its 80 random bits. A dataset is file://HOST and the path; a stream has no path and is
 * named by its kind and id. A job is a command: its script, or program, and arguments (script.h). One walk; of an
 * execution, its datasets are kept until all are known. */
#include "base/hex.h"
#include "export/export.h"
#include "export/jsonw.h"
#include "export/script.h"

#include <errno.h>
#include <stdio.h>

#define PRODUCER "urn:stemma:" STEMMA_VERSION
#define SPEC "https://openlineage.io/spec/"

struct events {
	struct out *out;
	struct prov_source *p;
	struct buf run, host, job; /* run: {"run": ..., "job": ...} without its brackets */
	struct jsonw inputs, outputs;
	struct out of_inputs, of_outputs;
	struct buf input, output;
	int64_t start, end;
	bool open, failed, any;
};

/* ---- ids ---- */

/* Writes a UUID in the usual form, 36 characters. */
static void write_uuid(struct out *o, const unsigned char b[16])
{
	static const int pieces[] = {4, 2, 2, 2, 6};
	char hex[2 * 6 + 1];
	for (int i = 0; i < 5; b += pieces[i++]) {
		if (i)
			out_char(o, '-');
		out_text(o, hex_text(b, (size_t)pieces[i], hex));
	}
}

/* The place of a digit in the set of an alphabet, 0 of what is none of the set. */
static unsigned digit_in_set(const char *set, char c)
{
	const char *at = c ? strchr(set, c) : NULL;
	return at ? (unsigned)(at - set) : 0;
}

/* Puts n bits of v at a bit of b. */
static void set_bits(unsigned char b[16], unsigned at, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++)
		if (v >> (n - 1 - i) & 1)
			b[(at + i) / 8] |= (unsigned char)(0x80 >> (at + i) % 8);
}

/* x and 24 hex digits, or r and a ULID. */
static void write_run_uuid(struct out *o, struct str local)
{
	unsigned char b[16] = {0};
	set_bits(b, 64, 2, 2); /* the variant */
	if (local.n && local.p[0] == 'r') {
		unsigned char ulid[16] = {0};
		for (size_t i = 0; i < 26 && i + 1 < local.n; i++) { /* 130 bits, of which the first two are 0 */
			unsigned v = digit_in_set("0123456789ABCDEFGHJKMNPQRSTVWXYZ", local.p[i + 1]);
			set_bits(ulid, i ? (unsigned)i * 5 - 2 : 0, i ? 5 : 3, v);
		}
		memcpy(b, ulid, 6);
		set_bits(b, 48, 4, 7);
		b[6] |= ulid[6] & 15;
		b[7] = ulid[7];
		b[8] |= ulid[8] & 63;
		memcpy(b + 9, ulid + 9, 7);
	} else {
		set_bits(b, 48, 4, 8);
		for (unsigned i = 0; i < 24 && i + 1 < local.n; i++) /* 48 bits, 12 bits, 36 bits */
			set_bits(b,
			         i < 12   ? i * 4
			         : i < 15 ? 52 + (i - 12) * 4
			                  : 66 + (i - 15) * 4,
			         4, digit_in_set("0123456789abcdef", local.p[i + 1]));
	}
	write_uuid(o, b);
}

/* A run's id, made from its own. */
static void id_pair(struct jsonw *j, struct str local)
{
	jsonw_key(j, "", "runId");
	out_char(j->out, '"');
	write_run_uuid(j->out, local);
	out_char(j->out, '"');
	j->comma = true;
}

/* ---- facets ---- */

/* The caller closes it. schema NULL: one of our own. */
static void facet_open(struct jsonw *j, const char *name, const char *schema)
{
	jsonw_key(j, "", name);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "_producer", PRODUCER);
	if (schema)
		jsonw_pair(j, "_schemaURL", SPEC "facets/", str_of(schema));
	else
		jsonw_pair_cstr(j, "_schemaURL", "urn:stemma:ns#execution");
}

/* The caller closes it. */
static void open_job_object(struct jsonw *j, struct str host, struct str name)
{
	jsonw_key(j, "", "job");
	jsonw_open(j, '{');
	jsonw_pair(j, "namespace", "stemma://", host);
	jsonw_pair(j, "name", "", name);
}

/* The name of a command's job, in e->job. argv NULL: there is no command. */
static struct str make_job_name(struct events *e, const struct strlist *argv, struct str cwd)
{
	buf_reset(&e->job);
	if (argv)
		script_job_name(argv, cwd, &e->job);
	return e->job.n ? buf_view(&e->job) : str_of("(no program)");
}

/* A run is known to jobs by its command, as its executions are. */
static struct str find_run_job_name(struct events *e, store_id id, struct str local)
{
	struct run_info run;
	struct store *s = prov_store(e->p);
	char ulid[32];
	snprintf(ulid, sizeof(ulid), "%.*s", local.n ? (int)local.n - 1 : 0, local.p + 1);
	bool found = (id || store_find_run(s, ulid, &id) > 0) && store_run_told(s, id, &run) > 0;
	return make_job_name(e, found ? &run.argv : NULL, found ? run.cwd : str_of(""));
}

/* Empties b first. s must not be of b. */
static void set_buf(struct buf *b, struct str s)
{
	buf_reset(b);
	buf_str(b, s);
}

/* An attribute of the statement, as JSON has values of its type. */
static void write_attribute(struct jsonw *j, const struct prov_value *v)
{
	const struct attr_words *w = &attr_words[v->attr];
	jsonw_key(j, "", w->name);
	if (w->type == TYPE_list)
		jsonw_list(j, &v->list);
	else if (w->type == TYPE_time)
		jsonw_time(j, v->time);
	else if (w->type == TYPE_flag)
		jsonw_flag(j, v->count);
	else if (w->type == TYPE_count)
		jsonw_count_text(j, v->count);
	else
		jsonw_text(j, "", v->text, NULL);
}

/* The run that it is a part of. Asking for that takes the strings of this one: it comes last. */
static void write_parent_facet(struct events *e, struct jsonw *j, store_id run, struct str parent)
{
	facet_open(j, "parent", "1-0-1/ParentRunFacet.json#/$defs/ParentRunFacet");
	jsonw_key(j, "", "run");
	jsonw_open(j, '{');
	id_pair(j, parent);
	jsonw_close(j, '}');
	open_job_object(j, buf_view(&e->host), find_run_job_name(e, run, parent));
	jsonw_close(j, '}');
	jsonw_close(j, '}');
}

/* What is said of an execution or a run in its START and in its end. */
static void begin_run_events(struct events *e, const struct prov_statement *st)
{
	const struct prov_value *of[ATTR_COUNT] = {NULL};
	for (size_t i = 0; i < st->n; i++)
		of[st->v[i].attr] = &st->v[i];
	buf_reset(&e->run);
	buf_reset(&e->input);
	buf_reset(&e->output);
	e->inputs.comma = e->outputs.comma = false;
	struct out o = out_into(&e->run);
	struct jsonw j = {.out = &o};
	struct str host = of[ATTR_host] ? of[ATTR_host]->text : str_of("unknown");
	const struct strlist *argv = of[ATTR_argv] && of[ATTR_argv]->list.count ? &of[ATTR_argv]->list : NULL;
	bool is_run = strcmp(st->type, "Run") == 0;
	set_buf(&e->host, host);
	open_job_object(&j, host, make_job_name(e, argv, of[ATTR_cwd] ? of[ATTR_cwd]->text : str_of("")));
	jsonw_key(&j, "", "facets");
	jsonw_open(&j, '{');
	facet_open(&j, "jobType", "2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet");
	jsonw_pair_cstr(&j, "processingType", "BATCH");
	jsonw_pair_cstr(&j, "integration", "STEMMA");
	jsonw_pair_cstr(&j, "jobType", is_run ? "RUN" : "EXECUTION");
	jsonw_close(&j, '}');
	jsonw_close(&j, '}');
	jsonw_close(&j, '}');
	jsonw_key(&j, "", "run");
	jsonw_open(&j, '{');
	id_pair(&j, st->id);
	jsonw_key(&j, "", "facets");
	jsonw_open(&j, '{');
	facet_open(&j, "processing_engine", "1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet");
	jsonw_pair_cstr(&j, "version", STEMMA_VERSION);
	jsonw_pair_cstr(&j, "name", "stemma");
	jsonw_close(&j, '}');
	facet_open(&j, "stemma", NULL);
	jsonw_pair(&j, "id", "", st->id);
	for (size_t i = 0; i < st->n; i++) {
		const struct prov_value *v = &st->v[i];
		if (v->attr != ATTR_run && v->attr != ATTR_outerRun)
			write_attribute(&j, v);
	}
	jsonw_close(&j, '}');
	e->open = true;
	e->any = is_run || argv;
	e->start = st->start;
	e->end = st->end;
	e->failed = of[ATTR_exitSignal] || (of[ATTR_exitStatus] && of[ATTR_exitStatus]->count);
	const struct prov_value *parent = of[is_run ? ATTR_outerRun : ATTR_run];
	if (parent)
		write_parent_facet(e, &j, is_run ? 0 : st->other, parent->text);
	jsonw_close(&j, '}');
	jsonw_close(&j, '}');
	jsonw_release(&j);
}

/* Writes an event of OpenLineage. type: START, COMPLETE or FAIL; t in ns. At the start no outputs are written. */
static void write_run_event(struct events *e, const char *type, int64_t t)
{
	struct jsonw j = {.out = e->out};
	jsonw_open(&j, '{');
	jsonw_pair_cstr(&j, "eventType", type);
	jsonw_key(&j, "", "eventTime");
	jsonw_time(&j, t);
	jsonw_pair_cstr(&j, "producer", PRODUCER);
	jsonw_pair_cstr(&j, "schemaURL", SPEC "2-0-2/OpenLineage.json#/$defs/RunEvent");
	out_text(e->out, ", ");
	out_str(e->out, buf_view(&e->run));
	jsonw_key(&j, "", "inputs");
	jsonw_open(&j, '[');
	out_str(e->out, buf_view(&e->input));
	jsonw_close(&j, ']');
	jsonw_key(&j, "", "outputs");
	jsonw_open(&j, '[');
	if (strcmp(type, "START") != 0)
		out_str(e->out, buf_view(&e->output));
	jsonw_close(&j, ']');
	jsonw_close(&j, '}');
	out_char(e->out, '\n');
	jsonw_release(&j);
}

/* Writes start and end of the execution that is open, if it has inputs or outputs and its start is known. */
static void finish_run_events(struct events *e)
{
	if (e->open && e->any && e->start != TIME_NONE) {
		write_run_event(e, "START", e->start);
		if (e->end != TIME_NONE)
			write_run_event(e, e->failed ? "FAIL" : "COMPLETE", e->end);
	}
	e->open = false;
}

/* Writes a dataset: a file that was read or written. 0, also where the record does not have it; -errno. */
static int write_dataset(struct events *e, struct jsonw *j, store_id version, bool output)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(prov_store(e->p), version, &v);
	r = r > 0 ? store_file(prov_store(e->p), v.file, &f) : r;
	if (r <= 0)
		return r;
	e->any = true;
	jsonw_open(j, '{');
	jsonw_pair(j, "namespace", "file://", buf_view(&e->host));
	if (f.path.n)
		jsonw_pair(j, "name", "", f.path);
	else {
		char name[64];
		snprintf(name, sizeof(name), "%s:%s", term_name(SET_kind, f.kind), f.pub.text);
		jsonw_pair(j, "name", "", str_of(name));
	}
	jsonw_key(j, "", "facets");
	jsonw_open(j, '{');
	facet_open(j, "version", "1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet");
	jsonw_pair(j, "datasetVersion", "", str_of(v.pub.text));
	jsonw_close(j, '}');
	jsonw_close(j, '}');
	if (output && v.has_size) {
		jsonw_key(j, "", "outputFacets");
		jsonw_open(j, '{');
		facet_open(j, "outputStatistics",
		           "1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet");
		jsonw_key(j, "", "size");
		jsonw_count(j, v.size);
		jsonw_close(j, '}');
		jsonw_close(j, '}');
	}
	jsonw_close(j, '}');
	return 0;
}

/* Takes a statement of PROV for the events of its run. 0, -errno. A statement goes to the activity before it. */
static int write_openlineage_statement(void *arg, const struct prov_statement *st)
{
	struct events *e = arg;
	int r = 0;
	if (st->kind == PROV_activity) {
		finish_run_events(e);
		begin_run_events(e, st);
	} else if (st->kind == PROV_used)
		r = write_dataset(e, &e->inputs, st->other, false);
	else
		r = write_dataset(e, &e->outputs, st->what, true);
	if (e->run.failed || e->host.failed || e->job.failed || e->input.failed || e->output.failed)
		r = -ENOMEM;
	return r < 0 ? r : -e->out->error;
}

/* Writes events of OpenLineage. 0, -errno with a sentence. */
int export_openlineage(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct events e = {.out = out, .p = p};
	(void)o;
	e.of_inputs = out_into(&e.input);
	e.of_outputs = out_into(&e.output);
	e.inputs.out = &e.of_inputs;
	e.outputs.out = &e.of_outputs;
	int r = prov_walk(p, PROV_BIT(PROV_activity) | PROV_BIT(PROV_used) | PROV_OUTPUTS, write_openlineage_statement, &e);
	if (r == 0)
		finish_run_events(&e);
	jsonw_release(&e.inputs);
	jsonw_release(&e.outputs);
	buf_release(&e.run);
	buf_release(&e.host);
	buf_release(&e.job);
	buf_release(&e.input);
	buf_release(&e.output);
	return r < 0 && !out->error ? err_set(err, -r, "cannot read the record") : r;
}

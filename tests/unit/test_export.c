/* Each format of export, of a record that has something of everything, against documents that were read by people and
 * by other programs (tests/golden/export, doc/golden.md). With a second argument the documents are written anew. */
#include "history_all.h"

#include "base/io.h"
#include "export/export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *golden;
static bool anew;

/* ---- what is written ---- */

static void append_file(struct buf *b, const char *path)
{
	char block[4096];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	while ((n = read(fd, block, sizeof(block))) > 0)
		buf_add(b, block, (size_t)n);
	close(fd);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* All files of a folder, each below its name. */
static void append_folder(struct buf *b, const char *path)
{
	struct dirent **entry;
	int n = scandir(path, &entry, NULL, by_name);
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		char file[PATH_MAX + 256];
		snprintf(file, sizeof(file), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.') {
			buf_printf(b, "==> %s\n", entry[i]->d_name);
			append_file(b, file);
		}
		free(entry[i]);
	}
	free(entry);
}

/* Puts @ in the place of each occurrence of what: stemma's version, which changes. */
static void hide(struct buf *b, const char *what)
{
	struct buf to = {0};
	const char *p = buf_cstr(b), *at;
	for (; (at = strstr(p, what)); p = at + strlen(what)) {
		buf_add(&to, p, (size_t)(at - p));
		buf_char(&to, '@');
	}
	buf_str(&to, str_of(p));
	buf_release(b);
	*b = to;
}

static void document(const char *format, const struct prov_select *select, struct buf *b)
{
	const struct export_format *f = export_format(format);
	struct prov_source *p;
	struct err err = {0};
	char folder[PATH_MAX];
	struct out out = out_into(b);
	snprintf(folder, sizeof(folder), "%s/document", history_home);
	struct export_options o = {.target = folder};
	assert_non_null(f);
	if (prov_open(history_store(), select, &err, &p) < 0 ||
	    f->write(p, f->target == TARGET_STREAM ? &out : NULL, &o, &err) < 0)
		fail_msg("%s: %s", format, err.text);
	if (f->target == TARGET_DIRECTORY) {
		append_folder(b, folder);
		assert_int_equal(io_remove_all(folder), 0);
	}
	prov_close(p);
	hide(b, STEMMA_VERSION);
	const char *now = strstr(buf_cstr(b), "\"datePublished\": \"");
	if (now) /* the only one */
		memset(b->p + (now - b->p) + strlen("\"datePublished\": \""), '@', strlen("2026-01-01T00:00:00.000000000Z"));
}

static void compare(const char *name, struct buf *b)
{
	char path[PATH_MAX];
	struct buf want = {0};
	snprintf(path, sizeof(path), "%s/%s", golden, name);
	if (anew) {
		FILE *f = fopen(path, "we");
		assert_non_null(f);
		fwrite(b->p, 1, b->n, f);
		fclose(f);
		return;
	}
	append_file(&want, path);
	if (!str_eq(buf_view(b), buf_view(&want))) {
		size_t i = 0;
		while (i < b->n && i < want.n && b->p[i] == want.p[i])
			i++;
		while (i && b->p[i - 1] != '\n')
			i--;
		fail_msg("%s: from byte %zu on:\n%.300s\n-- and not:\n%.300s", name, i, buf_cstr(b) + i, buf_cstr(&want) + i);
	}
	buf_release(&want);
}

/* ---- the tests ---- */

static void is_golden(const char *format, const char *name, const struct prov_select *select)
{
	struct buf b = {0};
	document(format, select, &b);
	compare(name, &b);
	buf_release(&b);
}

/* All that are one stream. svg is drawn by another program, from dot; two others are of one run (below). */
static void whole_record(void **state)
{
	(void)state;
	struct prov_select all = {.lineage = {.all = true, .fork = true}, .since = TIME_NONE, .until = TIME_NONE};
	history_all_a();
	history_all_b();
	history_all_build();
	for (size_t i = 0; i < export_n_formats; i++)
		if (export_formats[i].target == TARGET_STREAM && !strstr(" svg datalad-run in-toto ", export_formats[i].name))
			is_golden(export_formats[i].name, export_formats[i].name, &all);
}

static void folders(void **state)
{
	(void)state;
	struct prov_select all = {.lineage = {.all = true, .fork = true}, .since = TIME_NONE, .until = TIME_NONE};
	history_all_a();
	history_all_b();
	history_all_build();
	is_golden("csv", "csv", &all);
	is_golden("ro-crate", "ro-crate", &all);
}

static void one_run(void **state)
{
	(void)state;
	static const char *const formats[] = {"datalad-run", "in-toto"};
	store_id run;
	history_all_a();
	history_all_b();
	assert_int_equal(store_find_run(history_store(), HISTORY_RUN_A, &run), 1);
	struct prov_select one = {.runs = &run, .n_runs = 1, .since = TIME_NONE, .until = TIME_NONE};
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		is_golden(formats[i], formats[i], &one);
}

/* One execution that made every kind of call on every kind of object of an HDF5 file: how PROV-IO calls them. */
static void calls_of_objects(void **state)
{
	(void)state;
	static const unsigned kinds[] = {TERM_kind_group, TERM_kind_group, TERM_kind_dataset, TERM_kind_attribute,
	                                 TERM_kind_datatype};
	static const char *const paths[] = {"/w/a.h5//", "/w/a.h5//g", "/w/a.h5//g/d", "/w/a.h5//g/d@a", "/w/a.h5//t"};
	static const unsigned apis[] = {TERM_ioapi_data,   TERM_ioapi_attr,   TERM_ioapi_create,
	                                TERM_ioapi_h5open, TERM_ioapi_flush,  TERM_ioapi_rename,
	                                TERM_ioapi_extent, TERM_ioapi_delete, TERM_ioapi_read};
	struct prov_select all = {.lineage = {.all = true, .fork = true}, .since = TIME_NONE, .until = TIME_NONE};
	struct history h;
	history_begin(&h, HISTORY_RUN_A, "make", 0);
	uint64_t p = history_process(&h, 0), file = 0;
	history_exec(&h, p, "make", 0, 0);
	file = history_file(&h, TERM_kind_regular, "/w/a.h5", 1);
	history_write(&h, p, file, 1000);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		history_event(
		    &h,
		    (struct event){
		        .kind = EVENT_file,
		        .file = {.num = ++h.files, .kind = kinds[i], .domain = 1, .ino = 1, .gen = 70 + i, .within = file}});
		uint64_t num = h.files;
		history_name(&h, TERM_nameop_create, num, paths[i], "");
		uint64_t seq = history_event(
		    &h, (struct event){
		            .kind = EVENT_access,
		            .proc = p,
		            .access = {.file = num, .mode = ACCESS_READ | ACCESS_WRITE, .sure = 1, .api = TERM_api_hdf5}});
		history_event(&h, (struct event){.kind = EVENT_access_end,
		                                 .proc = p,
		                                 .access_end = {.access = seq,
		                                                .until = h.now,
		                                                .evidence = TERM_evidence_must,
		                                                .first = TIME_NONE,
		                                                .last = TIME_NONE}});
		/* Of the times of some nothing is known. */
		for (size_t k = 0; k < sizeof(apis) / sizeof(*apis); k++)
			for (unsigned write = 0; write < 2; write++)
				history_event(&h, (struct event){.kind = EVENT_io,
				                                 .proc = p,
				                                 .io = {.access = seq,
				                                        .api = apis[k],
				                                        .write = write,
				                                        .calls = 1 + k,
				                                        .failed = write,
				                                        .bytes = 10 * k,
				                                        .first = k % 2 ? h.now : TIME_NONE,
				                                        .last = k % 2 ? h.now : TIME_NONE}});
	}
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	is_golden("provio", "provio-calls", &all);
}

static void tell_digest(struct history *h, const char *run, uint64_t ino, uint64_t size, int64_t mtime, unsigned usage,
                        const char *path, char first)
{
	char text[7 + 64 + 1];
	snprintf(text, sizeof(text), "sha256:%c%063d", first, 0);
	history_event(h, (struct event){.kind = EVENT_digest,
	                                .digest = {.run = str_of(run),
	                                           .domain = str_of("uuid:test"),
	                                           .ino = ino,
	                                           .size = size,
	                                           .mtime = mtime,
	                                           .usage = usage,
	                                           .path = str_of(path),
	                                           .digest = str_of(text)}});
}

static void tell_other_digest(const char *run, int64_t begin, char first)
{
	struct history h;
	history_begin(&h, run, "other", begin);
	uint64_t p = history_process(&h, 0);
	tell_digest(&h, run, 11, 100, HISTORY_BEGIN - 5ll * HISTORY_SECOND, TERM_usage_input, "/w/in", first);
	history_end(&h, p);
}

/* A run that knows the digest of its output /w/y, and not of its input /w/x. */
static void tell_own_output(void)
{
	struct history h;
	history_begin(&h, HISTORY_RUN_B, "b", 1000);
	uint64_t p = history_process(&h, 0), x = history_file(&h, TERM_kind_regular, "/w/x", 41);
	history_exec(&h, p, "b", 0, 0);
	history_event(&h, (struct event){.kind = EVENT_state, .state = {.file = x, .size = 5, .mtime = HISTORY_BEGIN}});
	history_access(
	    &h, p, (struct event_access){.file = x, .mode = ACCESS_READ | ACCESS_STATE, .sure = 1, .api = TERM_api_open},
	    h.now + 2ll * HISTORY_SECOND);
	uint64_t y = history_file(&h, TERM_kind_regular, "/w/y", 42);
	int64_t mtime = h.now + HISTORY_SECOND; /* as history_write has it */
	history_write(&h, p, y, 9);
	tell_digest(&h, HISTORY_RUN_B, 42, 9, mtime, TERM_usage_output, "/w/y", '2');
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* What the run itself found in its input is said, whatever others found there, before it or after it. */
static void own_digest(void **state)
{
	(void)state;
	struct buf b = {0};
	store_id run;
	tell_other_digest("01CCCCCCCCCCCCCCCCCCCCCCCC", 3000, '8');
	history_all_a();
	tell_other_digest("01DDDDDDDDDDDDDDDDDDDDDDDD", 4000, '9');
	assert_int_equal(store_find_run(history_store(), HISTORY_RUN_A, &run), 1);
	struct prov_select one = {.runs = &run, .n_runs = 1, .since = TIME_NONE, .until = TIME_NONE};
	document("in-toto", &one, &b);
	assert_non_null(strstr(buf_cstr(&b), "\"111100000"));
	assert_null(strstr(buf_cstr(&b), "\"800000000"));
	assert_null(strstr(buf_cstr(&b), "\"900000000"));
	buf_release(&b);
}

/* Where only others looked, and found different bytes within one tick of the clock, nobody knows which they were. */
static void others_digests(void **state)
{
	(void)state;
	static const struct {
		char first[2];
		bool known;
	} rows[] = {{{'8', '8'}, true}, {{'8', '9'}, false}};
	for (size_t i = 0; i < 2; i++) {
		struct buf b = {0};
		store_id run;
		tell_own_output();
		for (int k = 0; k < 2; k++) {
			struct history h;
			const char *id = k ? "01CCCCCCCCCCCCCCCCCCCCCCCC" : "01DDDDDDDDDDDDDDDDDDDDDDDD";
			history_begin(&h, id, "other", 3000 + 1000 * k);
			uint64_t p = history_process(&h, 0);
			tell_digest(&h, id, 41, 5, HISTORY_BEGIN, TERM_usage_input, "/w/x", rows[i].first[k]);
			history_end(&h, p);
		}
		assert_int_equal(store_find_run(history_store(), HISTORY_RUN_B, &run), 1);
		struct prov_select one = {.runs = &run, .n_runs = 1, .since = TIME_NONE, .until = TIME_NONE};
		document("in-toto", &one, &b);
		assert_int_equal(strstr(buf_cstr(&b), "\"800000000") != NULL, rows[i].known);
		assert_null(strstr(buf_cstr(&b), "\"900000000"));
		buf_release(&b);
		history_teardown(state);
		history_setup(state);
	}
}

/* Characters that YAML, or DVC, would take for something else. */
/* A file of a file system that several hosts write says so, as each format writes a boolean. */
static void network_file_system(void **state)
{
	(void)state;
	static const struct {
		const char *format, *want;
	} rows[] = {
	    {"turtle", "stemma:network true"},
	    {"ntriples", "network> \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean> ."},
	    {"prov-json", "\"stemma:network\": true"},
	    {"prov-n", "stemma:network=\"true\" %% xsd:boolean"},
	};
	struct history h;
	history_begin(&h, HISTORY_RUN_A, "tool", 0);
	history_event(
	    &h, (struct event){.kind = EVENT_domain,
	                       .domain = {.num = 2, .name = str_of("nfs:test"), .type = str_of("nfs"), .network = 1}});
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "tool", 0, 0);
	history_event(&h, (struct event){.kind = EVENT_file,
	                                 .file = {.num = ++h.files,
	                                          .kind = TERM_kind_regular,
	                                          .domain = 2,
	                                          .ino = 11,
	                                          .gen = 1,
	                                          .path = str_of("/net/in")}});
	history_read(&h, p, h.files);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b = {0};
		document(rows[i].format, &(struct prov_select){.since = TIME_NONE, .until = TIME_NONE}, &b);
		if (!strstr(buf_cstr(&b), rows[i].want))
			fail_msg("%s: no %s in\n%.4000s", rows[i].format, rows[i].want, buf_cstr(&b));
		buf_release(&b);
	}
}

/* The exit status of a task is its own, in the summaries of other systems, too: 0 is not taken for any. */
static void status_of_a_task(void **state)
{
	(void)state;
	static const struct {
		const char *format, *want;
	} rows[] = {
	    {"resource-monitor", "\"exit_status\": 3"},
	    {"kickstart", "exitcode: 3"},
	};
	struct history h;
	history_begin(&h, HISTORY_RUN_A, "tool", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "tool", 0, 0);
	history_event(&h,
	              (struct event){.kind = EVENT_summary,
	                             .summary = {.run = str_of(HISTORY_RUN_A),
	                                         .text = str_of("{\"format\": 1, \"run\": \"" HISTORY_RUN_A
	                                                        "\", \"command\": [\"tool\"], \"exit_type\": \"normal\", "
	                                                        "\"exit_status\": 3, \"signal\": null}")}});
	history_exit(&h, p, TERM_ending_exited, 3);
	history_end(&h, p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b = {0};
		document(rows[i].format, &(struct prov_select){.since = TIME_NONE, .until = TIME_NONE}, &b);
		if (!strstr(buf_cstr(&b), rows[i].want))
			fail_msg("%s: no %s in\n%.4000s", rows[i].format, rows[i].want, buf_cstr(&b));
		buf_release(&b);
	}
}

static void yaml_characters(void **state)
{
	(void)state;
	struct history h;
	struct buf b = {0};
	struct prov_select all = {.lineage = {.all = true, .fork = true}, .since = TIME_NONE, .until = TIME_NONE};
	history_begin(&h, HISTORY_RUN_A, "make", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "make", 0, 0);
	history_read(&h, p,
	             history_file(&h, TERM_kind_regular,
	                          "/w/a\xc2\x85"
	                          "b",
	                          1)); /* the end of a line, of YAML 1.1 */
	history_read(&h, p,
	             history_file(&h, TERM_kind_regular,
	                          "/w/c\xc2\xa0"
	                          "d",
	                          2));
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/e${x}", 3));
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/f\xe2\x80\xa8\xef\xbb\xbfg$", 4));
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/\xc2\x9f", 5), 1);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	document("dvc-stage", &all, &b);
	static const char *const lines[] = {"- \"a\\u0085b\"\n",
	                                    "- \"c\xc2\xa0"
	                                    "d\"\n",
	                                    "- \"e\\\\${x}\"\n", "- \"f\\u2028\\ufeffg$\"\n", "- \"\\u009f\"\n"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (!strstr(buf_cstr(&b), lines[i]))
			fail_msg("no line %s in\n%s", lines[i], buf_cstr(&b));
	buf_release(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(whole_record, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(folders, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(one_run, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(calls_of_objects, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(yaml_characters, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(own_digest, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(status_of_a_task, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(network_file_system, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(others_digests, history_setup, history_teardown),
	};
	if (argc < 2)
		return 2;
	golden = argv[1];
	anew = argc > 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* stemma note: what people write about runs and files. */
#include "cmd/ui/notes_print.h"
#include "keep/write.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>

#define NOTE_MAX 65536 /* bytes; a note is no file */

/* A status, reported. */
static int write_note(struct cmd *c, const struct target *t, struct str text)
{
	struct err err = {0};
	struct keep_note n = {.text = text};
	struct run_info run = {0};
	struct file_info file = {0};
	struct version_info v;
	int r;
	if (t->kind == TARGET_RUN) {
		r = store_run_told(c->store, t->id, &run);
		n.run = run.ulid;
	} else {
		r = t->file.n ? store_version(c->store, t->file.version, &v) : 1;
		if (r > 0 && t->file.n)
			n.version = str_n(v.pub.text, strnlen(v.pub.text, sizeof(v.pub.text)));
		if (r > 0)
			r = store_file(c->store, t->file.file, &file);
		n.domain = file.domain;
		n.kind = file.kind;
		n.ino = file.ino;
		n.gen = file.gen;
		if (file.kind == TERM_kind_absent)
			n.path = file.path;
	}
	if (r <= 0) {
		report("cannot look up '%s' in the record", c->operands[0]);
		return STATUS_SELF;
	}
	return keep_note(store_home(c->store), &n, &err) < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* Prints the notes of a run or file. t: NULL: all. STATUS_NOTHING: there are none. */
static int list_notes(struct cmd *c, const struct opts_note *o, const struct target *t)
{
	struct notes notes;
	enum notes_of of = !t ? NOTES_ALL : t->kind == TARGET_RUN ? NOTES_RUN : NOTES_FILE;
	int r = store_notes(c->store, of, !t ? 0 : of == NOTES_RUN ? t->id : t->file.file, &notes);
	json_t *list = o->json ? json_array() : NULL;
	size_t told = 0;
	for (size_t i = 0; i < notes.n && r >= 0; i++) {
		const struct note_info *n = &notes.v[i];
		if (t && t->kind == TARGET_FILE && t->file.n && n->version != t->file.n)
			continue;
		told++;
		if (list)
			r = note_add(c->store, list, n, true);
		else
			r = note_print(c->store, n, true);
	}
	notes_release(&notes);
	if (r < 0) {
		json_decref(list);
		report("cannot read the notes");
		return STATUS_SELF;
	}
	if (list) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "notes", list);
		int status = js_print(all, false);
		return status != STATUS_OK ? status : told ? STATUS_OK : STATUS_NOTHING;
	}
	if (!told)
		report("no notes");
	return told ? STATUS_OK : STATUS_NOTHING;
}

/* Writes a note, or lists those of a target or all of them. Gives the exit status. */
int cmd_note(struct cmd *c, const struct opts_note *o)
{
	struct target t;
	if (c->n_operands > 2)
		return report_usage(c, "the note is one argument: put quotes around it");
	struct str text = str_of(c->n_operands == 2 ? c->operands[1] : NULL);
	if (c->n_operands == 2 && !text.n)
		return report_usage(c, "the note is empty");
	if (text.n > NOTE_MAX)
		return report_usage(c, "a note has at most %d bytes", NOTE_MAX);
	if (text.n && o->json)
		return report_usage(c, "--json is for lists");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	if (!c->n_operands)
		return list_notes(c, o, NULL);
	status = cmd_target(c, c->operands[0], c->n_after_dashes == c->n_operands, &t);
	if (status != STATUS_OK)
		return status;
	if (t.kind == TARGET_EXEC)
		return report_usage(c, "a note is for a run or a file, not for an execution");
	return text.n ? write_note(c, &t, text) : list_notes(c, o, &t);
}

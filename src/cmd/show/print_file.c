/* print_file.c - a file, with its versions; and others that had its name. */
#include "cmd/show/show_view.h"

#include <stdio.h>
#include <stdlib.h>

/* Prints edges under a title. At most SHOW_LINES without --all. 0, -errno. */
static int print_edges(struct cmd *c, const struct opts_show *o, const char *title, const struct edges *e)
{
	struct buf b = {0};
	int r = 0;
	for (size_t i = 0; i < e->n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(c->store, e->v[i].to, &x);
		if (r <= 0)
			continue;
		buf_reset(&b);
		buf_printf(&b, "    %s %.10s%s  ", title, x.pub.text, e->v[i].sure ? "" : " ?");
		r = exec_name(c->store, e->v[i].to, true, 200, &b);
		if (i == SHOW_LINES && !o->all) {
			printf("    and %zu more (--all)\n", e->n - i);
			break;
		}
		fmt_fit(&b, 0, c->out.tty ? (size_t)c->out.width : 240, c->out.utf8);
		puts(buf_cstr(&b));
	}
	buf_release(&b);
	return r < 0 ? r : 0;
}

/* Prints a version of a file, and who made and used it. 0 or more, -errno. */
static int print_version(struct cmd *c, const struct opts_show *o, store_id id)
{
	struct store *s = c->store;
	struct version_info v;
	struct file_info f;
	struct edges e = {0};
	struct buf b = {0}, note = {0};
	int r = store_version(s, id, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r <= 0)
		return r;
	version_note(&note, &v, &f, o->bytes);
	buf_printf(&b, "  @{%llu}  %.25s", (unsigned long long)v.n, v.pub.text);
	if (note.n)
		buf_printf(&b, "  %s", buf_cstr(&note));
	puts(buf_cstr(&b));
	buf_release(&b);
	buf_release(&note);
	r = store_gens(s, id, &e);
	if (r >= 0)
		r = print_edges(c, o, "made by", &e);
	if (r >= 0)
		r = store_readers(s, id, &e);
	if (r >= 0)
		r = print_edges(c, o, "used by", &e);
	edges_release(&e);
	return r;
}

/* Prints the fields of a file. 0, -errno. */
static int print_file_fields(struct cmd *c, const struct file_info *f)
{
	struct buf b = {0};
	store_id id = f->id;
	show_field_str("file", f->path);
	printf("%-12s %.25s\n", "id", f->pub.text);
	printf("%-12s %s%s\n", "kind", term_meaning(SET_kind, f->kind),
	       f->named || f->kind != TERM_kind_regular ? "" : "; it no longer has this name");
	fmt_name(&b, f->domain);
	buf_printf(&b, ", inode %llu", (unsigned long long)f->ino);
	if (f->kind != TERM_kind_absent)
		print_field_if("on", &b);
	buf_release(&b);
	printf("%-12s %llu\n", "versions", (unsigned long long)f->versions);
	return notes_print(c->store, NOTES_FILE, id);
}

/* Prints a file and its versions. 1; 0: the record does not have it; -errno. only: this version alone; 0: all. */
static int print_file(struct cmd *c, const struct opts_show *o, store_id file, uint64_t only)
{
	struct file_info f;
	int r = store_file(c->store, file, &f);
	if (r <= 0)
		return r;
	uint64_t n = f.versions, from = only ? only : 1, to = only ? only : n;
	r = print_file_fields(c, &f);
	if (!only && !o->all && n > SHOW_LINES) {
		from = n - SHOW_LINES + 1;
		printf("  the latest %d (--all)\n", SHOW_LINES);
	}
	for (uint64_t k = from; k <= to && r >= 0; k++) {
		store_id id;
		r = store_version_of(c->store, file, k, &id);
		if (r > 0)
			r = print_version(c, o, id);
	}
	return r;
}

/* Prints how the file on disk differs from its last version. 0, -errno. */
static int print_disk(struct cmd *c, const struct file_target *t)
{
	static const char *const disk[] = {
	    "",
	    "the file on disk has changed since its last version",
	    "another file has the name on disk now",
	    "there is no file of that name on disk",
	    "its file was written later by a program whose objects were not recorded: it may have changed",
	    "deleted"};
	struct buf b = {0};
	int r = 0;
	buf_printf(&b, "%s", disk[t->disk]);
	if (t->disk == DISK_DELETED)
		r = fmt_deleted(c->store, &t->deleted, 200, false, c->out.utf8, &b);
	print_field_if("now", &b);
	buf_release(&b);
	return r;
}

int show_print_files(struct cmd *c, const struct opts_show *o, const char *text, const struct file_target *t)
{
	store_id *files = NULL;
	size_t n = 0;
	int r = show_files(c->store, text, t, &files, &n);
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (i)
			puts("\nanother file that has or had the name:");
		r = print_file(c, o, files[i], i ? 0 : t->n);
		if (r >= 0 && i == 0 && t->disk != DISK_SAME)
			r = print_disk(c, t);
	}
	free(files);
	return r;
}

#include "cmd/lineage/why_folder.h"

#include "answer/zarr/zarr_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES 3  /* files of a group that are named */
#define INPUTS 5 /* and inputs */

bool why_is_folder(const char *text)
{
	struct stat st;
	return stat(text, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Appends the name of an input of a group. Nothing is printed of a version that is not known. 0, -errno. */
static int fmt_group_input(struct cmd *c, const struct folder_group *g, size_t i, struct buf *b)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(c->store, g->inputs[i], &v);
	if (r > 0)
		r = store_file(c->store, v.file, &f);
	if (r > 0)
		version_name(b, &v, &f);
	return r < 0 ? r : 0;
}

/* Is an input certain, or of an array one of its parts? */
static bool is_input_certain(const struct folder_group *g, const struct zarr_list *l, size_t first)
{
	for (size_t i = first; i < g->n_inputs; i++)
		if (l->first[i] == first && g->certain[i])
			return true;
	return false;
}

/* The first INPUTS of them, and how many more. 0, -errno. */
static int fmt_group_inputs(struct cmd *c, struct zarr *z, const struct folder_group *g, struct buf *b)
{
	struct zarr_list l;
	size_t shown = 0;
	int r = zarr_list_make(z, g->inputs, g->n_inputs, &l);
	for (size_t i = 0; i < g->n_inputs && shown < INPUTS && r == 0; i++) {
		if (l.first[i] != i)
			continue;
		buf_printf(b, "%s", shown++ ? ", " : " from ");
		r = l.node[i] == ZARR_NO ? fmt_group_input(c, g, i, b) : zarr_text(z, l.node[i], &l.count[i], b);
		buf_printf(b, "%s", is_input_certain(g, &l, i) ? "" : "?");
	}
	if (r == 0 && l.n_shown > shown)
		buf_printf(b, ", %zu more", l.n_shown - shown);
	zarr_list_release(&l);
	return r;
}

/* ": made by CMD from INPUTS by WHO, WHEN". 0 or more, -errno. */
static int fmt_group(struct cmd *c, struct zarr *z, const struct folder_group *g, struct buf *b)
{
	buf_printf(b, ": made by ");
	fmt_name(b, buf_view(&g->programs));
	buf_printf(b, "%s", g->sure ? "" : " ?");
	int r = fmt_group_inputs(c, z, g, b);
	buf_printf(b, " by ");
	if (r >= 0)
		r = exec_who(c->store, g->maker, b);
	buf_printf(b, ", ");
	fmt_time(b, g->when, false);
	buf_printf(b, "%s", g->gaps ? "; record incomplete" : "");
	return r;
}

/* The files of a group, of an array its chunks as one; arrays with chunks first. 0, -errno. */
static int fmt_group_files(struct zarr *z, const struct folder_group *g, struct buf *b)
{
	struct zarr_list l = {0};
	size_t shown = 0;
	store_id *ids = calloc(g->n_files + 1, sizeof(*ids));
	int r = ids ? 0 : -ENOMEM;
	for (size_t i = 0; i < g->n_files && r == 0; i++)
		ids[i] = g->files[i].version;
	if (r == 0)
		r = zarr_list_make(z, ids, g->n_files, &l);
	for (int arrays = 1; arrays >= 0; arrays--)
		for (size_t i = 0; i < g->n_files && shown < NAMES && r == 0; i++) {
			if (l.first[i] != i || arrays != (l.count[i].chunks > 0))
				continue;
			buf_printf(b, "%s", shown++ ? ", " : "");
			if (l.node[i] == ZARR_NO)
				fmt_path(b, buf_view(&g->files[i].path));
			else
				r = zarr_text(z, l.node[i], &l.count[i], b);
		}
	if (r == 0 && l.n_shown > shown)
		buf_printf(b, " and %zu more", l.n_shown - shown);
	zarr_list_release(&l);
	free(ids);
	return r;
}

/* Prints a group of files that the same programs made. 0, negative; then nothing is printed. */
static int print_group(struct cmd *c, struct zarr *z, const struct folder_group *g)
{
	struct buf b = {0};
	buf_printf(&b, "  ");
	int r = fmt_group_files(z, g, &b);
	if (r == 0)
		r = fmt_group(c, z, g, &b);
	if (r >= 0)
		puts(buf_cstr(&b));
	buf_release(&b);
	return r < 0 ? r : 0;
}

void why_report_folder(const char *text, const struct folder *f)
{
	if (f->left)
		report("'%s' has more than %d files: %zu were not looked at", text, FOLDER_FILES, f->left),
		    report_hint("ask for one of its folders, or for single files");
	if (f->unread)
		report("%zu file%s or folder%s below '%s' could not be read", f->unread, str_plural(f->unread),
		       str_plural(f->unread), text);
}

int why_print_folder(struct cmd *c, const char *text, unsigned flags)
{
	struct folder f;
	struct buf b = {0};
	struct zarr *z = NULL;
	int r = folder_find(cmd_source(c), text, flags, NULL, &f);
	if (r == 0)
		r = zarr_new(c->store, &z);
	size_t n = strlen(text);
	while (n > 1 && text[n - 1] == '/')
		n--;
	fmt_path(&b, str_n(text, n));
	if (r == 0) {
		printf("%s/: %zu file%s", buf_cstr(&b), f.files, str_plural(f.files));
		if (f.unmade)
			printf(", %zu external or modified since", f.unmade);
		if (f.unknown)
			printf(", %zu not recorded", f.unknown);
		putchar('\n');
	}
	for (size_t i = 0; i < f.n_groups && r == 0; i++)
		r = print_group(c, z, &f.groups[i]);
	why_report_folder(text, &f);
	if (r < 0)
		report("cannot find what made the files of '%s': %s", text, strerror(-r));
	int status = r < 0 ? STATUS_SELF : f.n_groups ? STATUS_OK : STATUS_NOTHING;
	buf_release(&b);
	folder_release(&f);
	zarr_free(z);
	return status;
}

/* 1, 0, -errno. */
int why_wants_chunk(void *chunks, struct str path)
{
	struct why_chunks *w = chunks;
	struct zarr_part p;
	int r = zarr_part_of(w->z, path, &p);
	return r > 0 ? zarr_box_has(w->z, w->node, &w->box, &p) : r;
}

/* One line: so many chunks of the array, and what is said of them. 0 or more, -errno. */
static int print_chunks(struct cmd *c, struct zarr *z, uint32_t node, const struct zarr_count *n,
                        const struct folder_group *g, const char *words)
{
	struct buf b = {0};
	int r = zarr_text(z, node, n, &b);
	if (r == 0 && g)
		r = fmt_group(c, z, g, &b);
	else
		buf_printf(&b, ": %s", words);
	if (r == 0)
		puts(buf_cstr(&b));
	buf_release(&b);
	return r;
}

int why_print_array(struct cmd *c, struct zarr *z, uint32_t node, const struct zarr_box *box, const char *brackets,
                    unsigned flags)
{
	struct folder f;
	struct why_chunks chunks = {.z = z, .node = node, .box = *box};
	const struct folder_filter only = {.wants = why_wants_chunk, .arg = &chunks};
	char *path = strndup(zarr_node_path(z, node).p, zarr_node_path(z, node).n);
	int r = path ? folder_find(cmd_source(c), path, flags, &only, &f) : -ENOMEM;
	struct zarr_count n = {.of = zarr_box_chunks(z, node, box), .selection = brackets};
	if (!path)
		f = (struct folder){0};
	for (size_t i = 0; i < f.n_groups && r == 0; i++) {
		n.chunks = f.groups[i].n_files;
		r = print_chunks(c, z, node, &n, &f.groups[i], NULL);
	}
	const struct {
		uint64_t chunks;
		const char *words;
	} rest[] = {{f.unmade, "external, or modified since"},
	            {f.unknown, "not recorded"},
	            {n.of > f.files ? n.of - f.files : 0, "never written: they have the fill value"}};
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]) && r == 0; i++) {
		n.chunks = rest[i].chunks;
		r = n.chunks ? print_chunks(c, z, node, &n, NULL, rest[i].words) : 0;
	}
	why_report_folder(path ? path : "", &f);
	if (r < 0)
		report("cannot find what made the chunks of '%s': %s", path ? path : "", strerror(-r));
	int status = r < 0 ? STATUS_SELF : f.n_groups ? STATUS_OK : STATUS_NOTHING;
	folder_release(&f);
	free(path);
	return status;
}

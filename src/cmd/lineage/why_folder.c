#include "cmd/lineage/why_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES 3  /* files of a group that are named */
#define INPUTS 5 /* and inputs */

bool why_is_folder(const char *text)
{
	struct stat st;
	return stat(text, &st) == 0 && S_ISDIR(st.st_mode);
}

static int fmt_group_inputs(struct cmd *c, const struct folder_group *g, struct buf *b)
{
	for (size_t i = 0; i < g->n_inputs && i < INPUTS; i++) {
		struct version_info v;
		struct file_info f;
		int r = store_version(c->store, g->inputs[i], &v);
		if (r > 0)
			r = store_file(c->store, v.file, &f);
		if (r <= 0)
			return r;
		buf_printf(b, "%s", i ? ", " : " from ");
		version_name(b, &v, &f);
		if (!g->certain[i])
			buf_char(b, '?');
	}
	if (g->n_inputs > INPUTS)
		buf_printf(b, ", %zu more", g->n_inputs - INPUTS);
	return 0;
}

static int print_group(struct cmd *c, const struct folder_group *g)
{
	struct buf b = {0};
	buf_printf(&b, "  ");
	for (size_t i = 0; i < g->n_files && i < NAMES; i++) {
		buf_printf(&b, "%s", i ? ", " : "");
		fmt_path(&b, buf_view(&g->files[i].path));
	}
	if (g->n_files > NAMES)
		buf_printf(&b, " and %zu more", g->n_files - NAMES);
	buf_printf(&b, ": made by ");
	fmt_name(&b, buf_view(&g->programs));
	buf_printf(&b, "%s", g->sure ? "" : " ?");
	int r = fmt_group_inputs(c, g, &b);
	buf_printf(&b, " by ");
	if (r >= 0)
		r = exec_who(c->store, g->maker, &b);
	buf_printf(&b, ", ");
	fmt_time(&b, g->when, false);
	buf_printf(&b, "%s", g->gaps ? "; record incomplete" : "");
	if (r >= 0)
		puts(buf_cstr(&b));
	buf_release(&b);
	return r < 0 ? r : 0;
}

void why_report_folder(const char *text, const struct folder *f)
{
	if (f->left)
		report("'%s' has more than %d files: %zu of them were skipped", text, FOLDER_FILES, f->left);
	if (f->unread)
		report("%zu file%s or folder%s below '%s' could not be read", f->unread, str_plural(f->unread),
		       str_plural(f->unread), text);
}

int why_print_folder(struct cmd *c, const char *text, unsigned flags)
{
	struct folder f;
	struct buf b = {0};
	int r = folder_find(cmd_source(c), text, flags, &f);
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
		r = print_group(c, &f.groups[i]);
	why_report_folder(text, &f);
	if (r < 0)
		report("cannot find what made the files of '%s': %s", text, strerror(-r));
	int status = r < 0 ? STATUS_SELF : f.n_groups ? STATUS_OK : STATUS_NOTHING;
	buf_release(&b);
	folder_release(&f);
	return status;
}

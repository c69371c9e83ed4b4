/* stat_tsv.c - a line for each row that is counted. */
#include "base/unsafe_char.h"
#include "cmd/stat/stat_view.h"

#include <inttypes.h>
#include <stdio.h>

void stat_tsv_head(void)
{
	fputs("execution\tcommand\tfile\tpath\tdirection\tapi\tcalls\tfailed\tbytes\tlargest\tspent_ns\tfirst\tlast",
	      stdout);
	for (unsigned i = 0; i < IO_SIZES; i++)
		printf("\tsize%u", i);
	putchar('\n');
}

/* "?" where it is not known. */
static void print_tsv_number(uint64_t n, bool known)
{
	if (known)
		printf("\t%" PRIu64, n);
	else
		fputs("\t?", stdout);
}

/* ns; "?" where it is not known. */
static void print_tsv_time(int64_t t)
{
	if (t == TIME_NONE)
		fputs("\t?", stdout);
	else
		printf("\t%" PRId64, t);
}

/* What to write before a text that a spreadsheet would take for a formula. */
static const char *formula_mark(const struct buf *b)
{
	return unsafe_formula(buf_view(b)) ? "'" : "";
}

/* 0, -errno. */
int stat_tsv_row(void *cmd, const struct stat_row *row)
{
	struct cmd *c = cmd;
	struct exec_info x;
	struct file_info f;
	struct buf b = {0}, path = {0};
	bool counted = row->api >= 0;
	int r = store_exec(c->store, row->exec, &x);
	struct pubid exec = r > 0 ? x.pub : (struct pubid){0};
	if (r > 0)
		r = exec_name(c->store, row->exec, false, SIZE_MAX, &b);
	r = r < 0 ? r : store_file(c->store, row->file, &f);
	if (r > 0) {
		fmt_name(&path, f.path);
		printf("%s\t%s%s\t%s\t%s%s\t%s\t%s", exec.text, formula_mark(&b), b.n ? buf_cstr(&b) : "", f.pub.text,
		       formula_mark(&path), path.n ? buf_cstr(&path) : "", row->write ? "write" : "read",
		       counted ? term_name(SET_ioapi, (unsigned)row->api) : "?");
		print_tsv_number(row->io.calls, counted);
		bool whole = counted && !row->io.bare;
		print_tsv_number(row->io.failed, whole);
		print_tsv_number(row->io.bytes, row->bytes_known);
		print_tsv_number(row->io.largest, whole);
		print_tsv_number(row->io.spent, whole && !row->io.untimed);
		print_tsv_time(counted ? row->io.first : TIME_NONE);
		print_tsv_time(counted ? row->io.last : TIME_NONE);
		for (unsigned i = 0; i < IO_SIZES; i++)
			print_tsv_number(row->io.size[i], whole);
		putchar('\n');
	}
	buf_release(&b);
	buf_release(&path);
	return r < 0 ? r : 0;
}

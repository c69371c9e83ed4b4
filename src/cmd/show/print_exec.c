/* print_exec.c - an execution. */
#include "cmd/show/show_view.h"

#include <stdio.h>
#include <string.h>

/* Prints the counters of an execution that are known. Times in ns, sizes in bytes. */
static void print_counters(const struct opts_show *o, const struct exec_info *x)
{
	static const char *const names[] = {"", "cpu", "user time", "system time", "peak memory",
	                                    "", "",    "read",      "written"};
	const uint64_t values[] = {0, x->cpu, x->user_time, x->system_time, x->rss, 0, 0, x->read_bytes, x->write_bytes};
	for (unsigned i = 1; i < 9; i++) {
		struct buf b = {0};
		if (!*names[i] || !(x->known >> i & 1))
			continue;
		if (i <= 3)
			fmt_duration(&b, values[i]);
		else
			fmt_size(&b, values[i], o->bytes);
		if (i >= 7)
			buf_printf(&b, i == 7 ? " from storage" : " to storage");
		print_field_if(names[i], &b);
		buf_release(&b);
	}
}

/* Prints the fields of an execution. 1; 0: the record does not have it; -errno. */
static int print_exec_fields(struct cmd *c, const struct opts_show *o, store_id id)
{
	struct store *s = c->store;
	struct exec_info x;
	struct run_info run;
	struct file_info f;
	struct buf b = {0};
	int r = store_exec(s, id, &x);
	if (r <= 0)
		return r;
	struct gaps gaps = {0};
	gaps_add(&gaps, id, x.gaps);
	store_id parent = x.parent;
	printf("%-12s %.*s\n", "execution", (int)strnlen(x.pub.text, sizeof(x.pub.text)), x.pub.text);
	show_field_argv("command", &x.argv);
	if (x.exe && store_file(s, x.exe, &f) > 0)
		show_field_str("program", f.path);
	if (x.script && store_file(s, x.script, &f) > 0)
		show_field_str("script", f.path);
	show_field_str("directory", x.cwd);
	printf("%-12s %llu%s\n", "pid", (unsigned long long)x.pid, x.n ? "" : ", before any exec");
	fmt_who(&b, x.user, x.host);
	print_field_if("by", &b);
	buf_reset(&b);
	show_field_str("group", x.group);
	if (x.run && store_run_told(s, x.run, &run) > 0)
		show_field_str("run", run.ulid);
	show_field_str("job", x.job);
	show_field_str("step", x.step);
	if (x.rank.n && x.ranks.n)
		buf_printf(&b, "%.*s of %.*s", (int)x.rank.n, x.rank.p, (int)x.ranks.n, x.ranks.p);
	if (x.rank.n && x.ranks.n)
		print_field_if("rank", &b);
	else
		show_field_str("rank", x.rank);
	show_field_time("start", x.start);
	show_field_time("end", x.end);
	buf_reset(&b);
	fmt_ending(&b, x.ending, x.code);
	print_field_if("exit", &b);
	print_counters(o, &x);
	show_field_list("environment", &x.env);
	buf_reset(&b);
	if (parent) {
		r = exec_name(s, parent, true, 100, &b);
		print_field_if("parent", &b);
	}
	buf_release(&b);
	if (r >= 0)
		r = gaps_print(s, &gaps);
	return r;
}

int show_print_exec(struct cmd *c, const struct opts_show *o, store_id exec)
{
	struct show_exec x;
	int r = show_exec_load(cmd_source(c), exec, o->all, &x);
	if (r < 0)
		return r;
	r = print_exec_fields(c, o, exec);
	if (r >= 0)
		r = show_print_jobs(c, exec, o->all);
	if (r >= 0)
		r = show_print_items(c, o, "used", &x.used, true, false);
	if (r >= 0)
		r = show_print_items(c, o, "made", &x.made, false, false);
	show_exec_release(&x);
	return r;
}

/* stages_scripts.c - stages that one program is: a task of Nextflow, a notebook. */
#include "query/stages/stages_int.h"

#include <errno.h>

/* ---- Nextflow ---- */

struct script_at {
	store_id version;
	struct buf path;
};

/* The .command.run that the execution read, with its path; the one of its arguments. ret->version stays 0 where there
 * is none. -errno. */
static int find_script(struct stage_run *r, uint32_t u, struct script_at *ret)
{
	struct edges e = {0};
	int got = store_uses(r->st->s, r->x[u].id, &e);
	for (size_t i = 0; i < e.n && got == 0 && !ret->version; i++) {
		struct version_sort v;
		int found = store_version_sort(r->st->s, e.v[i].to, &v);
		got = found < 0 ? found : 0;
		if (found <= 0 ||
		    (!str_is(str_base_name(v.path), ".command.run") && !str_is(str_base_name(v.path), ".command.sh")))
			continue;
		ret->version = e.v[i].to;
		buf_str(&ret->path, v.path);
	}
	edges_release(&e);
	return got;
}

/* The last two parts of the folder, as Nextflow names a task: ab/cdef01, of cdef01... six digits. */
static char *task_folder(struct stages *st, struct str path)
{
	struct str base = str_base_name(path);
	if (path.n <= base.n)
		return NULL;
	struct str folder = str_n(path.p, path.n - base.n - 1), last = str_base_name(folder);
	if (folder.n <= last.n || last.n < 6)
		return NULL;
	struct str above = str_base_name(str_n(folder.p, folder.n - last.n - 1));
	return above.n ? stages_keep(st, str_n(above.p, above.n + 1 + 6)) : NULL;
}

/* "ALIGN (s1)": the process, and the tag as a wildcard. 0, -ENOMEM. */
static int set_task_name(struct stages *st, struct stage *g, struct str name)
{
	struct buf tag = {0};
	const char *open = name.n && name.p[name.n - 1] == ')' ? memmem(name.p, name.n, " (", 2) : NULL;
	if (open && open > name.p) {
		buf_printf(&tag, "tag=");
		buf_str(&tag, str_n(open + 2, (size_t)(name.p + name.n - 1 - (open + 2))));
		buf_char(&tag, '\0');
		g->wildcards = stages_keep(st, buf_view(&tag));
		g->wildcards_n = tag.n;
		name.n = (size_t)(open - name.p);
	}
	g->name = stages_keep(st, name);
	g->named = NAMED_SCRIPT;
	bool failed = tag.failed;
	buf_release(&tag);
	return failed || !g->name ? -ENOMEM : 0;
}

int stages_name_task(struct stage_run *r, uint32_t u)
{
	struct script_at script = {0};
	struct buf text = {0};
	uint32_t stage;
	int ret = find_script(r, u, &script);
	int read = ret == 0 && script.version ? stages_read(r->st, script.version, &text) : 0;
	struct str name = read > 0 ? stages_task_name(buf_view(&text)) : (struct str){0};
	struct stage *g = ret == 0 && read >= 0 ? stages_add(r->st, &stage) : NULL;
	if (g) {
		uint32_t e = r->x[u].under;
		*g = (struct stage){.kind = STAGE_TASK, .engine = ENGINE_NEXTFLOW};
		g->workflow = e == NOT_THERE ? 0 : r->x[e].id;
		g->job = task_folder(r->st, buf_view(&script.path));
		ret = name.n ? set_task_name(r->st, g, name) : 0;
		if (ret == 0)
			ret = stages_join(r, u, stage);
	}
	buf_release(&script.path);
	buf_release(&text);
	return ret < 0 ? ret : read < 0 ? read : g ? 0 : -ENOMEM;
}

/* ---- notebooks ---- */

/* Options of nbconvert, jupyter execute and papermill whose value is another word, and no notebook that is run. */
static bool takes_a_word(struct str option)
{
	static const char *const names[] = {"--output",   "--output-dir", "--to",     "--config",   "--log-level",
	                                    "--template", "--post",       "--writer", "--nbformat", "-o",
	                                    "-p",         "-k",           "--kernel"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_is(option, names[i]))
			return true;
	return false;
}

int stages_name_notebook(struct stage_run *r, uint32_t u)
{
	struct exec_brief x;
	struct str arg, last = {0}, name = {0};
	uint32_t stage;
	int ret = store_exec_brief(r->st->s, r->x[u].id, &x);
	for (size_t pos = 0; ret > 0 && !name.n && strlist_next(&x.argv, &pos, &arg); last = arg)
		if (str_ends(arg, str_of(".ipynb")) && *arg.p != '-' && !takes_a_word(last))
			name = arg;
	struct stage *g = ret >= 0 ? stages_add(r->st, &stage) : NULL;
	if (!g)
		return ret < 0 ? ret : -ENOMEM;
	*g = (struct stage){.kind = STAGE_NOTEBOOK, .engine = ENGINE_JUPYTER};
	g->name = name.n ? stages_keep(r->st, name) : NULL;
	g->named = name.n ? NAMED_ARGUMENTS : NAMED_NOT;
	return stages_join(r, u, stage);
}

/* brief.c - a little of a row, for walks that come to each execution. */
#include "store/adjacency/adjacency.h"

#include <errno.h>

/* The row of an execution, and where it stands in it. 1, 0, -errno. */
static int find_exec(struct store *s, store_id id, const struct view_exec **ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_process(s, exec_process(id), &r->a) : -ENOMEM;
	*ret = rc > 0 ? view_exec(&r->a, exec_n(id)) : NULL;
	return rc < 0 ? rc : *ret != NULL;
}

/* Finds an execution for who asks for what is told with the edges: the exe, the arguments and the rest may be
 * missing. 1, 0: there is none; -errno. *ret lies in the store's reader and is valid until the next question. */
static int find_exec_edges(struct store *s, store_id id, const struct view_exec **ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_process_edges(s, exec_process(id), &r->told_a) : -ENOMEM;
	*ret = rc > 0 ? view_exec(&r->told_a, exec_n(id)) : NULL;
	return rc < 0 ? rc : *ret != NULL;
}

int store_exec_script(struct store *s, store_id id, store_id *ret)
{
	const struct view_exec *e;
	int rc = find_exec_edges(s, id, &e);
	if (rc > 0)
		*ret = e->fact.script;
	return rc;
}

int store_exec_state(struct store *s, store_id id, store_id *ret_run, uint64_t *ret_gaps)
{
	const struct view_exec *e;
	int rc = find_exec(s, id, &e);
	if (rc <= 0)
		return rc;
	*ret_run = view_run(&s->reader->a, e);
	*ret_gaps = read_gaps(s, &s->reader->a, e);
	return 1;
}

int store_exec_pub(struct store *s, store_id id, struct pubid *ret)
{
	const struct view_exec *e;
	struct id_hash h;
	int rc = find_exec(s, id, &e);
	if (rc <= 0)
		return rc;
	rc = hash_of_exec(s, id, &h);
	if (rc == 0)
		return PACK_DAMAGED;
	if (rc > 0)
		identity_text('x', h, ret);
	return rc;
}

/* What orders and folds executions; texts point into the store's memory until the next call. 1, 0: there is none,
 * -errno. */
int store_exec_sort(struct store *s, store_id id, struct exec_sort *ret)
{
	const struct view_exec *e;
	int rc = find_exec_edges(s, id, &e);
	if (rc > 0 && s->reader->told_a.told) {
		*ret = (struct exec_sort){.n = e->n, .env = e->fact.env, .command = e->command, .text = str_of("")};
		if (e->command)
			return 1;
	}
	if (rc > 0)
		rc = find_exec(s, id, &e);
	if (rc <= 0)
		return rc;
	*ret = (struct exec_sort){.n = e->n, .env = e->fact.env};
	rc = plist_first(e->fact.argv, &ret->command, &ret->text);
	return rc < 0 ? rc : 1;
}

store_id store_file_of_version(store_id id)
{
	return version_file(id);
}

int store_file_brief(struct store *s, store_id id, struct file_brief *ret)
{
	struct reader *r = store_reader(s);
	struct str row[FILE_PARTS];
	struct pfile_brief f;
	int rc = r ? read_file_row(s, id, row) : -ENOMEM;
	if (rc <= 0)
		return rc;
	rc = pfile_brief(row[FILE_INFO], &f);
	buf_reset(&r->sort_text);
	if (rc == 0)
		rc = read_brief_path(s, &f, &r->sort_text);
	if (rc == 0 && r->sort_text.failed)
		rc = -ENOMEM;
	if (rc < 0)
		return rc;
	*ret = (struct file_brief){.kind = f.kind, .path = buf_view(&r->sort_text), .within = f.within};
	return 1;
}

int store_command(struct store *s, const struct exec_sort *x, struct str *ret)
{
	struct reader *r = store_reader(s);
	if (!r)
		return -ENOMEM;
	struct buf *text = &r->brief_text;
	buf_reset(text);
	if (!x->command)
		buf_str(text, x->text);
	else if ((x->command & 3) == 1)
		buf_str(text, store_interned(s, x->command >> 2));
	else
		store_path(s, x->command >> 2, text);
	*ret = buf_view(text);
	return text->failed ? -ENOMEM : 0;
}

/* 1, 0: there is none, -errno. extra: prefixes of system files beside ours (config's `system`), or NULL. Texts are not
 * looked at where a segment knows it. */
int store_version_judged(struct store *s, store_id id, const char *extra, struct version_judged *ret)
{
	struct version_sort v;
	int rc = extra && *extra ? 0 : adj_version_judged(s, id, ret);
	if (rc != 0)
		return rc;
	rc = store_version_sort(s, id, &v);
	if (rc == 1)
		*ret = (struct version_judged){v.file,   v.origin, v.kind, store_version_class(v.kind, v.path, extra),
		                               v.hollow, v.end};
	return rc;
}

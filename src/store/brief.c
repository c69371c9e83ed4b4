/* brief.c - a little of a row, for walks that come to each execution. */
#include "store/read.h"

#include <errno.h>

/* The row of an execution, and where it stands in it. 1, 0, -errno. */
static int find_exec(struct store *s, store_id id, const struct view_exec **ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_process(s, exec_process(id), &r->a) : -ENOMEM;
	*ret = rc > 0 ? view_exec(&r->a, exec_n(id)) : NULL;
	return rc < 0 ? rc : *ret != NULL;
}

int store_exec_script(struct store *s, store_id id, store_id *ret)
{
	const struct view_exec *e;
	int rc = find_exec(s, id, &e);
	if (rc > 0)
		*ret = e->fact.script;
	return rc;
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

int store_exec_sort(struct store *s, store_id id, struct exec_sort *ret)
{
	const struct view_exec *e;
	int rc = find_exec(s, id, &e);
	if (rc <= 0)
		return rc;
	*ret = (struct exec_sort){.n = e->n, .env = e->fact.env};
	rc = plist_first(e->fact.argv, &ret->command, &ret->text);
	return rc < 0 ? rc : 1;
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

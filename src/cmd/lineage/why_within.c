#include "cmd/lineage/why_within.h"

#include "answer/within.h"

#include <errno.h>

/* The line of the version of a file that an object came with; first: what the object is called. Or as JSON in
 * *ret_json. 1; 0: nobody was seen making that version; -errno. */
static int explain_carrier(struct cmd *c, store_id carrier, struct buf *first, unsigned how, struct buf *line,
                           json_t **ret_json)
{
	struct version_info v;
	struct file_info f;
	struct why n = {0};
	int r = store_version(c->store, carrier, &v);
	if (r > 0)
		r = store_file(c->store, v.file, &f);
	struct file_target t = {.file = v.file, .version = carrier, .n = v.n};
	buf_printf(first, ", in ");
	if (r > 0)
		version_name(first, &v, &f);
	if (r > 0)
		r = why_find(cmd_source(c), carrier, how, &n) < 0 ? -EIO : 1;
	const bool made = r > 0 && n.n_direct > 0;
	if (r > 0 && ret_json)
		r = why_json(cmd_source(c), &t, &n, ret_json);
	else if (made)
		r = why_made_line(c, "", buf_cstr(first), &t, &v, &n, line);
	why_release(&n);
	return r < 0 ? r : made;
}

int why_explain_carried(struct cmd *c, const char *text, const struct file_target *t, const struct version_info *v,
                        const struct why *n, unsigned how, struct buf *line, json_t **ret_json)
{
	struct file_info f;
	struct buf first = {0};
	struct version_info in;
	store_id carrier;
	int r = within_of_version(c->store, t->version, &carrier);
	if (r > 0)
		r = store_file(c->store, v->file, &f);
	if (r > 0)
		r = why_fmt_asked(text, t, v, &f, &first) < 0 ? -ENOMEM : 1;
	if (r > 0 && n->n_direct && !ret_json) {
		buf_printf(&first, ", in ");
		r = store_version(c->store, carrier, &in);
		if (r > 0 && (r = store_file(c->store, in.file, &f)) > 0)
			version_name(&first, &in, &f);
		if (r > 0)
			r = why_made_line(c, text, buf_cstr(&first), t, v, n, line) < 0 ? -EIO : 1;
	} else if (r > 0) {
		r = explain_carrier(c, carrier, &first, how, line, ret_json);
	}
	buf_release(&first);
	return r;
}

/* Reports that the maker of an object is not known, behind the line of the file: what is known of the object itself.
 * unknown: why it was not found. The status: whether it is there at all is known only where the file that was copied
 * has it. */
static int report_unmet(const struct within_name *n, const struct err *unknown)
{
	struct buf same = {0};
	if (!n->same.n)
		return report_err(unknown, STATUS_NOTHING);
	fmt_path(&same, buf_view(&n->same));
	report("no recorded program used this object; this is the answer for its file");
	report_hint("the same object in the original file: stemma why %s", buf_cstr(&same));
	buf_release(&same);
	return STATUS_OK;
}

int why_explain_unmet(struct cmd *c, const char *text, const struct err *unknown, unsigned how, json_t *list)
{
	struct within_name n;
	struct buf first = {0}, line = {0};
	json_t *in = NULL;
	int r = within_of_name(c->store, text, &n);
	if (r > 0) {
		fmt_path(&first, buf_view(&n.path));
		r = explain_carrier(c, n.version, &first, how, &line, list ? &in : NULL);
	}
	if (r > 0 && list) {
		json_t *one = json_object();
		js_str(one, "path", buf_view(&n.path));
		js_put(one, "in", in);
		if (n.same.n)
			js_str(one, "same_object", buf_view(&n.same));
		js_add(list, one);
	} else if (r > 0) {
		puts(buf_cstr(&line));
	} else {
		json_decref(in);
	}
	int status = r > 0 ? report_unmet(&n, unknown) : -1;
	within_name_release(&n);
	buf_release(&first);
	buf_release(&line);
	return status;
}

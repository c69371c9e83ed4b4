#include "cmd/lineage/why_hyperslab.h"

#include "answer/hyperslab.h"
#include "answer/within.h"
#include "cmd/lineage/why_within.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The versions before are lines of their own: of these elements they are no input. */
static int leave_out_earlier(struct store *s, store_id dataset, struct why *n)
{
	size_t kept = 0, seen = 0;
	int r = 1;
	for (size_t i = 0; r > 0 && i < n->n_inputs; i++) {
		struct version_sort v;
		r = store_version_sort(s, n->l.nodes[n->inputs[i]].id, &v);
		if (r <= 0 || v.file == dataset)
			continue;
		seen += i < n->n_seen;
		n->inputs[kept++] = n->inputs[i];
	}
	if (r > 0) {
		n->n_inputs = kept;
		n->n_seen = seen;
	}
	return r < 0 ? r : 0;
}

/* "dataset ts.h5//v@{2}[0:10]", with a ? where not all of these elements are sure to have come with it. 0, -errno. */
static int fmt_part(struct cmd *c, const struct hyperslab *h, const struct hyperslab_part *part,
                    struct version_info *ret_version, struct buf *b)
{
	struct file_info f;
	int r = store_version(c->store, part->version, ret_version);
	if (r > 0)
		r = store_file(c->store, ret_version->file, &f);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	version_name(b, ret_version, &f);
	hyperslab_text(h, &part->box, b);
	buf_printf(b, "%s", part->sure ? "" : "?");
	return b->failed ? -ENOMEM : 0;
}

/* The line of a version that nobody was seen making. 0, -errno. */
static int fmt_unmade(struct cmd *c, const struct version_info *v, struct buf *name, struct buf *line)
{
	struct version_info in;
	struct file_info f;
	store_id carrier;
	int r = within_of_version(c->store, v->id, &carrier);
	if (r > 0)
		r = store_version(c->store, carrier, &in);
	if (r > 0)
		r = store_file(c->store, in.file, &f);
	if (r > 0) {
		buf_printf(name, ": in ");
		version_name(name, &in, &f);
	}
	buf_printf(line, "%s%s", buf_cstr(name), r > 0 ? "" : ": external, first observed ");
	if (r <= 0)
		fmt_time(line, v->start, false);
	return r < 0 ? r : line->failed ? -ENOMEM : 0;
}

/* One of the answers as JSON, with the selection. 0, -errno. */
static int add_json(struct cmd *c, const struct hyperslab *h, const struct hyperslab_part *part,
                    const struct version_info *v, const struct why *n, json_t *list)
{
	const struct file_target t = {.file = v->file, .version = v->id, .n = v->n};
	struct buf selection = {0};
	json_t *one = NULL;
	int r = why_json(cmd_source(c), &t, n, &one);
	hyperslab_text(h, &part->box, &selection);
	if (r == 0) {
		js_str(one, "selection", buf_view(&selection));
		js_text(one, "selection_certainty", part->sure ? "must" : "may");
		js_add(list, one);
	}
	buf_release(&selection);
	return r;
}

/* One version with some of the elements. 0, -errno. */
static int explain_part(struct cmd *c, const struct hyperslab *h, const struct hyperslab_part *part, unsigned how,
                        json_t *list)
{
	struct version_info v;
	struct why n = {0};
	struct buf name = {0}, line = {0};
	int r = fmt_part(c, h, part, &v, &name);
	if (r == 0)
		r = why_find(cmd_source(c), part->version, how, &n);
	if (r == 0)
		r = leave_out_earlier(c->store, v.file, &n);
	const struct file_target t = {.file = v.file, .version = v.id, .n = v.n};
	if (r == 0 && list)
		r = add_json(c, h, part, &v, &n, list);
	else if (r == 0 && n.n_direct)
		r = why_made_line(c, "", buf_cstr(&name), &t, &v, &n, &line);
	else if (r == 0)
		r = fmt_unmade(c, &v, &name, &line);
	if (r == 0 && !list)
		puts(buf_cstr(&line));
	why_release(&n);
	buf_release(&name);
	buf_release(&line);
	return r < 0 ? r : 0;
}

int why_explain_hyperslab(struct cmd *c, const char *text, unsigned how, json_t *list)
{
	struct hyperslab h;
	struct err err = {0};
	int r = hyperslab_find(c->store, text, &err, &h), status = r == 0 ? -1 : STATUS_OK;
	if (r == -EINVAL)
		status = report_err(&err, STATUS_USAGE);
	for (size_t i = 0; r > 0 && i < h.parts.n; i++)
		r = explain_part(c, &h, &h.parts.v[i], how, list) < 0 ? -EIO : 1;
	if (r > 0 && !h.parts.n) {
		report("no program was seen writing these elements of '%s': they have the fill value", text);
		status = STATUS_NOTHING;
	} else if (r < 0 && r != -EINVAL) {
		report("cannot find what made '%s': %s", text, strerror(r > -4096 ? -r : EIO));
		status = STATUS_SELF;
	}
	hyperslab_release(&h);
	return status;
}

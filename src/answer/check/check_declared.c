/* check_declared.c - the inputs that a rule declares, from the metadata that Snakemake writes of each output. */
#include "answer/check/check_int.h"
#include "base/hash.h"
#include "base/path.h"

#include <errno.h>

/* Notes the path, taken relative to d->folder where it is not absolute. 0, -ENOMEM. */
static int declare(struct check_declared *d, struct str path)
{
	struct buf whole = {0};
	bool is_new;
	if (!path.n || *path.p != '/')
		path_append(&whole, 0, buf_view(&d->folder));
	path_append(&whole, 0, path);
	bool ok = !whole.failed && idmap_add(&d->paths, hash_str(buf_view(&whole)) | 1, 1, &is_new);
	buf_release(&whole);
	return ok ? 0 : -ENOMEM;
}

int check_declared_load(struct stages *st, uint32_t stage, struct check_declared *ret, enum check_why *ret_why)
{
	struct buf text = {0};
	*ret = (struct check_declared){0};
	int r = stages_metadata(st, stage, &text, &ret->folder);
	json_t *o = r > 0 ? json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *in = json_object_get(o, "input");
	/* Of a job that failed, or of another form, it is not known what it declares. */
	*ret_why = stages_get(st, stage)->failed ? CHECK_FAILED : r > 0 ? CHECK_UNFINISHED : CHECK_NO_METADATA;
	if (r > 0 && (!json_is_array(in) || !json_is_false(json_object_get(o, "incomplete"))))
		r = 0;
	for (size_t i = 0; r > 0 && i < json_array_size(in); i++) {
		const json_t *one = json_array_get(in, i);
		int rc = json_is_string(one) ? declare(ret, str_n(json_string_value(one), json_string_length(one))) : 0;
		r = rc < 0 ? rc : r;
	}
	json_decref(o);
	buf_release(&text);
	return r;
}

/* d itself may not be used afterwards. */
void check_declared_release(struct check_declared *d)
{
	idmap_release(&d->paths);
	buf_release(&d->folder);
}

bool check_declares(const struct check_declared *d, struct str path)
{
	while (path.n > 1) {
		if (idmap_find(&d->paths, hash_str(path) | 1))
			return true;
		while (path.n > 1 && path.p[path.n - 1] != '/')
			path.n--;
		path.n--;
	}
	return false;
}

/* diff.c - the two sides loaded, paired, compared. */
#include "query/diff/diff_int.h"

#include <errno.h>
#include <stdlib.h>

const struct diff_category_words diff_category_words[DIFF_CATEGORIES] = {
#define CATEGORY(name, cause, meaning) {#name, meaning, cause},
#include "query/diff_categories.def"
#undef CATEGORY
};

/* d->pairs: the executions that were paired, for the caller. 0, -ENOMEM. */
static int keep_pairs(const struct side side[2], struct diff *d)
{
	size_t n = 0;
	d->pairs = malloc((d->paired + 1) * sizeof(*d->pairs));
	for (size_t i = 0; d->pairs && i < side[0].n_execs; i++) {
		const struct dexec *a = &side[0].execs[i];
		if (a->partner != NONE && n < d->paired)
			d->pairs[n++] = (struct diff_pair_ids){{a->id, side[1].execs[a->partner].id}};
	}
	return d->pairs ? 0 : -ENOMEM;
}

/* Loads both sides, pairs their executions and compares. 0 or -errno. */
static int compare_sides(struct store *s, enum diff_what what, const store_id ids[2], const struct diff_options *o,
                         struct side side[2], struct items *it, struct err *err, struct diff *ret)
{
	int r = 0;
	for (int k = 0; r == 0 && k < 2; k++)
		r = side_load(s, what, ids[k], o, it->text, err, &side[k]);
	if (r == 0)
		r = diff_pair(side, &ret->paired);
	if (r == 0)
		r = keep_pairs(side, ret);
	if (r == 0)
		r = items_files(s, side, it, ret);
	if (r == 0)
		r = items_pairs(s, side, it);
	if (r == 0)
		r = items_sides(side, it);
	for (int k = 0; r == 0 && k < 2; k++) {
		ret->side[k] = side[k].info;
		ret->side[k].only = side[k].n_execs - ret->paired;
	}
	return r < 0 ? r : diff_causes(side, it, ret);
}

int diff_make(struct store *s, enum diff_what what, const store_id ids[2], const struct diff_options *o,
              struct err *err, struct diff *ret)
{
	struct side side[2];
	struct diff_text *text = calloc(1, sizeof(*text));
	struct items it = {.text = text, .o = o};
	memset(side, 0, sizeof(side));
	*ret = (struct diff){.text = text, .first = SIZE_MAX};
	if (!text)
		return err_set(err, ENOMEM, "cannot compare");
	int r = store_view_begin(s, VIEW_WALK);
	bool viewing = r == 0;
	if (r == 0)
		r = compare_sides(s, what, ids, o, side, &it, err, ret);
	if (r == 0 && text->failed)
		r = -ENOMEM;
	if (viewing)
		store_view_end(s);
	free(it.concerns);
	free(it.users);
	ret->items = it.v;
	ret->n_items = it.n;
	for (int k = 0; k < 2; k++)
		side_release(&side[k]);
	if (r < 0) {
		err_set(err, -r, "cannot compare the two sides");
		diff_release(ret);
	}
	return r;
}

struct diff_item *diff_add(struct diff *d, const struct diff_item *like)
{
	struct diff_item *v = realloc(d->items, (d->n_items + 1) * sizeof(*v));
	size_t at = 0;
	if (!v)
		return NULL;
	d->items = v;
	while (at < d->n_items && v[at].category <= like->category)
		at++;
	struct diff_item x = *like;
	struct str *const text[] = {&x.subject, &x.part, &x.name, &x.before, &x.after};
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		*text[i] = diff_keep_text(d->text, *text[i]);
	if (d->text->failed)
		return NULL;
	memmove(&v[at + 1], &v[at], (d->n_items - at) * sizeof(*v));
	v[at] = x;
	d->n_items++;
	if (d->first != SIZE_MAX && d->first >= at)
		d->first++;
	return &v[at];
}

void diff_content_known(struct diff *d, size_t item, enum diff_content content)
{
	d->items[item].content = content;
	if (content == CONTENT_SAME)
		d->items[item].rooted = false;
	d->first = diff_first_cause(d, d->items, d->n_items);
}

/* d is empty then. */
void diff_release(struct diff *d)
{
	if (d->text)
		arena_release(&d->text->bytes);
	free(d->text);
	free(d->items);
	free(d->pairs);
	*d = (struct diff){0};
}

/* told.c - from statements to executions, files, versions, accesses and notes. */
#include "import/told.h"

#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

/* ---- notes ---- */

static struct str kept(struct told *t, struct str s)
{
	char *p = arena_take(&t->text, s.n + 1);
	if (p)
		memcpy(p, s.p, s.n);
	return (struct str){p, s.n};
}

/* What the four attributes say of each note, in b. */
static int split_notes(struct told *t, const struct doc_statement *st, const struct told_note *like, struct buf b[4])
{
	static const enum prov_attr attrs[4] = {ATTR_note, ATTR_noteTime, ATTR_noteUser, ATTR_noteHost};
	struct strlist l[4];
	size_t at[4] = {0};
	for (unsigned k = 0; k < 4; k++) {
		long n = told_list(t, st, attrs[k], &b[k]);
		if (n < 0)
			return (int)n;
		l[k] = (struct strlist){.count = (size_t)n, .raw = buf_view(&b[k])};
		if (l[k].count != l[0].count)
			return told_wrong(t, st, "notes without their times, users and hosts");
	}
	for (size_t i = 0; i < l[0].count; i++) {
		struct str s[4] = {{0}};
		struct told_note *n = vec_add(&t->notes);
		for (unsigned k = 0; k < 4; k++)
			strlist_next(&l[k], &at[k], &s[k]);
		if (!n)
			return told_oom(t);
		*n = *like;
		n->text = kept(t, s[0]);
		n->user = kept(t, s[2]);
		n->host = kept(t, s[3]);
		if (!n->text.p || !n->user.p || !n->host.p)
			return told_oom(t);
		if (!doc_time(s[1], &n->time))
			return told_wrong(t, st, "a note whose time is none");
	}
	return 0;
}

static int take_notes(struct told *t, const struct doc_statement *st)
{
	struct told_note like = {.file = VEC_NONE};
	struct buf b[4] = {{0}};
	if (!st->id || !told_get(t, st, t->attr[ATTR_note]))
		return 0;
	uint32_t run = st->kind == DOC_activity ? map_get(&t->run, st->id) : VEC_NONE, version = VEC_NONE;
	if (st->kind == DOC_entity) {
		struct str name = doc_str(t->d, st->id), before = str_of(STEMMA_ID);
		version = map_get(&t->version, st->id);
		like.file = version == VEC_NONE ? map_get(&t->file_of, st->id) : t->versions.v[version].file;
		if (version != VEC_NONE && t->versions.v[version].own && str_starts(name, before))
			like.version = str_n(name.p + before.n, name.n - before.n);
	}
	if (run != VEC_NONE)
		like.run = t->runs.v[run].ulid;
	else if (like.file == VEC_NONE)
		return 0; /* of what is not taken in */
	int rc = split_notes(t, st, &like, b);
	for (unsigned k = 0; k < 4; k++)
		buf_release(&b[k]);
	return rc;
}

/* ---- all of it ---- */

static void find_user(struct told *t)
{
	for (size_t i = 0; i < t->d->st.n && !t->user; i++) {
		const struct doc_statement *st = &t->d->st.v[i];
		if (st->kind != DOC_agent || told_is(t, st, PROV_NS "SoftwareAgent") || told_is(t, st, STEMMA_NS "User"))
			continue;
		enum provio_class c = told_class(t, st);
		if (c == PROVIO_Thread || c == PROVIO_Program)
			continue;
		uint32_t label = told_get(t, st, t->w_label);
		t->user = label ? label : st->id;
	}
}

int told_collect(struct told *t)
{
	struct buf name = {0};
	int rc = 0;
	for (unsigned i = 0; i < ATTR_COUNT; i++) {
		buf_reset(&name);
		buf_printf(&name, STEMMA_NS "%s", attr_words[i].name);
		t->attr[i] = words_find(&t->d->words, buf_view(&name));
		buf_str(&name, str_of("Base64"));
		t->base64[i] = words_find(&t->d->words, buf_view(&name));
	}
	rc = name.failed ? told_oom(t) : 0;
	buf_release(&name);
	t->w_type = words_find(&t->d->words, str_of(PROV_NS "type"));
	t->w_label = words_find(&t->d->words, str_of(PROV_NS "label"));
	t->w_location = words_find(&t->d->words, str_of(PROV_NS "location"));
	if (rc == 0)
		rc = told_provio(t);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_entity)
			rc = told_take_entity(t, i);
		else if (t->d->st.v[i].kind == DOC_agent)
			rc = told_take_program(t, i);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_activity)
			rc = told_take_activity(t, i);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		rc = told_take_relation(t, i);
	if (rc == 0)
		rc = told_take_sayings(t);
	if (rc == 0)
		rc = told_take_calls(t);
	if (rc == 0)
		rc = told_take_derivations(t);
	if (rc == 0)
		rc = told_order(t);
	if (rc == 0)
		told_open_ends(t);
	if (rc == 0 && !told_drop_uses(t))
		rc = told_oom(t);
	if (rc == 0)
		rc = told_settle(t);
	if (rc == 0)
		rc = told_attach_calls(t);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		rc = take_notes(t, &t->d->st.v[i]);
	find_user(t);
	return rc;
}

void told_release(struct told *t)
{
	told_provio_release(t);
	map_release(&t->activity);
	map_release(&t->version);
	map_release(&t->file_of);
	map_release(&t->run);
	map_release(&t->forgotten);
	table_release(&t->process_table);
	table_release(&t->file_table);
	vec_release(&t->runs);
	vec_release(&t->activities);
	vec_release(&t->processes);
	vec_release(&t->files);
	vec_release(&t->versions);
	vec_release(&t->accesses);
	vec_release(&t->links);
	vec_release(&t->notes);
	vec_release(&t->sayings);
	arena_release(&t->text);
}

/* imported.c - from statements to executions, files, versions, accesses and notes. */
#include "import/imported.h"

#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

/* ---- notes ---- */

/* Copies a text. p is NULL if there is no memory. */
static struct str copy_to_arena(struct imported *t, struct str s)
{
	char *p = arena_take(&t->text, s.n + 1);
	if (p)
		memcpy(p, s.p, s.n);
	return (struct str){p, s.n};
}

/* What the four attributes say of each note, in b. 0; -ENOMEM; as imported_wrong where they do not belong together. */
static int split_notes(struct imported *t, const struct doc_statement *st, const struct imported_note *like,
                       struct buf b[4])
{
	static const enum prov_attr attrs[4] = {ATTR_note, ATTR_noteTime, ATTR_noteUser, ATTR_noteHost};
	struct strlist l[4];
	size_t at[4] = {0};
	for (unsigned k = 0; k < 4; k++) {
		long n = imported_list(t, st, attrs[k], &b[k]);
		if (n < 0)
			return (int)n;
		l[k] = (struct strlist){.count = (size_t)n, .raw = buf_view(&b[k])};
		if (l[k].count != l[0].count)
			return imported_wrong(t, st, "notes without their times, users and hosts");
	}
	for (size_t i = 0; i < l[0].count; i++) {
		struct str s[4] = {{0}};
		struct imported_note *n = vec_add(&t->notes);
		for (unsigned k = 0; k < 4; k++)
			strlist_next(&l[k], &at[k], &s[k]);
		if (!n)
			return imported_oom(t);
		*n = *like;
		n->text = copy_to_arena(t, s[0]);
		n->user = copy_to_arena(t, s[2]);
		n->host = copy_to_arena(t, s[3]);
		if (!n->text.p || !n->user.p || !n->host.p)
			return imported_oom(t);
		if (!doc_time(s[1], &n->time))
			return imported_wrong(t, st, "a note whose time is none");
	}
	return 0;
}

/* Notes of what is not taken in are left out. 0, or as imported_wrong and imported_oom. */
static int take_notes(struct imported *t, const struct doc_statement *st)
{
	struct imported_note like = {.file = VEC_NONE};
	struct buf b[4] = {{0}};
	if (!st->id || !imported_get(t, st, t->attr[ATTR_note]))
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

/* t->user: the first agent that is a person, 0 none. */
static void find_user(struct imported *t)
{
	for (size_t i = 0; i < t->d->st.n && !t->user; i++) {
		const struct doc_statement *st = &t->d->st.v[i];
		if (st->kind != DOC_agent || imported_is(t, st, PROV_NS "SoftwareAgent") ||
		    imported_is(t, st, STEMMA_NS "User"))
			continue;
		enum provio_class c = imported_class(t, st);
		if (c == PROVIO_Thread || c == PROVIO_Program)
			continue;
		uint32_t label = imported_get(t, st, t->w_label);
		t->user = label ? label : st->id;
	}
}

/* The words by which the document may say what stemma knows. 0, -ENOMEM. */
static int find_words(struct imported *t)
{
	struct buf name = {0};
	for (unsigned i = 0; i < ATTR_COUNT; i++) {
		buf_reset(&name);
		buf_printf(&name, STEMMA_NS "%s", attr_words[i].name);
		t->attr[i] = intern_find(&t->d->words, buf_view(&name));
		buf_str(&name, str_of("Base64"));
		t->base64[i] = intern_find(&t->d->words, buf_view(&name));
	}
	int rc = name.failed ? imported_oom(t) : 0;
	buf_release(&name);
	t->w_type = intern_find(&t->d->words, str_of(PROV_NS "type"));
	t->w_label = intern_find(&t->d->words, str_of(PROV_NS "label"));
	t->w_location = intern_find(&t->d->words, str_of(PROV_NS "location"));
	return rc;
}

/* Things first, then who did something, then what they did. 0, or as imported_wrong and imported_oom. */
static int take_statements(struct imported *t)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_entity)
			rc = imported_take_entity(t, i);
		else if (t->d->st.v[i].kind == DOC_agent)
			rc = imported_take_program(t, i);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_activity)
			rc = imported_take_activity(t, i);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		rc = imported_take_relation(t, i);
	return rc;
}

int imported_collect(struct imported *t)
{
	int rc = find_words(t);
	if (rc == 0)
		rc = imported_provio(t);
	if (rc == 0)
		rc = take_statements(t);
	if (rc == 0)
		rc = imported_take_app_events(t);
	if (rc == 0)
		rc = imported_take_calls(t);
	if (rc == 0)
		rc = imported_take_derivations(t);
	if (rc == 0)
		rc = imported_order(t);
	if (rc == 0)
		imported_open_ends(t);
	if (rc == 0 && !imported_drop_uses(t))
		rc = imported_oom(t);
	if (rc == 0)
		rc = imported_identify(t);
	if (rc == 0)
		rc = imported_attach_calls(t);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		rc = take_notes(t, &t->d->st.v[i]);
	find_user(t);
	return rc;
}

/* What was imported; the document stays. */
void imported_release(struct imported *t)
{
	imported_provio_release(t);
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
	vec_release(&t->app_events);
	arena_release(&t->text);
}

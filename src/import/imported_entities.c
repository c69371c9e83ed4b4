/* imported_entities.c - executions, files and versions, by the attributes of entities, activities and agents. */
#include "import/imported.h"

#include "base/hash.h"
#include "export/export.h"
#include "graph/graph.h"

#include <errno.h>

#define FOREIGN_BOOT "prov"

/* ---- things ---- */

/* Its place, made where it is new; VEC_NONE: no memory. */
static uint32_t find_process(struct imported *t, struct str boot, uint64_t pidns, uint64_t pid, int64_t started)
{
	uint32_t i, hash = doc_hash(hash_mix(hash_str(boot), pidns), pid, (uint64_t)started);
	for (size_t pos = TABLE_START; (i = table_next(&t->process_table, hash, &pos)) != VEC_NONE;) {
		const struct imported_process *p = &t->processes.v[i];
		if (p->pid == pid && p->pidns == pidns && p->started == started && str_eq(p->boot, boot))
			return i;
	}
	struct imported_process *p = vec_add(&t->processes);
	if (!p || !table_add(&t->process_table, hash, (uint32_t)(t->processes.n - 1)))
		return VEC_NONE;
	*p = (struct imported_process){.boot = boot,
	                               .pidns = pidns,
	                               .pid = pid,
	                               .started = started,
	                               .first = VEC_NONE,
	                               .parent = VEC_NONE,
	                               .forked = TIME_NONE,
	                               .until = TIME_NONE,
	                               .session = VEC_NONE};
	return (uint32_t)(t->processes.n - 1);
}

/* A new activity of a process; VEC_NONE without memory. */
static uint32_t add_activity(struct imported *t, uint32_t word, uint32_t process, uint64_t n)
{
	struct imported_activity *a = process == VEC_NONE ? NULL : vec_add(&t->activities);
	uint32_t i = (uint32_t)(t->activities.n - 1);
	if (!a || (word && !map_set(&t->activity, word, i)))
		return VEC_NONE;
	*a = (struct imported_activity){.word = word,
	                                .st = VEC_NONE,
	                                .process = process,
	                                .n = n,
	                                .start = TIME_NONE,
	                                .end = TIME_NONE,
	                                .first = VEC_NONE,
	                                .last = VEC_NONE,
	                                .calls = VEC_NONE};
	uint32_t *at = &t->processes.v[process].first;
	while (*at != VEC_NONE && t->activities.v[*at].n < n)
		at = &t->activities.v[*at].next;
	a->next = *at;
	*at = i;
	return i;
}

uint32_t imported_foreign(struct imported *t, uint32_t word, struct str iri)
{
	uint64_t h = hash_str(iri);
	t->foreign = true;
	uint32_t i = add_activity(t, word, find_process(t, str_of(FOREIGN_BOOT), h >> 32, h & 0x7fffffff, 0), 1);
	if (i != VEC_NONE)
		t->activities.v[i].name = iri;
	return i;
}

uint32_t imported_activity_of(struct imported *t, uint32_t word)
{
	uint32_t i = map_get(&t->activity, word);
	return i != VEC_NONE ? i : imported_foreign(t, word, doc_str(t->d, word));
}

uint32_t imported_find_file(struct imported *t, const struct imported_file *like)
{
	bool absent = like->kind == TERM_kind_absent;
	uint32_t i,
	    h = absent ? doc_hash(hash_str(like->path), 0, 0) : doc_hash(hash_str(like->domain), like->ino, like->gen);
	for (size_t pos = TABLE_START; (i = table_next(&t->file_table, h, &pos)) != VEC_NONE;) {
		struct imported_file *f = &t->files.v[i];
		if ((f->kind == TERM_kind_absent) != absent)
			continue;
		if (absent ? str_eq(f->path, like->path)
		           : f->ino == like->ino && f->gen == like->gen && str_eq(f->domain, like->domain)) {
			f->network |= like->network;
			if (f->within == VEC_NONE && like->within != i)
				f->within = like->within;
			return i;
		}
	}
	struct imported_file *f = vec_add(&t->files);
	if (!f || !table_add(&t->file_table, h, (uint32_t)(t->files.n - 1)))
		return VEC_NONE;
	*f = *like;
	f->seen = TIME_NONE;
	return (uint32_t)(t->files.n - 1);
}

bool imported_regular(const struct imported *t, uint32_t version)
{
	return gkind_has_versions(t->files.v[t->versions.v[version].file].kind);
}

/* Adds a version of a file. VEC_NONE: no memory, or file is that already. */
static uint32_t append_version(struct imported *t, uint32_t word, uint32_t file)
{
	struct imported_version *v = file == VEC_NONE ? NULL : vec_add(&t->versions);
	if (!v || !map_set(&t->version, word, (uint32_t)(t->versions.n - 1)))
		return VEC_NONE;
	*v =
	    (struct imported_version){.word = word, .file = file, .mtime = TIME_NONE, .start = TIME_NONE, .end = TIME_NONE};
	return (uint32_t)(t->versions.n - 1);
}

/* A version that another program's document has: of a file of its own, at the path, or named by the IRI where that is
 * empty. VEC_NONE: no memory. */
static uint32_t foreign_version(struct imported *t, uint32_t word, struct str path)
{
	struct str iri = doc_str(t->d, word);
	t->foreign = true;
	return append_version(t, word,
	                      imported_find_file(t, &(struct imported_file){.domain = str_of(FOREIGN_DOMAIN),
	                                                                    .path = path.n ? path : iri,
	                                                                    .gen = hash_str(iri),
	                                                                    .kind = TERM_kind_regular,
	                                                                    .within = VEC_NONE}));
}

uint32_t imported_version_of(struct imported *t, uint32_t word)
{
	uint32_t i = map_get(&t->version, word);
	return i != VEC_NONE ? i : foreign_version(t, word, str_of(""));
}

/* ---- stemma's own things, by their attributes ---- */

/* The file that a File, Version or Stream is of; *ret VEC_NONE where its attributes do not say. 0, -ENOMEM. */
static int own_file(struct imported *t, const struct doc_statement *st, uint32_t *ret)
{
	struct imported_file f = {.kind =
	                              imported_term(SET_kind, imported_text(t, st, ATTR_fileKind), TERM_kind_softlink, 0),
	                          .within = VEC_NONE};
	uint64_t network = 0, outer;
	*ret = VEC_NONE;
	f.path = imported_text(t, st, ATTR_path);
	if (!f.kind)
		return 0;
	if (f.kind != TERM_kind_absent) {
		f.domain = imported_text(t, st, ATTR_domain);
		if (!imported_count(t, st, ATTR_inode, &f.ino) || !imported_count(t, st, ATTR_generation, &f.gen))
			return 0;
		struct str flag = doc_str(t->d, imported_get(t, st, t->attr[ATTR_network]));
		f.network = str_is(flag, "true") || (imported_count(t, st, ATTR_network, &network) && network);
	}
	if (gkind_is_object(f.kind) && imported_count(t, st, ATTR_withinGeneration, &outer)) {
		struct imported_file file = f;
		const char *inside = memmem(f.path.p, f.path.n, "//", 2);
		file.kind = TERM_kind_regular;
		file.gen = outer;
		file.path = inside ? str_n(f.path.p, (size_t)(inside - f.path.p)) : str_of("");
		if ((f.within = imported_find_file(t, &file)) == VEC_NONE)
			return imported_oom(t);
	}
	*ret = imported_find_file(t, &f);
	return *ret == VEC_NONE ? imported_oom(t) : 0;
}

/* The first 16 characters. False: they are no digits. */
static bool parse_hex16(struct str s, uint64_t *ret)
{
	uint64_t v = 0;
	for (size_t i = 0; i < 16; i++) {
		char c = i < s.n ? s.p[i] : 'x';
		unsigned d = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
		if (d > 15)
			return false;
		v = v << 4 | d;
	}
	*ret = v;
	return true;
}

/* "0123456789abcdef.17", or "#..." of what nobody was seen to write. False: it is neither. */
static bool own_ident(struct imported_version *v, struct str s)
{
	if (s.n && s.p[0] == '#')
		return true;
	if (s.n < 18 || s.p[16] != '.' || !parse_hex16(s, &v->session))
		return false;
	v->seq = 0;
	for (size_t i = 17; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v->seq, (uint64_t)10, &v->seq) ||
		    __builtin_add_overflow(v->seq, (uint64_t)(s.p[i] - '0'), &v->seq))
			return false;
	v->by_event = v->session != 0;
	return v->by_event;
}

/* A file of stemma's, or with `version` what was in it at some time. 0; as imported_wrong where its identity is not
 * said; -ENOMEM. */
static int take_own_entity(struct imported *t, const struct doc_statement *st, bool version)
{
	uint32_t file, i;
	uint64_t part;
	int rc = own_file(t, st, &file);
	if (rc < 0)
		return rc;
	if (file == VEC_NONE)
		return imported_wrong(t, st, "a file of stemma's without its identity (fileKind, domain, inode, generation)");
	if (!version)
		return map_set(&t->file_of, st->id, file) ? 0 : imported_oom(t);
	if (imported_count(t, st, ATTR_part, &part))
		return 0; /* of a chain: what it is the last one says */
	struct imported_version v = {.own = true, .mtime = TIME_NONE, .start = TIME_NONE, .end = TIME_NONE};
	if (!own_ident(&v, imported_text(t, st, ATTR_ident)))
		return imported_wrong(t, st, "a version of stemma's without its identity (ident)");
	v.unobserved_size = imported_count(t, st, ATTR_size, &v.size);
	imported_time(t, st, ATTR_mtime, &v.mtime);
	imported_time(t, st, ATTR_writeBegan, &v.start);
	imported_time(t, st, ATTR_writeEnded, &v.end);
	if ((i = append_version(t, st->id, file)) == VEC_NONE)
		return imported_oom(t);
	v.word = st->id;
	v.file = file;
	t->versions.v[i] = v;
	return 0;
}

int imported_take_entity(struct imported *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	bool version = imported_is(t, st, STEMMA_NS "Version") || imported_is(t, st, STEMMA_NS "Stream");
	if (map_get(&t->version, st->id) != VEC_NONE || map_get(&t->file_of, st->id) != VEC_NONE)
		return 0;
	if (version || imported_is(t, st, STEMMA_NS "File"))
		return take_own_entity(t, st, version);
	uint32_t of = map_get(&t->io.whole, st->id);
	enum provio_class class = imported_class(t, st);
	if (provio_is_object(class))
		return imported_take_object(t, st->id, st->id);
	if (of != VEC_NONE)
		return imported_take_object(t, st->id, of);
	if (class >= PROVIO_Type)
		return 0; /* what a program said, not data */
	struct str path = imported_text(t, st, ATTR_path), label = doc_str(t->d, imported_get(t, st, t->w_label));
	struct str location = doc_str(t->d, imported_get(t, st, t->w_location));
	uint32_t i = foreign_version(t, st->id, path.n ? path : location.n ? location : label);
	return i == VEC_NONE ? imported_oom(t) : 0;
}

/* The agent p... is what a program, the file f..., did: where the file is no entity of the document it says which one
 * it is. 0, -ENOMEM. */
int imported_take_program(struct imported *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	struct str id = doc_str(t->d, st->id), before = str_of(STEMMA_ID "p");
	struct buf name = {0};
	uint32_t file = VEC_NONE;
	if (!imported_is(t, st, STEMMA_NS "Program") || !str_starts(id, before))
		return 0;
	int rc = own_file(t, st, &file);
	buf_printf(&name, STEMMA_ID "f%.*s", (int)(id.n - before.n), id.p + before.n);
	uint32_t word = intern_find(&t->d->words, buf_view(&name));
	if (rc == 0 && file != VEC_NONE && word != VEC_NONE && map_get(&t->file_of, word) == VEC_NONE &&
	    !map_set(&t->file_of, word, file))
		rc = imported_oom(t);
	buf_release(&name);
	return rc;
}

/* An activity that is a run of stemma's. 0, -EBADMSG with a sentence, -ENOMEM. */
static int take_run(struct imported *t, const struct doc_statement *st, uint32_t at, struct str ulid)
{
	struct imported_run *r = ulid.n ? vec_add(&t->runs) : NULL;
	if (!r)
		return imported_wrong(t, st, "a run of stemma's whose name is none");
	*r = (struct imported_run){.st = at, .ulid = ulid};
	return map_set(&t->run, st->id, (uint32_t)(t->runs.n - 1)) ? 0 : imported_oom(t);
}

/* An activity that is an execution of stemma's; *ret: its place, VEC_NONE without memory. 0; as imported_wrong where
 * its identity is not said. */
static int take_execution(struct imported *t, const struct doc_statement *st, uint32_t *ret)
{
	uint64_t pidns, pid, n, ns;
	int64_t started = TIME_NONE;
	/* In documents of before it was written as a time. */
	if (imported_count(t, st, ATTR_processStarted, &ns) && ns <= INT64_MAX)
		started = (int64_t)ns;
	else
		imported_time(t, st, ATTR_processStarted, &started);
	if (!imported_count(t, st, ATTR_pidNamespace, &pidns) || !imported_count(t, st, ATTR_pid, &pid) ||
	    !imported_count(t, st, ATTR_execution, &n))
		return imported_wrong(t, st, "an execution of stemma's without its identity (pidNamespace, pid, execution)");
	*ret = add_activity(t, st->id, find_process(t, imported_text(t, st, ATTR_boot), pidns, pid, started), n);
	if (*ret != VEC_NONE)
		t->activities.v[*ret].own = true;
	return 0;
}

/* An activity of another program; its place, VEC_NONE without memory. */
static uint32_t take_foreign_activity(struct imported *t, const struct doc_statement *st)
{
	struct str label = doc_str(t->d, imported_get(t, st, t->w_label));
	uint32_t i = imported_foreign(t, st->id, doc_str(t->d, st->id));
	if (i != VEC_NONE && label.n)
		t->activities.v[i].name = label;
	return i;
}

/* Finds or adds the activity that a statement names. *ret: its place. 0, or as imported_wrong and imported_oom. */
static int find_or_take_activity(struct imported *t, const struct doc_statement *st, bool execution, uint32_t *ret)
{
	int rc = 0;
	*ret = map_get(&t->activity, st->id);
	if (*ret != VEC_NONE)
		return 0;
	if (execution)
		rc = take_execution(t, st, ret);
	else
		*ret = take_foreign_activity(t, st);
	return rc < 0 || *ret != VEC_NONE ? rc : imported_oom(t);
}

/* What an earlier statement has not told of the activity. */
static void take_missing(struct imported_activity *a, uint32_t at, const struct doc_statement *st)
{
	a->st = a->st == VEC_NONE ? at : a->st;
	a->start = a->start == TIME_NONE ? st->start : a->start;
	a->end = a->end == TIME_NONE ? st->end : a->end;
}

int imported_take_activity(struct imported *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	if (map_get(&t->version, st->id) != VEC_NONE || map_get(&t->file_of, st->id) != VEC_NONE)
		return imported_wrong(t, st, "an activity with the name of an entity");
	if (map_get(&t->run, st->id) != VEC_NONE || imported_io(t, st->id))
		return 0;
	if (imported_is_stray_call(t, st))
		return t->passed++, 0;
	bool run = imported_is(t, st, STEMMA_NS "Run"), execution = !run && imported_is(t, st, STEMMA_NS "Execution");
	struct str ulid = imported_ulid(run ? doc_str(t->d, st->id) : imported_text(t, st, ATTR_run));
	if (forgotten_run(t->gone, ulid) && (run || execution)) {
		t->left_out++;
		return map_set(&t->forgotten, st->id, 1) ? 0 : imported_oom(t);
	}
	if (run)
		return take_run(t, st, at, ulid);
	uint32_t i;
	int rc = find_or_take_activity(t, st, execution, &i);
	if (rc < 0)
		return rc;
	take_missing(&t->activities.v[i], at, st);
	return 0;
}

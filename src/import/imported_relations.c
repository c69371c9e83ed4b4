/* imported_relations.c - accesses and links, by the relations. */
#include "import/imported.h"

#include "base/hash.h"
#include "export/export.h"

#include <errno.h>

/* The version that a name stands for; a write of a chain is of the version without its number. VEC_NONE: it is none. A
 * name that is not known yet becomes a version (0 then, too). -ENOMEM, reported. */
int imported_find_version(struct imported *t, uint32_t word, uint32_t *ret)
{
	struct str s = doc_str(t->d, word);
	*ret = map_get(&t->version, word);
	if (*ret != VEC_NONE || map_get(&t->file_of, word) != VEC_NONE)
		return 0;
	if (str_starts(s, str_of(STEMMA_ID "v"))) {
		size_t n = s.n;
		while (n && s.p[n - 1] != '.')
			n--;
		uint32_t whole = n ? intern_find(&t->d->words, str_n(s.p, n - 1)) : VEC_NONE;
		*ret = whole == VEC_NONE ? VEC_NONE : map_get(&t->version, whole);
		if (*ret != VEC_NONE)
			return 0;
	}
	*ret = imported_version_of(t, word);
	return *ret == VEC_NONE ? imported_oom(t) : 0;
}

struct imported_access *imported_add_access(struct imported *t, uint32_t activity, uint32_t version, bool write,
                                            uint32_t st)
{
	struct imported_access *a = vec_add(&t->accesses);
	if (!a)
		return NULL;
	*a = (struct imported_access){.activity = activity,
	                              .version = version,
	                              .st = st,
	                              .next = VEC_NONE,
	                              .write = write,
	                              .must = true,
	                              .foreign = true,
	                              .mode = write ? ACCESS_WRITE | ACCESS_CREATE : ACCESS_READ,
	                              .lo = TIME_NONE,
	                              .hi = TIME_NONE,
	                              .count = 1,
	                              .state = VEC_NONE,
	                              .calls = VEC_NONE,
	                              .last = TIME_NONE};
	struct imported_activity *x = &t->activities.v[activity];
	uint32_t i = (uint32_t)(t->accesses.n - 1);
	if (x->first == VEC_NONE)
		x->first = i;
	else
		t->accesses.v[x->last].next = i;
	x->last = i;
	t->versions.v[version].writes += write;
	t->versions.v[version].reads += !write;
	return a;
}

/* What stemma says of an access that it recorded. -EBADMSG, reported, where its times contradict each other. */
static int take_own_access(struct imported *t, const struct doc_statement *st, struct imported_access *a)
{
	uint64_t mode;
	a->foreign = false;
	imported_time(t, st, ATTR_until, &a->hi);
	if (a->hi != TIME_NONE && a->hi < a->lo)
		return imported_wrong(t, st, "it ended before it began");
	a->must = !str_is(imported_text(t, st, ATTR_certainty), "may");
	a->via = (uint8_t)imported_term(SET_via, imported_text(t, st, ATTR_via), TERM_via_sync, TERM_via_data);
	/* A cache's or a lock's is found by its name, again. */
	if (imported_regular(t, a->version) && (a->via == TERM_via_cache || a->via == TERM_via_sync))
		a->via = TERM_via_data;
	a->api = (uint8_t)imported_term(SET_api, imported_text(t, st, ATTR_api), TERM_api_mpi, TERM_api_other);
	if (imported_count(t, st, ATTR_accessMode, &mode))
		a->mode = (uint16_t)(mode & 0xff);
	imported_count(t, st, ATTR_count, &a->count);
	a->has_bytes = imported_count(t, st, ATTR_bytes, &a->bytes);
	return 0;
}

/* The access of the activity `word` to the version, with its times. -ENOMEM, -EBADMSG, reported. */
static int take_access(struct imported *t, uint32_t at, uint32_t word, uint32_t version, bool write)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t activity = imported_activity_of(t, word);
	struct imported_access *a = activity == VEC_NONE ? NULL : imported_add_access(t, activity, version, write, at);
	if (!a)
		return imported_oom(t);
	if (imported_time(t, st, ATTR_from, &a->lo) && t->activities.v[activity].own && t->versions.v[version].own)
		return take_own_access(t, st, a);
	a->lo = a->hi = st->start;
	return 0;
}

/* The use or generation in statement `at`. What names no version of a file counts as passed: 0. 0, -errno with a
 * sentence. */
static int read_access_relation(struct imported *t, uint32_t at, bool write)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t aw = st->arg[write], ew = st->arg[!write], version;
	if (!aw || !ew || map_get(&t->run, aw) != VEC_NONE) {
		t->passed++;
		return 0;
	}
	struct imported_io *io = imported_io(t, aw);
	if (io && map_get(&t->forgotten, io->whose) != VEC_NONE)
		return t->left_out++, 0;
	if (io)
		return imported_take_used(t, at, io, ew, write);
	int rc = imported_find_version(t, ew, &version);
	if (rc == 0 && version == VEC_NONE)
		t->passed++; /* of a file, not of what was in it at some time */
	if (rc < 0 || version == VEC_NONE)
		return rc;
	return take_access(t, at, aw, version, write);
}

/* Something went from one activity to the other, x, and one of them is not stemma's: through a stream of their own.
 * -ENOMEM, reported. */
static int add_stream(struct imported *t, uint32_t at, uint32_t x, uint32_t y)
{
	const struct doc_statement *st = &t->d->st.v[at];
	struct buf name = {0};
	struct str from = doc_str(t->d, st->arg[1]), to = doc_str(t->d, st->arg[0]);
	buf_printf(&name, "%.*s -> %.*s", (int)from.n, from.p, (int)to.n, to.p);
	uint64_t h = hash_str(buf_view(&name));
	buf_release(&name);
	uint32_t file = imported_find_file(
	    t, &(struct imported_file){
	           .domain = str_of(FOREIGN_DOMAIN), .gen = h, .kind = TERM_kind_pipe, .within = VEC_NONE});
	struct imported_version *v = file == VEC_NONE ? NULL : vec_add(&t->versions);
	if (!v)
		return imported_oom(t);
	*v = (struct imported_version){.file = file, .mtime = TIME_NONE, .start = TIME_NONE, .end = TIME_NONE};
	uint32_t i = (uint32_t)(t->versions.n - 1);
	struct imported_access *w = imported_add_access(t, y, i, true, at),
	                       *r = w ? imported_add_access(t, x, i, false, at) : NULL;
	if (r)
		t->accesses.v[t->accesses.n - 2].mode = ACCESS_WRITE;
	return r ? 0 : imported_oom(t);
}

/* What stemma says of two executions that it recorded: one forked the other, or they talked to each other. Forks set
 * the parent of x's process; else a link is added. -ENOMEM. */
static int take_own_informed(struct imported *t, const struct doc_statement *st, uint32_t x, uint32_t y)
{
	const struct imported_activity *a = &t->activities.v[x], *b = &t->activities.v[y];
	unsigned via = imported_term(SET_via, imported_text(t, st, ATTR_via), TERM_via_sync, TERM_via_data);
	bool must = !str_is(imported_text(t, st, ATTR_certainty), "may");
	int64_t lo = TIME_NONE, hi = TIME_NONE;
	imported_time(t, st, ATTR_from, &lo);
	imported_time(t, st, ATTR_until, &hi);
	if (via == TERM_via_fork && must && a->n == 0 && a->process != b->process) {
		struct imported_process *p = &t->processes.v[a->process];
		p->parent = b->process;
		p->forked = lo;
		p->until = hi;
		return 0;
	}
	if (via == TERM_via_fork && a->process == b->process)
		return 0;                                 /* an exec in the process: they follow each other */
	struct imported_link *l = vec_add(&t->links); /* told from both sides: those that are equal are one */
	if (!l)
		return imported_oom(t);
	*l = (struct imported_link){.a = x < y ? x : y,
	                            .b = x < y ? y : x,
	                            .via = (uint8_t)via,
	                            .must = must,
	                            .at = lo == TIME_NONE ? a->start : lo};
	return 0;
}

/* Two executions of which one informed the other: taken as a stream, a fork or a link. Of runs: passed over. 0, -errno
 * with a sentence. */
static int take_informed(struct imported *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	if (map_get(&t->run, st->arg[0]) != VEC_NONE || map_get(&t->run, st->arg[1]) != VEC_NONE) {
		t->passed++;
		return 0;
	}
	uint32_t x = imported_activity_of(t, st->arg[0]), y = imported_activity_of(t, st->arg[1]);
	if (x == VEC_NONE || y == VEC_NONE)
		return imported_oom(t);
	bool own = t->activities.v[x].own && t->activities.v[y].own;
	return own ? take_own_informed(t, st, x, y) : add_stream(t, at, x, y);
}

/* Is it about an activity that the record forgot? */
static bool concerns_forgotten(const struct imported *t, const struct doc_statement *st)
{
	for (size_t i = 0; i < DOC_ARGS; i++)
		if (st->arg[i] && map_get(&t->forgotten, st->arg[i]) != VEC_NONE)
			return true;
	return false;
}

struct pair_set {
	struct table table;
	VEC(uint64_t) v;
};

/* Is the pair in the set? */
static bool has_pair(const struct pair_set *s, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b;
	uint32_t i;
	for (size_t pos = TABLE_START; (i = table_next(&s->table, doc_hash(a, b, 7), &pos)) != VEC_NONE;)
		if (s->v.v[i] == key)
			return true;
	return false;
}

/* Adds a pair to the set. False: no memory. */
static bool add_pair(struct pair_set *s, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b, *slot = vec_add(&s->v);
	if (!slot)
		return false;
	*slot = key;
	return table_add(&s->table, doc_hash(a, b, 7), (uint32_t)(s->v.n - 1));
}

/* Adds an access, if it is not known already. False: no memory. */
static bool add_access_once(struct imported *t, struct pair_set *known, uint32_t activity, uint32_t version, bool write,
                            uint32_t at)
{
	return has_pair(known, activity, version) ||
	       (add_pair(known, activity, version) && imported_add_access(t, activity, version, write, at));
}

/* An execution that derived the entity, which nothing else is told of; VEC_NONE: no memory. */
static uint32_t add_deriver(struct imported *t, uint32_t entity)
{
	struct buf name = {0};
	struct str s = doc_str(t->d, entity);
	uint32_t a = VEC_NONE;
	buf_printf(&name, "%.*s#derivation", (int)s.n, s.p);
	char *kept = arena_take(&t->text, name.n + 1);
	if (kept) {
		memcpy(kept, buf_cstr(&name), name.n + 1);
		a = imported_foreign(t, 0, str_n(kept, name.n));
	}
	buf_release(&name);
	return a;
}

/* A derivation is a use and a generation by its activity (inference 11); without one, by an execution of its own. 0
 * also for what is passed over: no versions, or both stemma's own. -ENOMEM, reported. */
static int take_derivation(struct imported *t, uint32_t at, struct pair_set *used, struct pair_set *made,
                           struct map *makers)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t to, from;
	int rc = imported_find_version(t, st->arg[0], &to);
	if (rc == 0)
		rc = imported_find_version(t, st->arg[1], &from);
	if (rc < 0)
		return rc;
	if (to == VEC_NONE || from == VEC_NONE) {
		t->passed++;
		return 0;
	}
	if (t->versions.v[to].own && t->versions.v[from].own)
		return 0; /* follows from what was written and read */
	uint32_t a = st->arg[2] && map_get(&t->run, st->arg[2]) == VEC_NONE ? imported_activity_of(t, st->arg[2])
	                                                                    : map_get(makers, to);
	if (a == VEC_NONE)
		a = add_deriver(t, st->arg[0]);
	if (a == VEC_NONE || !map_set(makers, to, a))
		return imported_oom(t);
	return add_access_once(t, used, a, from, false, at) && add_access_once(t, made, a, to, true, at) ? 0
	                                                                                                 : imported_oom(t);
}

int imported_take_derivations(struct imported *t)
{
	struct pair_set used = {.v = {0}}, made = {.v = {0}};
	struct map makers = {0};
	int rc = 0;
	for (size_t i = 0, n = t->accesses.n; rc == 0 && i < n; i++) {
		const struct imported_access *a = &t->accesses.v[i];
		if (!add_pair(a->write ? &made : &used, a->activity, a->version) ||
		    (a->write && !map_set(&makers, a->version, a->activity)))
			rc = imported_oom(t);
	}
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_wasDerivedFrom && !concerns_forgotten(t, &t->d->st.v[i]))
			rc = take_derivation(t, i, &used, &made, &makers);
	table_release(&used.table);
	table_release(&made.table);
	vec_release(&used.v);
	vec_release(&made.v);
	map_release(&makers);
	return rc;
}

int imported_take_relation(struct imported *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	if (concerns_forgotten(t, st)) {
		t->left_out++;
		return 0;
	}
	switch (st->kind) {
	case DOC_wasGeneratedBy:
		return read_access_relation(t, at, true);
	case DOC_used:
		return read_access_relation(t, at, false);
	case DOC_wasInformedBy:
		return take_informed(t, at);
	case DOC_entity:
	case DOC_activity:
	case DOC_agent:
	case DOC_wasDerivedFrom:
		return 0;
	case DOC_specializationOf:
		t->passed += map_get(&t->file_of, st->arg[1]) == VEC_NONE && map_get(&t->io.whole, st->arg[0]) == VEC_NONE;
		return 0;
	case DOC_hadMember:
		t->passed += map_get(&t->io.outer, st->arg[1]) == VEC_NONE;
		return 0;
	case DOC_wasAttributedTo: /* of PROV-IO: follows from the calls */
		t->passed += map_get(&t->io.program, st->arg[1]) == VEC_NONE;
		return 0;
	case DOC_wasAssociatedWith:
	case DOC_actedOnBehalfOf:
		return 0; /* users and programs are told with the executions */
	default:
		t->passed++;
		return 0;
	}
}

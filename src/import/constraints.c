#include "import/constraints_int.h"

#include <errno.h>

static const struct {
	unsigned number;
	const char *name;
} names[] = {
#define CONSTRAINT(number, name) {number, name},
#include "import/constraints.def"
#undef CONSTRAINT
};

const char *constraint_name(unsigned number)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == number)
			return names[i].name;
	return "";
}

/* st: the n statements that break the constraint; about: a word. A remark is told, but not counted as a violation. */
void check_report(struct check *c, unsigned number, bool remark, const uint32_t *st, size_t n, uint32_t about)
{
	struct violation v = {.number = number, .remark = remark, .statements = st, .n = n, .about = doc_str(c->d, about)};
	c->violations += !remark;
	c->say(c->arg, &v);
}

/* Reports two statements that do not go together. */
static void report_pair(struct check *c, unsigned number, uint32_t a, uint32_t b, uint32_t about)
{
	const uint32_t st[] = {a, b};
	check_report(c, number, false, st, 2, about);
}

/* ---- uniqueness ---- */

/* What statements that are one tell together: 0 and TIME_NONE are not told yet. */
struct one {
	enum doc_kind kind;
	unsigned number;
	uint32_t key[2];
	uint32_t id, arg[DOC_ARGS];
	int64_t start, end;
	uint32_t st; /* the first */
};

struct ones {
	struct table table;
	VEC(struct one) v;
};

/* Sets *have to what is known of it. False: they are two. */
static bool strings_agree(const struct doc *d, uint32_t *have, uint32_t more)
{
	/* A blank name stands for something: it may be the same as another. */
	if (!more || *have == more)
		return true;
	if (!*have || is_blank_node(d, *have)) {
		*have = more;
		return true;
	}
	return is_blank_node(d, more);
}

/* What is not known agrees; *have takes what the other knows. */
static bool time_agrees(int64_t *have, int64_t more)
{
	if (*have == TIME_NONE)
		*have = more;
	return more == TIME_NONE || *have == more;
}

/* What one of them does not tell is taken from the other, into o. */
static bool statements_agree(const struct doc *d, struct one *o, const struct doc_statement *st)
{
	bool same = strings_agree(d, &o->id, st->id) && time_agrees(&o->start, st->start) && time_agrees(&o->end, st->end);
	for (unsigned i = 0; same && i < DOC_ARGS; i++)
		same = strings_agree(d, &o->arg[i], st->arg[i]);
	return same;
}

/* Joins a statement with those of the same key, and tells where it cannot. */
static void merge_statement(struct check *c, struct ones *all, unsigned number, uint32_t a, uint32_t b, uint32_t at)
{
	const struct doc_statement *st = &c->d->st.v[at];
	uint32_t i, hash = doc_hash(a, b, (uint64_t)st->kind << 8 | number);
	for (size_t pos = TABLE_START; (i = table_next(&all->table, hash, &pos)) != VEC_NONE;) {
		struct one *o = &all->v.v[i];
		if (o->kind != st->kind || o->number != number || o->key[0] != a || o->key[1] != b)
			continue;
		if (!statements_agree(c->d, o, st))
			report_pair(c, number, o->st, at, a);
		return;
	}
	struct one *o = vec_add(&all->v);
	if (!o || !table_add(&all->table, hash, (uint32_t)(all->v.n - 1))) {
		c->failed = true;
		return;
	}
	*o = (struct one){
	    .kind = st->kind, .number = number, .key = {a, b}, .id = st->id, .start = st->start, .end = st->end, .st = at};
	memcpy(o->arg, st->arg, sizeof(o->arg));
}

/* 28, 29: the moment of an activity's start is that of what started it. */
static void check_event_times(struct check *c, struct ones *all)
{
	for (size_t k = 0; k < c->n && !c->failed; k++) {
		const struct doc_statement *st = &c->d->st.v[c->st[k]];
		bool starts = st->kind == DOC_wasStartedBy;
		if ((!starts && st->kind != DOC_wasEndedBy) || st->start == TIME_NONE)
			continue;
		uint32_t i, hash = doc_hash(st->arg[0], 0, (uint64_t)DOC_activity << 8 | 22);
		for (size_t pos = TABLE_START; (i = table_next(&all->table, hash, &pos)) != VEC_NONE;) {
			const struct one *o = &all->v.v[i];
			int64_t known = starts ? o->start : o->end;
			if (o->number == 22 && o->kind == DOC_activity && o->key[0] == st->arg[0] && known != TIME_NONE &&
			    known != st->start)
				report_pair(c, starts ? 28 : 29, o->st, c->st[k], st->arg[0]);
		}
	}
}

/* Constraints 22 to 27: statements of one thing are merged, and what of them differs is reported; then their times. */
static void check_unique(struct check *c)
{
	struct ones all = {.v = {0}};
	for (size_t k = 0; k < c->n && !c->failed; k++) {
		uint32_t at = c->st[k];
		const struct doc_statement *st = &c->d->st.v[at];
		if (st->id)
			merge_statement(c, &all, st->kind <= DOC_agent ? 22 : 23, st->id, 0, at);
		bool both = st->arg[0] && st->arg[1];
		if (st->kind == DOC_wasGeneratedBy && both)
			merge_statement(c, &all, 24, st->arg[0], st->arg[1], at);
		else if (st->kind == DOC_wasInvalidatedBy && both)
			merge_statement(c, &all, 25, st->arg[0], st->arg[1], at);
		else if (st->kind == DOC_wasStartedBy && st->arg[0] && st->arg[2])
			merge_statement(c, &all, 26, st->arg[0], st->arg[2], at);
		else if (st->kind == DOC_wasEndedBy && st->arg[0] && st->arg[2])
			merge_statement(c, &all, 27, st->arg[0], st->arg[2], at);
	}
	check_event_times(c, &all);
	table_release(&all.table);
	vec_release(&all.v);
}

/* ---- typing and impossibility ---- */

/* A word is of the type bit says, as statement `at` tells. Of agents no statement is noted; word 0 is none. */
static void mark_type(struct check *c, uint32_t word, uint8_t bit, uint32_t at)
{
	if (!word)
		return;
	if (!c->is[word])
		c->marked[c->n_marked++] = word;
	if (!(c->is[word] & bit) && bit <= IS_ACTIVITY)
		c->why[bit - 1][word] = at;
	c->is[word] |= bit;
}

/* What a statement says of its own name. type, empty: the words for a name's type, and for a collection that is empty;
 * VEC_NONE: the document has no such word. */
static void type_own_name(struct check *c, uint32_t at, uint32_t type, uint32_t empty)
{
	const struct doc_statement *st = &c->d->st.v[at];
	if (st->kind == DOC_entity || st->kind == DOC_activity || st->kind == DOC_agent)
		mark_type(c, st->id,
		          st->kind == DOC_entity     ? IS_ENTITY
		          : st->kind == DOC_activity ? IS_ACTIVITY
		                                     : IS_AGENT,
		          at);
	for (uint32_t i = 0; st->kind == DOC_entity && i < st->n_attr; i++) {
		const struct doc_attr *a = &c->d->attrs.v[st->first_attr + i];
		if (type != VEC_NONE && a->name == type && a->value == empty)
			mark_type(c, st->id, IS_EMPTY, at);
	}
}

/* What a place of a statement (see kinds.def) says of the name that stands there: 0 nothing. */
static uint8_t type_of_place(char place)
{
	switch (place) {
	case 'e':
	case 'p':
	case 'c':
		return IS_ENTITY;
	case 'a':
		return IS_ACTIVITY;
	case 'g':
		return IS_AGENT;
	default:
		return 0;
	}
}

/* Applies constraint 50: where a name stands says what it is. */
static void type_names(struct check *c)
{
	uint32_t type = intern_find(&c->d->words, str_of(PROV_NS "type"));
	uint32_t empty = intern_find(&c->d->words, str_of(PROV_NS "EmptyCollection"));
	for (size_t k = 0; k < c->n; k++) {
		uint32_t at = c->st[k];
		const struct doc_statement *st = &c->d->st.v[at];
		type_own_name(c, at, type, empty);
		for (unsigned i = 0; i < DOC_ARGS; i++) {
			uint8_t bit = type_of_place(doc_kinds[st->kind].arg[i].type);
			if (bit)
				mark_type(c, st->arg[i], bit, at);
		}
	}
}

/* 53, 54: a relation's identifier is no other relation's, and no thing's. */
static void check_overlap(struct check *c)
{
	struct map of = {0};
	for (size_t k = 0; k < c->n && !c->failed; k++) {
		const struct doc_statement *st = &c->d->st.v[c->st[k]];
		if (!st->id || st->kind <= DOC_agent || st->kind == DOC_wasInfluencedBy || st->kind >= DOC_alternateOf)
			continue;
		uint32_t had = map_get(&of, st->id);
		if (had == VEC_NONE)
			c->failed = !map_set(&of, st->id, c->st[k]);
		else if (c->d->st.v[had].kind != st->kind)
			report_pair(c, 53, had, c->st[k], st->id);
	}
	for (size_t k = 0; k < c->n; k++) {
		const struct doc_statement *st = &c->d->st.v[c->st[k]];
		uint32_t had = st->kind <= DOC_agent ? map_get(&of, st->id) : VEC_NONE;
		if (had != VEC_NONE)
			report_pair(c, 54, c->st[k], had, st->id);
	}
	map_release(&of);
}

static int compare_words(const void *pa, const void *pb)
{
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	return (a > b) - (a < b);
}

/* What is of two kinds that exclude each other, and what those kinds do not allow. */
static void check_types(struct check *c)
{
	type_names(c);
	if (c->n_marked)
		qsort(c->marked, c->n_marked, sizeof(*c->marked), compare_words);
	for (size_t i = 0; i < c->n_marked; i++) {
		const uint32_t w = c->marked[i];
		if ((c->is[w] & (IS_ENTITY | IS_ACTIVITY)) == (IS_ENTITY | IS_ACTIVITY))
			report_pair(c, 55, c->why[0][w], c->why[1][w], w);
	}
	for (size_t k = 0; k < c->n; k++) {
		const struct doc_statement *st = &c->d->st.v[c->st[k]];
		if (st->kind == DOC_wasDerivedFrom && !st->arg[2] && (st->arg[3] || st->arg[4]))
			check_report(c, 51, false, &c->st[k], 1, st->arg[0]);
		if (st->kind == DOC_hadMember && c->is[st->arg[0]] & IS_EMPTY)
			check_report(c, 56, false, &c->st[k], 1, st->arg[0]);
	}
	check_overlap(c);
}

/* ---- instances ---- */

/* The order of the document within a bundle. */
static int by_bundle(const void *pa, const void *pb, void *arg)
{
	const struct doc *d = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	if (d->st.v[a].bundle != d->st.v[b].bundle)
		return d->st.v[a].bundle < d->st.v[b].bundle ? -1 : 1;
	return (a > b) - (a < b);
}

long doc_check(const struct doc *d, void (*say)(void *arg, const struct violation *v), void *arg)
{
	size_t n = d->st.n, words = d->words.list.n;
	uint32_t *st = malloc((n + 1) * sizeof(*st));
	struct check c = {
	    .d = d, .say = say, .arg = arg, .is = calloc(words, 1), .marked = malloc(words * sizeof(*c.marked))};
	c.why[0] = malloc(words * sizeof(**c.why));
	c.why[1] = malloc(words * sizeof(**c.why));
	c.failed = !st || !c.is || !c.marked || !c.why[0] || !c.why[1];
	for (size_t i = 0; i < n && !c.failed; i++)
		st[i] = (uint32_t)i;
	if (!c.failed)
		qsort_r(st, n, sizeof(*st), by_bundle, (void *)d);
	for (size_t i = 0, k; i < n && !c.failed; i = k) {
		for (k = i; k < n && d->st.v[st[k]].bundle == d->st.v[st[i]].bundle;)
			k++;
		c.st = st + i;
		c.n = k - i;
		check_types(&c);
		check_unique(&c);
		check_order(&c);
		/* A document may have as many bundles as words: each goes through its own. */
		while (c.n_marked)
			c.is[c.marked[--c.n_marked]] = 0;
	}
	free(st);
	free(c.is);
	free(c.marked);
	free(c.why[0]);
	free(c.why[1]);
	return c.failed ? -ENOMEM : c.violations;
}

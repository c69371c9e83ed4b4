/* imported_provio.c - documents in PROV-IO's vocabulary: calls become those of the program that made them.
 *
 * There an activity is one kind of call on one object, and the program is an agent on whose behalf it was done. Here
 * the program is the execution, its calls are figures of its accesses, and the object is a file of the record, in the
 * file that it is a member of. An object changes in the course of such a document, unlike an entity of PROV's: what is
 * written and read of it has the time of the calls where all of them have one; where they do not, nothing says what
 * came first, and any write may have come before any read. */
#include "import/imported.h"

#include "base/hash.h"
#include "export/export.h"
#include "graph/graph.h"

#include <stdlib.h>

#define DEPTH 16 /* of members in members; an attribute of a dataset of a file is 2 */

enum provio_class imported_class(const struct imported *t, const struct doc_statement *st)
{
	enum provio_class c = PROVIO_none;
	for (uint32_t i = 0; t->provio && c == PROVIO_none && i < st->n_attr; i++) {
		const struct doc_attr *a = &t->d->attrs.v[st->first_attr + i];
		if (a->name == t->w_type)
			c = provio_class(doc_str(t->d, a->value));
	}
	return c;
}

/* Keeps the value that is there. False: no memory. */
static bool map_set_once(struct map *m, uint32_t key, uint32_t value)
{
	return map_get(m, key) != VEC_NONE || map_set(m, key, value);
}

/* The statement about an element of PROV-IO. NULL: the document has no such element. */
static const struct doc_statement *find_element(const struct imported *t, uint32_t word)
{
	uint32_t at = map_get(&t->io.thing, word);
	return at == VEC_NONE ? NULL : &t->d->st.v[at];
}

/* Finds the class of an element. Of an object or a program; a statement may have a million attributes, and a million
 * things name it. */
static enum provio_class find_element_class(const struct imported *t, uint32_t word)
{
	uint32_t c = map_get(&t->io.class, word);
	return c == VEC_NONE ? PROVIO_none : (enum provio_class)c;
}

/* By the word's class: whether it is a file or an object in one. */
static bool is_object(const struct imported *t, uint32_t word)
{
	return provio_is_object(find_element_class(t, word));
}

/* Takes the statement in as a thing of that class, by its name; a second of the same name is passed over. false: no
 * memory. */
static bool add_provio_element(struct imported *t, uint32_t at, enum provio_class c)
{
	const struct doc_statement *st = &t->d->st.v[at];
	struct imported_provio *p = &t->io;
	if (map_get(&p->thing, st->id) != VEC_NONE)
		return true;
	uint32_t label = imported_get(t, st, t->w_label);
	return map_set(&p->thing, st->id, at) && map_set(&p->class, st->id, (uint32_t)c) &&
	       map_set(&p->label, st->id, label ? label : st->id);
}

/* Takes the statement in as a call; api and direction stay unset where it does not say them. false: no memory. */
static bool add_io(struct imported *t, uint32_t at, enum provio_class c)
{
	const struct doc_statement *st = &t->d->st.v[at];
	struct imported_provio *p = &t->io;
	if (map_get(&p->io, st->id) != VEC_NONE)
		return true;
	struct imported_io *io = vec_add(&p->ios);
	if (!io || !map_set(&p->io, st->id, (uint32_t)(p->ios.n - 1)))
		return false;
	*io = (struct imported_io){.st = at, .class = c, .whose = st->id, .api = PROVIO_NO_API, .write = -1};
	io->version = imported_get(t, st, intern_find(&t->d->words, str_of(PROVIO_NS "made")));
	io->open = str_starts(doc_str(t->d, imported_get(t, st, t->w_label)), str_of("open")) ||
	           str_starts(doc_str(t->d, st->id), str_of("open"));
	struct str said = doc_str(t->d, imported_get(t, st, intern_find(&t->d->words, str_of(PROVIO_NS "api"))));
	for (unsigned i = 0; said.n && i <= TERM_ioapi_delete; i++)
		if (str_is(said, term_name(SET_ioapi, i)))
			io->api = (uint8_t)i;
	said = doc_str(t->d, imported_get(t, st, intern_find(&t->d->words, str_of(PROVIO_NS "direction"))));
	if (said.n)
		io->write = str_is(said, "write");
	return true;
}

/* Does the document use PROV-IO's words at all? */
static bool has_provio_words(const struct imported *t)
{
	for (size_t i = 0; i < t->d->words.list.n; i++)
		if (str_starts(doc_str(t->d, (uint32_t)i), str_of(PROVIO_NS)))
			return true;
	return false;
}

/* What a statement makes of its name. same: the word for the execution that an agent stands for. False: no memory. */
static bool take_provio_element(struct imported *t, uint32_t i, uint32_t same)
{
	const struct doc_statement *st = &t->d->st.v[i];
	if (st->kind > DOC_agent)
		return true;
	enum provio_class c = imported_class(t, st);
	if (st->kind == DOC_activity && provio_is_call(c))
		return add_io(t, i, c);
	if (st->kind == DOC_agent && c == PROVIO_Program) {
		uint32_t x = imported_get(t, st, same);
		return map_set_once(&t->io.program, st->id, x ? x : st->id) && add_provio_element(t, i, c);
	}
	if (st->kind == DOC_entity && provio_is_object(c))
		return add_provio_element(t, i, c);
	return true;
}

/* Whose call it is, and which object lies in which. False: no memory. */
static bool take_provio_relation(struct imported *t, const struct doc_statement *st)
{
	struct imported_provio *p = &t->io;
	uint32_t io = st->kind == DOC_wasAssociatedWith && st->arg[0] ? map_get(&p->io, st->arg[0]) : VEC_NONE;
	uint32_t program = io != VEC_NONE && st->arg[1] ? map_get(&p->program, st->arg[1]) : VEC_NONE;
	if (program != VEC_NONE)
		p->ios.v[io].whose = program;
	else if (st->kind == DOC_hadMember && is_object(t, st->arg[0]))
		return map_set_once(&p->outer, st->arg[1], st->arg[0]);
	else if (st->kind == DOC_specializationOf && is_object(t, st->arg[1]))
		return map_set_once(&p->whole, st->arg[0], st->arg[1]);
	return true;
}

/* What relations are about. */
static bool take_related_words(struct imported *t)
{
	bool ok = true;
	for (uint32_t i = 0; t->d->provio && ok && i < t->d->st.n; i++) {
		const struct doc_statement *st = &t->d->st.v[i];
		for (unsigned k = 0; st->kind > DOC_agent && ok && k < DOC_ARGS; k++)
			ok = !st->arg[k] || map_set(&t->io.related, st->arg[k], 1);
	}
	return ok;
}

bool imported_is_stray_call(const struct imported *t, const struct doc_statement *st)
{
	return t->d->provio && imported_class(t, st) == PROVIO_none && map_get(&t->io.related, st->id) == VEC_NONE;
}

/* What is what, before anything is made of it. 0, -ENOMEM with a sentence. */
int imported_provio(struct imported *t)
{
	uint32_t same = intern_find(&t->d->words, str_of(PROVIO_NS "execution"));
	bool ok = take_related_words(t);
	t->provio = has_provio_words(t);
	for (uint32_t i = 0; t->provio && ok && i < t->d->st.n; i++)
		ok = take_provio_element(t, i, same);
	for (uint32_t i = 0; t->provio && ok && i < t->d->st.n; i++)
		ok = take_provio_relation(t, &t->d->st.v[i]);
	return ok ? 0 : imported_oom(t);
}

/* What is known of calls is forgotten. */
void imported_provio_release(struct imported *t)
{
	map_release(&t->io.io);
	map_release(&t->io.program);
	map_release(&t->io.thing);
	map_release(&t->io.outer);
	map_release(&t->io.whole);
	map_release(&t->io.class);
	map_release(&t->io.label);
	map_release(&t->io.file);
	map_release(&t->io.related);
	table_release(&t->io.pairs);
	vec_release(&t->io.ios);
	vec_release(&t->io.calls);
}

/* ---- objects ---- */

/* The file that an object lies in, by its members of members; 0 none. */
static uint32_t outer_file(const struct imported *t, uint32_t word)
{
	for (unsigned depth = 0; depth < DEPTH; depth++) {
		uint32_t up = map_get(&t->io.outer, word);
		if (up == VEC_NONE)
			return 0;
		if (find_element_class(t, up) == PROVIO_File)
			return up;
		word = up;
	}
	return 0;
}

/* "" if it has none. */
static struct str element_label(const struct imported *t, const struct doc_statement *st)
{
	return doc_str(t->d, map_get(&t->io.label, st->id));
}

/* What stands behind the last of these. */
static struct str after_last_char(struct str s, char c)
{
	for (size_t i = s.n; i-- > 0;)
		if (s.p[i] == c)
			return str_n(s.p + i + 1, s.n - i - 1);
	return s;
}

/* What follows "//" in s, without slashes before it: the path of an object in its file. Without "//" all of s. */
static struct str path_inside_file(struct str s)
{
	const char *at = memmem(s.p, s.n, "//", 2);
	if (at)
		s = str_n(at + 2, s.n - (size_t)(at + 2 - s.p));
	while (s.n && s.p[0] == '/')
		s = str_n(s.p + 1, s.n - 1);
	return s;
}

/* FILE//PATH or FILE//PATH@NAME; its own name where it is in no file that is told of. */
static struct str format_object_path(struct imported *t, const struct doc_statement *st, enum provio_class c,
                                     uint32_t file)
{
	struct str own = element_label(t, st), at;
	const struct doc_statement *outer = file ? find_element(t, file) : NULL;
	struct buf b = {0};
	if (!outer || c == PROVIO_File || c == PROVIO_Directory)
		return own;
	at = element_label(t, outer);
	buf_printf(&b, "%.*s//", (int)at.n, at.p);
	uint32_t up = map_get(&t->io.outer, st->id);
	if (c == PROVIO_Attribute && !memchr(own.p, '@', own.n)) {
		const struct doc_statement *of = up != file ? find_element(t, up) : NULL;
		if (of)
			buf_str(&b, path_inside_file(element_label(t, of)));
		buf_char(&b, '@');
		own = after_last_char(own, '/');
	} else
		own = path_inside_file(own);
	buf_str(&b, own);
	char *kept = b.failed ? NULL : arena_take(&t->text, b.n + 1);
	struct str ret = {kept, b.n};
	if (kept)
		memcpy(kept, b.p, b.n);
	buf_release(&b);
	return ret;
}

/* The file of the record that an object is; VEC_NONE without memory. */
static uint32_t object_file(struct imported *t, uint32_t word)
{
	static const unsigned kinds[PROVIO_CLASSES] = {
	    [PROVIO_Directory] = TERM_kind_directory, [PROVIO_File] = TERM_kind_regular,
	    [PROVIO_Group] = TERM_kind_group,         [PROVIO_Dataset] = TERM_kind_dataset,
	    [PROVIO_Attribute] = TERM_kind_attribute, [PROVIO_Datatype] = TERM_kind_datatype,
	    [PROVIO_Link] = TERM_kind_symlink};
	const struct doc_statement *st = find_element(t, word);
	enum provio_class c = find_element_class(t, word);
	uint32_t known = map_get(&t->io.file, word);
	if (known != VEC_NONE)
		return known;
	uint32_t file = c == PROVIO_File || c == PROVIO_Directory ? 0 : outer_file(t, word);
	struct imported_file f = {.domain = str_of(FOREIGN_DOMAIN),
	                          .path = format_object_path(t, st, c, file),
	                          .gen = hash_str(doc_str(t->d, word)),
	                          .kind = c == PROVIO_Link && file ? TERM_kind_softlink : kinds[c],
	                          .within = VEC_NONE};
	t->foreign = true;
	if (!f.path.p)
		return VEC_NONE;
	if (file && (f.within = map_get(&t->file_of, file)) == VEC_NONE &&
	    (f.within = object_file(t, file)) == VEC_NONE) /* once: a file lies in none */
		return VEC_NONE;
	known = imported_find_file(t, &f);
	return known == VEC_NONE || map_set(&t->io.file, word, known) ? known : VEC_NONE;
}

int imported_take_object(struct imported *t, uint32_t word, uint32_t of)
{
	uint32_t file = map_get(&t->file_of, of), version = file == VEC_NONE ? map_get(&t->version, of) : VEC_NONE;
	if (file == VEC_NONE)
		file = version != VEC_NONE ? t->versions.v[version].file : object_file(t, of);
	if (file == VEC_NONE)
		return imported_oom(t);
	struct imported_version *v = vec_add(&t->versions);
	if (!v || !map_set(&t->version, word, (uint32_t)(t->versions.n - 1)))
		return imported_oom(t);
	*v = (struct imported_version){
	    .word = word, .file = file, .changes = true, .mtime = TIME_NONE, .start = TIME_NONE, .end = TIME_NONE};
	return 0;
}

/* ---- calls ---- */

/* Microseconds where it is a bare text, as PROV-IO's tool writes it; else a decimal number of seconds. */
static uint64_t time_spent(struct str s, bool typed)
{
	char text[40];
	if (!s.n || s.n >= sizeof(text))
		return 0;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	double v = strtod(text, NULL) * (typed || strchr(text, '.') ? 1e9 : 1e3);
	return v > 0 && v < 9e18 ? (uint64_t)(v + 0.5) : 0;
}

/* The property as a number in decimal; `none` where it is missing, no number, or too large. */
static uint64_t read_count_property(const struct imported *t, const struct doc_statement *st, const char *name,
                                    uint64_t none)
{
	uint32_t w = intern_find(&t->d->words, str_of(name));
	struct str s = doc_str(t->d, imported_get(t, st, w));
	uint64_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(n, (uint64_t)10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(s.p[i] - '0'), &n))
			return none;
	return s.n ? n : none;
}

/* Reads sizes. Up to ten figures between blanks, into c->size; ends at the first character that is none. */
static void sizes_of(const struct imported *t, const struct doc_statement *st, struct imported_call *c)
{
	uint32_t w = intern_find(&t->d->words, str_of(PROVIO_NS "sizes"));
	struct str s = doc_str(t->d, imported_get(t, st, w));
	unsigned k = 0;
	for (size_t i = 0; i < s.n && k < 10; i++) {
		if (s.p[i] == ' ')
			k++;
		else if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(c->size[k], (uint64_t)10, &c->size[k]) ||
		         __builtin_add_overflow(c->size[k], (uint64_t)(s.p[i] - '0'), &c->size[k]))
			break;
	}
}

/* Fills in how long a call took, and when it ended where only its begin is told. */
static void spent_of(const struct imported *t, const struct doc_statement *st, struct imported_call *c)
{
	uint32_t w = intern_find(&t->d->words, str_of(PROVIO_NS "elapsed"));
	for (uint32_t i = 0; w != VEC_NONE && i < st->n_attr; i++) {
		const struct doc_attr *a = &t->d->attrs.v[st->first_attr + i];
		if (a->name == w)
			c->spent = time_spent(doc_str(t->d, a->value), a->type != 0);
	}
	if (c->first != TIME_NONE && c->last == TIME_NONE && __builtin_add_overflow(c->first, (int64_t)c->spent, &c->last))
		c->last = c->first;
}

/* Which calls these were: what the document says, else by what was called on what. */
static void api_of(const struct imported *t, const struct imported_io *io, struct imported_call *c)
{
	unsigned kind = t->files.v[c->file].kind;
	enum provio_class class = io->class;
	c->write = io->write >= 0 ? io->write : class == PROVIO_Write || class == PROVIO_Create || class == PROVIO_Rename;
	c->api = io->api != PROVIO_NO_API      ? io->api
	         : class == PROVIO_Create      ? TERM_ioapi_create
	         : class == PROVIO_Open        ? TERM_ioapi_h5open
	         : class == PROVIO_Fsync       ? TERM_ioapi_flush
	         : class == PROVIO_Rename      ? TERM_ioapi_rename
	         : kind == TERM_kind_attribute ? TERM_ioapi_attr
	         : gkind_is_object(kind)       ? TERM_ioapi_data
	                                       : TERM_ioapi_read;
}

/* The index of the access of that activity, version and direction, made if it is new. VEC_NONE: no memory. */
static uint32_t find_or_add_access(struct imported *t, uint32_t activity, uint32_t version, bool write, uint32_t at)
{
	uint32_t i, hash = doc_hash(activity, version, write);
	for (size_t pos = TABLE_START; (i = table_next(&t->io.pairs, hash, &pos)) != VEC_NONE;) {
		const struct imported_access *a = &t->accesses.v[i];
		if (a->activity == activity && a->version == version && a->write == write)
			return i;
	}
	if (!imported_add_access(t, activity, version, write, at) ||
	    !table_add(&t->io.pairs, hash, (uint32_t)(t->accesses.n - 1)))
		return VEC_NONE;
	return (uint32_t)(t->accesses.n - 1);
}

/* The activity of that word, made as a foreign one with its label where it is none yet. VEC_NONE: no memory. */
static uint32_t find_program_activity(struct imported *t, uint32_t word)
{
	uint32_t i = map_get(&t->activity, word);
	const struct doc_statement *st = i == VEC_NONE ? find_element(t, word) : NULL;
	if (i != VEC_NONE)
		return i;
	i = imported_foreign(t, word, doc_str(t->d, word));
	if (i != VEC_NONE && st)
		t->activities.v[i].name = element_label(t, st);
	return i;
}

int imported_take_used(struct imported *t, uint32_t at, struct imported_io *io, uint32_t entity, bool write)
{
	uint32_t activity = find_program_activity(t, io->whose), version;
	io->version = io->version ? io->version : entity;
	if (activity == VEC_NONE)
		return imported_oom(t);
	if (t->activities.v[activity].own)
		return 0; /* the document says it of the execution, too */
	int rc = imported_find_version(t, entity, &version);
	if (rc < 0 || version == VEC_NONE)
		return t->passed += rc == 0, rc;
	uint32_t i = find_or_add_access(t, activity, version, write, at);
	if (i == VEC_NONE)
		return imported_oom(t);
	int64_t first = t->d->st.v[io->st].start;
	t->versions.v[version].untimed |= first == TIME_NONE;
	if (first != TIME_NONE && (t->accesses.v[i].lo == TIME_NONE || first < t->accesses.v[i].lo))
		t->accesses.v[i].lo = first;
	return 0;
}

/* NULL: the word is no call. */
struct imported_io *imported_io(struct imported *t, uint32_t word)
{
	uint32_t i = t->provio && word ? map_get(&t->io.io, word) : VEC_NONE;
	return i == VEC_NONE ? NULL : &t->io.ios.v[i];
}

/* The figures of a call, once. */
static void take_figures(struct imported *t, struct imported_io *io, struct imported_call *c)
{
	const struct doc_statement *st = &t->d->st.v[io->st];
	if (!io->counted) {
		c->calls = read_count_property(t, st, PROVIO_NS "count", 1);
		c->failed = read_count_property(t, st, PROVIO_NS "failed", 0);
		c->bytes = read_count_property(t, st, PROVIO_NS "bytes", 0);
		c->largest = read_count_property(t, st, PROVIO_NS "largest", 0);
		sizes_of(t, st, c);
		spent_of(t, st, c);
	}
	io->counted = true;
}

/* open(2) is a Create there, also where it was to read; what it made of a file the writes say. */
static bool writes_file(const struct imported *t, const struct imported_io *io, uint32_t file)
{
	return io->class == PROVIO_Write ||
	       (io->class == PROVIO_Create && !(io->open && t->files.v[file].kind == TERM_kind_regular));
}

/* The access that the call is one of, from `first` to `last` at least. Made if it is new; its times only widen.
 * -ENOMEM, reported. */
static int extend_access(struct imported *t, uint32_t at, uint32_t activity, uint32_t version, bool write,
                         int64_t first, int64_t last)
{
	uint32_t i = find_or_add_access(t, activity, version, write, at);
	if (i == VEC_NONE)
		return imported_oom(t);
	struct imported_access *a = &t->accesses.v[i];
	bool object = gkind_is_object(t->files.v[t->versions.v[version].file].kind);
	a->api = object ? TERM_api_hdf5 : TERM_api_other;
	t->versions.v[version].untimed |= first == TIME_NONE;
	if (first != TIME_NONE && (a->lo == TIME_NONE || first < a->lo))
		a->lo = first;
	if (last != TIME_NONE && (a->last == TIME_NONE || last > a->last))
		a->last = last;
	return 0;
}

/* One object by one kind of call of one program. 0 also where it is passed over. A call of another tool widens the
 * access that it is one of, too. */
static int take_call(struct imported *t, uint32_t at, struct imported_io *io)
{
	const struct doc_statement *st = &t->d->st.v[io->st], *of = &t->d->st.v[at];
	uint32_t activity = find_program_activity(t, io->whose),
	         version = io->version ? map_get(&t->version, io->version) : VEC_NONE;
	if (activity != VEC_NONE && t->activities.v[activity].own && io->api == PROVIO_NO_API)
		return 0; /* stemma's own: nobody counted its calls */
	if (version == VEC_NONE)
		version = map_get(&t->version, of->id);
	uint32_t file = version == VEC_NONE ? map_get(&t->file_of, of->id) : t->versions.v[version].file;
	if (activity != VEC_NONE && file == VEC_NONE)
		return t->passed++, 0;
	struct imported_call *c = activity == VEC_NONE ? NULL : vec_add(&t->io.calls);
	if (!c)
		return imported_oom(t);
	*c = (struct imported_call){
	    .activity = activity, .file = file, .version = version, .first = st->start, .last = st->end, .next = VEC_NONE};
	api_of(t, io, c);
	take_figures(t, io, c);
	bool write = writes_file(t, io, file), foreign = !t->activities.v[activity].own;
	if (foreign && version != VEC_NONE && imported_regular(t, version) && (write || io->class == PROVIO_Read))
		return extend_access(t, at, activity, version, write, c->first, c->last);
	return 0;
}

int imported_take_calls(struct imported *t)
{
	int rc = 0;
	for (uint32_t i = 0; t->provio && rc == 0 && i < t->d->st.n; i++) {
		const struct doc_statement *st = &t->d->st.v[i];
		for (uint32_t k = 0; st->kind == DOC_entity && rc == 0 && k < st->n_attr; k++) {
			const struct doc_attr *a = &t->d->attrs.v[st->first_attr + k];
			if (provio_relation(doc_str(t->d, a->name)) == PROVIO_none)
				continue;
			struct imported_io *io = imported_io(t, a->value);
			if (!io)
				t->passed++;
			else if (map_get(&t->forgotten, io->whose) != VEC_NONE)
				t->left_out++;
			else
				rc = take_call(t, i, io);
		}
	}
	return rc;
}

/* What of a changing object is told without times may have been at any time since: it has no end. */
void imported_open_ends(struct imported *t)
{
	for (size_t i = 0; t->provio && i < t->accesses.n; i++) {
		struct imported_access *a = &t->accesses.v[i];
		const struct imported_version *v = &t->versions.v[a->version];
		struct imported_activity *x = &t->activities.v[a->activity];
		if (!a->foreign || !v->changes)
			continue;
		if (v->untimed)
			a->hi = x->end = TIME_NONE;
		else if (a->last > a->hi) {
			a->hi = a->last;
			x->end = x->end != TIME_NONE && x->end < a->hi ? a->hi : x->end;
		}
	}
}

/* ---- figures to their accesses ---- */

/* UINT64_MAX where the sum is too large. */
static void add_saturating(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

/* Joins a call to the list; what is there of the same kind takes it up: a log has one row of each. */
static void merge_call(struct imported *t, uint32_t *list, uint32_t call)
{
	struct imported_call *c = &t->io.calls.v[call];
	for (uint32_t i = *list; i != VEC_NONE; i = t->io.calls.v[i].next) {
		struct imported_call *b = &t->io.calls.v[i];
		if (b->file != c->file)
			break; /* calls come file by file */
		if (b->api != c->api || b->write != c->write)
			continue;
		add_saturating(&b->calls, c->calls);
		add_saturating(&b->failed, c->failed);
		add_saturating(&b->bytes, c->bytes);
		add_saturating(&b->spent, c->spent);
		for (unsigned k = 0; k < 10; k++)
			add_saturating(&b->size[k], c->size[k]);
		b->largest = c->largest > b->largest ? c->largest : b->largest;
		b->first = c->first != TIME_NONE && (b->first == TIME_NONE || c->first < b->first) ? c->first : b->first;
		b->last = c->last != TIME_NONE && (b->last == TIME_NONE || c->last > b->last) ? c->last : b->last;
		return;
	}
	c->next = *list;
	*list = call;
}

/* Compares two calls by activity, file and kind of call. */
static int call_cmp(const void *pa, const void *pb)
{
	const struct imported_call *a = pa, *b = pb;
	if (a->activity != b->activity)
		return a->activity < b->activity ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->api > b->api) - (a->api < b->api);
}

/* The access of this version and direction, else one of the file by the same execution; VEC_NONE: it moved nothing that
 * is told of. */
static uint32_t find_call_access(const struct imported *t, const struct table *exact, const struct table *by,
                                 const struct imported_call *c)
{
	uint32_t i, best = VEC_NONE;
	for (size_t pos = TABLE_START;
	     (i = table_next(exact, doc_hash(c->activity, c->version, c->write), &pos)) != VEC_NONE;) {
		const struct imported_access *a = &t->accesses.v[i];
		if (a->activity == c->activity && a->version == c->version && a->write == c->write)
			return i;
	}
	unsigned tries = 0;
	for (size_t pos = TABLE_START;
	     tries < 16 && (i = table_next(by, doc_hash(c->activity, c->file, 11), &pos)) != VEC_NONE; tries++) {
		const struct imported_access *a = &t->accesses.v[i];
		if (a->activity != c->activity || t->versions.v[a->version].file != c->file)
			continue;
		if (a->write == c->write)
			return i;
		best = i;
	}
	return best;
}

int imported_attach_calls(struct imported *t)
{
	struct table exact = {0}, by = {0};
	bool ok = true;
	if (t->io.calls.n)
		qsort(t->io.calls.v, t->io.calls.n, sizeof(*t->io.calls.v), call_cmp);
	for (uint32_t i = 0; t->provio && ok && i < t->accesses.n; i++) {
		const struct imported_access *a = &t->accesses.v[i];
		if (!a->dropped)
			ok = table_add(&exact, doc_hash(a->activity, a->version, a->write), i) &&
			     table_add(&by, doc_hash(a->activity, t->versions.v[a->version].file, 11), i);
	}
	for (uint32_t i = 0; ok && i < t->io.calls.n; i++) {
		struct imported_call *c = &t->io.calls.v[i];
		uint32_t a = find_call_access(t, &exact, &by, c);
		c->next = VEC_NONE;
		/* Others stand with the first of their execution and file: a log has one access for all of them. */
		merge_call(t, a == VEC_NONE ? &t->activities.v[c->activity].calls : &t->accesses.v[a].calls, i);
	}
	table_release(&exact);
	table_release(&by);
	return ok ? 0 : imported_oom(t);
}

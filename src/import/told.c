/* told.c - from statements to executions, files, versions and accesses. */
#include "import/told.h"

#include "base/hash.h"
#include "export/export.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#define FOREIGN_BOOT "prov"
#define FOREIGN_DOMAIN "prov:"

int told_oom(struct told *t)
{
	return err_set(t->err, ENOMEM, "%s: cannot import", t->name);
}

struct str told_ulid(struct str name)
{
	struct str before = str_of(STEMMA_ID "r");
	return str_starts(name, before) ? str_n(name.p + before.n, name.n - before.n) : str_of("");
}

int told_wrong(struct told *t, const struct doc_statement *st, const char *what)
{
	struct buf place = {0};
	doc_place(t->d, st, &place);
	err_set(t->err, 0, "%s: %.200s: %s", t->name, buf_cstr(&place), what);
	buf_release(&place);
	return -EBADMSG;
}

/* ---- attributes ---- */

static uint32_t get(const struct told *t, const struct doc_statement *st, uint32_t name)
{
	for (uint32_t i = 0; name != VEC_NONE && i < st->n_attr; i++)
		if (t->d->attrs.v[st->first_attr + i].name == name)
			return t->d->attrs.v[st->first_attr + i].value;
	return 0;
}

static int base64_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;
	return p ? (int)(p - digits) : -1;
}

/* What base64 stands for, kept by t; NULL p where it is none. */
static struct str unbase64(struct told *t, struct str s)
{
	char *out = arena_take(&t->text, s.n + 1);
	size_t n = 0;
	unsigned bits = 0, have = 0;
	while (s.n && s.p[s.n - 1] == '=')
		s.n--;
	for (size_t i = 0; out && i < s.n; i++) {
		int d = base64_digit(s.p[i]);
		if (d < 0)
			return (struct str){NULL, 0};
		bits = bits << 6 | (unsigned)d;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (char)(bits >> have);
		}
	}
	return (struct str){out, n};
}

struct str told_text(struct told *t, const struct doc_statement *st, enum prov_attr attr)
{
	uint32_t exact = get(t, st, t->base64[attr]);
	struct str s = exact ? unbase64(t, doc_str(t->d, exact)) : (struct str){NULL, 0};
	return s.p ? s : doc_str(t->d, get(t, st, t->attr[attr]));
}

bool told_count(const struct told *t, const struct doc_statement *st, enum prov_attr attr, uint64_t *ret)
{
	uint32_t w = get(t, st, t->attr[attr]);
	struct str s = doc_str(t->d, w);
	uint64_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(n, (uint64_t)10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(s.p[i] - '0'), &n))
			return false;
	if (s.n)
		*ret = n;
	return s.n != 0;
}

bool told_time(const struct told *t, const struct doc_statement *st, enum prov_attr attr, int64_t *ret)
{
	uint32_t w = get(t, st, t->attr[attr]);
	return w && doc_time(doc_str(t->d, w), ret);
}

long told_list(struct told *t, const struct doc_statement *st, enum prov_attr attr, struct buf *ret)
{
	uint32_t exact = get(t, st, t->base64[attr]), w = exact ? exact : get(t, st, t->attr[attr]);
	struct str s = doc_str(t->d, w);
	json_error_t why;
	if (!w)
		return 0;
	json_t *list = json_loadb(s.p, s.n, JSON_DECODE_ANY, &why);
	long n = json_is_array(list) ? (long)json_array_size(list) : -1;
	for (long i = 0; i < n; i++) {
		json_t *v = json_array_get(list, (size_t)i);
		struct str item = {json_string_value(v), json_string_length(v)};
		if (item.p && exact)
			item = unbase64(t, item);
		if (!item.p) {
			n = -1;
			break;
		}
		buf_varint(ret, item.n);
		buf_str(ret, item);
	}
	json_decref(list);
	return n < 0 ? told_wrong(t, st, "a list that is no JSON array of strings") : n;
}

static bool has_type(const struct told *t, const struct doc_statement *st, const char *type)
{
	uint32_t w = words_find(&t->d->words, str_of(type));
	for (uint32_t i = 0; w != VEC_NONE && i < st->n_attr; i++) {
		const struct doc_attr *a = &t->d->attrs.v[st->first_attr + i];
		if (a->name == t->w_type && a->value == w)
			return true;
	}
	return false;
}

static unsigned term_of(enum term_set set, struct str name, unsigned last, unsigned none)
{
	for (unsigned i = 0; name.n && i <= last; i++)
		if (str_is(name, term_name(set, i)))
			return i;
	return none;
}

/* ---- things ---- */

static uint32_t find_process(struct told *t, struct str boot, uint64_t pidns, uint64_t pid, int64_t started)
{
	uint32_t i, hash = doc_hash(hash_mix(hash_str(boot), pidns), pid, (uint64_t)started);
	for (size_t pos = TABLE_START; (i = table_next(&t->process_table, hash, &pos)) != VEC_NONE;) {
		const struct told_process *p = &t->processes.v[i];
		if (p->pid == pid && p->pidns == pidns && p->started == started && str_eq(p->boot, boot))
			return i;
	}
	struct told_process *p = vec_add(&t->processes);
	if (!p || !table_add(&t->process_table, hash, (uint32_t)(t->processes.n - 1)))
		return VEC_NONE;
	*p = (struct told_process){.boot = boot,
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
static uint32_t add_activity(struct told *t, uint32_t word, uint32_t process, uint64_t n)
{
	struct told_activity *a = process == VEC_NONE ? NULL : vec_add(&t->activities);
	uint32_t i = (uint32_t)(t->activities.n - 1);
	if (!a || (word && !map_set(&t->activity, word, i)))
		return VEC_NONE;
	*a = (struct told_activity){.word = word,
	                            .st = VEC_NONE,
	                            .process = process,
	                            .n = n,
	                            .start = TIME_NONE,
	                            .end = TIME_NONE,
	                            .first = VEC_NONE,
	                            .last = VEC_NONE};
	uint32_t *at = &t->processes.v[process].first;
	while (*at != VEC_NONE && t->activities.v[*at].n < n)
		at = &t->activities.v[*at].next;
	a->next = *at;
	*at = i;
	return i;
}

static uint32_t foreign_activity(struct told *t, uint32_t word, struct str iri)
{
	uint64_t h = hash_str(iri);
	t->foreign = true;
	uint32_t i = add_activity(t, word, find_process(t, str_of(FOREIGN_BOOT), h >> 32, h & 0x7fffffff, 0), 1);
	if (i != VEC_NONE)
		t->activities.v[i].name = iri;
	return i;
}

static uint32_t activity_of(struct told *t, uint32_t word)
{
	uint32_t i = map_get(&t->activity, word);
	return i != VEC_NONE ? i : foreign_activity(t, word, doc_str(t->d, word));
}

static uint32_t find_file(struct told *t, const struct told_file *like)
{
	bool absent = like->kind == TERM_kind_absent;
	uint32_t i,
	    h = absent ? doc_hash(hash_str(like->path), 0, 0) : doc_hash(hash_str(like->domain), like->ino, like->gen);
	for (size_t pos = TABLE_START; (i = table_next(&t->file_table, h, &pos)) != VEC_NONE;) {
		struct told_file *f = &t->files.v[i];
		if ((f->kind == TERM_kind_absent) != absent)
			continue;
		if (absent ? str_eq(f->path, like->path)
		           : f->ino == like->ino && f->gen == like->gen && str_eq(f->domain, like->domain)) {
			f->network |= like->network;
			return i;
		}
	}
	struct told_file *f = vec_add(&t->files);
	if (!f || !table_add(&t->file_table, h, (uint32_t)(t->files.n - 1)))
		return VEC_NONE;
	*f = *like;
	f->seen = TIME_NONE;
	return (uint32_t)(t->files.n - 1);
}

static uint32_t add_version(struct told *t, uint32_t word, uint32_t file)
{
	struct told_version *v = file == VEC_NONE ? NULL : vec_add(&t->versions);
	if (!v || !map_set(&t->version, word, (uint32_t)(t->versions.n - 1)))
		return VEC_NONE;
	*v = (struct told_version){.word = word, .file = file, .mtime = TIME_NONE, .start = TIME_NONE, .end = TIME_NONE};
	return (uint32_t)(t->versions.n - 1);
}

static uint32_t foreign_version(struct told *t, uint32_t word, struct str path)
{
	struct str iri = doc_str(t->d, word);
	t->foreign = true;
	return add_version(t, word,
	                   find_file(t, &(struct told_file){.domain = str_of(FOREIGN_DOMAIN),
	                                                    .path = path.n ? path : iri,
	                                                    .gen = hash_str(iri),
	                                                    .kind = TERM_kind_regular}));
}

static uint32_t version_of(struct told *t, uint32_t word)
{
	uint32_t i = map_get(&t->version, word);
	return i != VEC_NONE ? i : foreign_version(t, word, str_of(""));
}

/* ---- stemma's own things, by their attributes ---- */

/* The file that a File, Version or Stream is of; *ret VEC_NONE where its attributes do not say. */
static int own_file(struct told *t, const struct doc_statement *st, uint32_t *ret)
{
	struct told_file f = {.kind = term_of(SET_kind, told_text(t, st, ATTR_fileKind), TERM_kind_symlink, 0)};
	uint64_t network = 0;
	*ret = VEC_NONE;
	f.path = told_text(t, st, ATTR_path);
	if (!f.kind)
		return 0;
	if (f.kind != TERM_kind_absent) {
		f.domain = told_text(t, st, ATTR_domain);
		if (!told_count(t, st, ATTR_inode, &f.ino) || !told_count(t, st, ATTR_generation, &f.gen))
			return 0;
		struct str flag = doc_str(t->d, get(t, st, t->attr[ATTR_network]));
		f.network = str_is(flag, "true") || (told_count(t, st, ATTR_network, &network) && network);
	}
	*ret = find_file(t, &f);
	return *ret == VEC_NONE ? told_oom(t) : 0;
}

static bool hex16(struct str s, uint64_t *ret)
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

/* "0123456789abcdef.17", or "#..." of what nobody was seen to write. */
static bool own_ident(struct told_version *v, struct str s)
{
	if (s.n && s.p[0] == '#')
		return true;
	if (s.n < 18 || s.p[16] != '.' || !hex16(s, &v->session))
		return false;
	v->seq = 0;
	for (size_t i = 17; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v->seq, (uint64_t)10, &v->seq) ||
		    __builtin_add_overflow(v->seq, (uint64_t)(s.p[i] - '0'), &v->seq))
			return false;
	v->by_event = v->session != 0;
	return v->by_event;
}

static int take_entity(struct told *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t file, i;
	uint64_t part;
	bool version = has_type(t, st, STEMMA_NS "Version") || has_type(t, st, STEMMA_NS "Stream");
	if (map_get(&t->version, st->id) != VEC_NONE || map_get(&t->file_of, st->id) != VEC_NONE)
		return 0;
	if (version || has_type(t, st, STEMMA_NS "File")) {
		int rc = own_file(t, st, &file);
		if (rc < 0)
			return rc;
		if (file == VEC_NONE)
			return told_wrong(t, st, "a file of stemma's without its identity (fileKind, domain, inode, generation)");
		if (!version)
			return map_set(&t->file_of, st->id, file) ? 0 : told_oom(t);
		if (told_count(t, st, ATTR_part, &part))
			return 0; /* of a chain: what it is the last one says */
		struct told_version v = {.own = true, .mtime = TIME_NONE, .start = TIME_NONE, .end = TIME_NONE};
		if (!own_ident(&v, told_text(t, st, ATTR_ident)))
			return told_wrong(t, st, "a version of stemma's without its identity (ident)");
		v.unseen_size = told_count(t, st, ATTR_size, &v.size);
		told_time(t, st, ATTR_mtime, &v.mtime);
		told_time(t, st, ATTR_writeBegan, &v.start);
		told_time(t, st, ATTR_writeEnded, &v.end);
		if ((i = add_version(t, st->id, file)) == VEC_NONE)
			return told_oom(t);
		v.word = st->id;
		v.file = file;
		t->versions.v[i] = v;
		return 0;
	}
	struct str path = told_text(t, st, ATTR_path), label = doc_str(t->d, get(t, st, t->w_label));
	struct str location = doc_str(t->d, get(t, st, t->w_location));
	i = foreign_version(t, st->id, path.n ? path : location.n ? location : label);
	return i == VEC_NONE ? told_oom(t) : 0;
}

/* The agent p... is what a program, the file f..., did: where the file is no entity of the document it says which one
 * it is. */
static int take_program(struct told *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	struct str id = doc_str(t->d, st->id), before = str_of(STEMMA_ID "p");
	struct buf name = {0};
	uint32_t file = VEC_NONE;
	if (!has_type(t, st, STEMMA_NS "Program") || !str_starts(id, before))
		return 0;
	int rc = own_file(t, st, &file);
	buf_printf(&name, STEMMA_ID "f%.*s", (int)(id.n - before.n), id.p + before.n);
	uint32_t word = words_find(&t->d->words, buf_view(&name));
	if (rc == 0 && file != VEC_NONE && word != VEC_NONE && map_get(&t->file_of, word) == VEC_NONE &&
	    !map_set(&t->file_of, word, file))
		rc = told_oom(t);
	buf_release(&name);
	return rc;
}

static int take_activity(struct told *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t i = map_get(&t->activity, st->id);
	if (map_get(&t->run, st->id) != VEC_NONE)
		return 0;
	bool run = has_type(t, st, STEMMA_NS "Run");
	struct str ulid = told_ulid(run ? doc_str(t->d, st->id) : told_text(t, st, ATTR_run));
	if (forgotten_run(t->gone, ulid) && (run || has_type(t, st, STEMMA_NS "Execution"))) {
		t->left_out++;
		return map_set(&t->forgotten, st->id, 1) ? 0 : told_oom(t);
	}
	if (run) {
		struct told_run *r = ulid.n ? vec_add(&t->runs) : NULL;
		if (!r)
			return told_wrong(t, st, "a run of stemma's whose name is none");
		*r = (struct told_run){.st = at, .ulid = ulid};
		return map_set(&t->run, st->id, (uint32_t)(t->runs.n - 1)) ? 0 : told_oom(t);
	}
	if (i == VEC_NONE && has_type(t, st, STEMMA_NS "Execution")) {
		uint64_t pidns, pid, n;
		int64_t started = TIME_NONE;
		told_time(t, st, ATTR_processStarted, &started);
		if (!told_count(t, st, ATTR_pidNamespace, &pidns) || !told_count(t, st, ATTR_pid, &pid) ||
		    !told_count(t, st, ATTR_execution, &n))
			return told_wrong(t, st, "an execution of stemma's without its identity (pidNamespace, pid, execution)");
		i = add_activity(t, st->id, find_process(t, told_text(t, st, ATTR_boot), pidns, pid, started), n);
		if (i != VEC_NONE)
			t->activities.v[i].own = true;
	} else if (i == VEC_NONE) {
		struct str label = doc_str(t->d, get(t, st, t->w_label));
		i = foreign_activity(t, st->id, doc_str(t->d, st->id));
		if (i != VEC_NONE && label.n)
			t->activities.v[i].name = label;
	}
	if (i == VEC_NONE)
		return told_oom(t);
	struct told_activity *a = &t->activities.v[i];
	a->st = a->st == VEC_NONE ? at : a->st;
	a->start = a->start == TIME_NONE ? st->start : a->start;
	a->end = a->end == TIME_NONE ? st->end : a->end;
	return 0;
}

/* ---- relations ---- */

/* The version that a name stands for; a write of a chain is of the version without its number. VEC_NONE: it is none. */
static int find_version(struct told *t, uint32_t word, uint32_t *ret)
{
	struct str s = doc_str(t->d, word);
	*ret = map_get(&t->version, word);
	if (*ret != VEC_NONE || map_get(&t->file_of, word) != VEC_NONE)
		return 0;
	if (str_starts(s, str_of(STEMMA_ID "v"))) {
		size_t n = s.n;
		while (n && s.p[n - 1] != '.')
			n--;
		uint32_t whole = n ? words_find(&t->d->words, str_n(s.p, n - 1)) : VEC_NONE;
		*ret = whole == VEC_NONE ? VEC_NONE : map_get(&t->version, whole);
		if (*ret != VEC_NONE)
			return 0;
	}
	*ret = version_of(t, word);
	return *ret == VEC_NONE ? told_oom(t) : 0;
}

static struct told_access *add_access(struct told *t, uint32_t activity, uint32_t version, bool write, uint32_t st)
{
	struct told_access *a = vec_add(&t->accesses);
	if (!a)
		return NULL;
	*a = (struct told_access){.activity = activity,
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
	                          .state = VEC_NONE};
	struct told_activity *x = &t->activities.v[activity];
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

static int take_access(struct told *t, uint32_t at, bool write)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t aw = st->arg[write], ew = st->arg[!write], version;
	if (!aw || !ew || map_get(&t->run, aw) != VEC_NONE) {
		t->passed++;
		return 0;
	}
	int rc = find_version(t, ew, &version);
	uint32_t activity = rc == 0 && version != VEC_NONE ? activity_of(t, aw) : VEC_NONE;
	if (rc == 0 && version == VEC_NONE)
		t->passed++; /* of a file, not of what was in it at some time */
	if (rc < 0 || version == VEC_NONE)
		return rc;
	struct told_access *a = activity == VEC_NONE ? NULL : add_access(t, activity, version, write, at);
	if (!a)
		return told_oom(t);
	uint64_t mode;
	if (told_time(t, st, ATTR_from, &a->lo) && t->activities.v[activity].own && t->versions.v[version].own) {
		a->foreign = false;
		told_time(t, st, ATTR_until, &a->hi);
		if (a->hi != TIME_NONE && a->hi < a->lo)
			return told_wrong(t, st, "it ended before it began");
		a->must = !str_is(told_text(t, st, ATTR_certainty), "may");
		a->via = (uint8_t)term_of(SET_via, told_text(t, st, ATTR_via), TERM_via_sync, TERM_via_data);
		/* A cache's or a lock's is found by its name, again. */
		if (t->files.v[t->versions.v[version].file].kind == TERM_kind_regular &&
		    (a->via == TERM_via_cache || a->via == TERM_via_sync))
			a->via = TERM_via_data;
		a->api = (uint8_t)term_of(SET_api, told_text(t, st, ATTR_api), TERM_api_uring, TERM_api_other);
		if (told_count(t, st, ATTR_accessMode, &mode))
			a->mode = (uint16_t)(mode & 0xff);
		told_count(t, st, ATTR_count, &a->count);
		a->has_bytes = told_count(t, st, ATTR_bytes, &a->bytes);
	} else
		a->lo = a->hi = st->start;
	return 0;
}

static int take_informed(struct told *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	if (map_get(&t->run, st->arg[0]) != VEC_NONE || map_get(&t->run, st->arg[1]) != VEC_NONE) {
		t->passed++;
		return 0;
	}
	uint32_t x = activity_of(t, st->arg[0]), y = activity_of(t, st->arg[1]);
	if (x == VEC_NONE || y == VEC_NONE)
		return told_oom(t);
	const struct told_activity *a = &t->activities.v[x], *b = &t->activities.v[y];
	if (!a->own || !b->own) {
		/* Something went from one to the other: a stream of their own. */
		struct buf name = {0};
		struct str from = doc_str(t->d, st->arg[1]), to = doc_str(t->d, st->arg[0]);
		buf_printf(&name, "%.*s -> %.*s", (int)from.n, from.p, (int)to.n, to.p);
		uint64_t h = hash_str(buf_view(&name));
		buf_release(&name);
		uint32_t file =
		    find_file(t, &(struct told_file){.domain = str_of(FOREIGN_DOMAIN), .gen = h, .kind = TERM_kind_pipe});
		struct told_version *v = file == VEC_NONE ? NULL : vec_add(&t->versions);
		if (!v)
			return told_oom(t);
		*v = (struct told_version){.file = file, .mtime = TIME_NONE, .start = TIME_NONE, .end = TIME_NONE};
		uint32_t i = (uint32_t)(t->versions.n - 1);
		struct told_access *w = add_access(t, y, i, true, at), *r = w ? add_access(t, x, i, false, at) : NULL;
		if (r)
			t->accesses.v[t->accesses.n - 2].mode = ACCESS_WRITE;
		return r ? 0 : told_oom(t);
	}
	unsigned via = term_of(SET_via, told_text(t, st, ATTR_via), TERM_via_sync, TERM_via_data);
	bool must = !str_is(told_text(t, st, ATTR_certainty), "may");
	int64_t lo = TIME_NONE, hi = TIME_NONE;
	told_time(t, st, ATTR_from, &lo);
	told_time(t, st, ATTR_until, &hi);
	if (via == TERM_via_fork && must && a->n == 0 && a->process != b->process) {
		struct told_process *p = &t->processes.v[a->process];
		p->parent = b->process;
		p->forked = lo;
		p->until = hi;
		return 0;
	}
	if (via == TERM_via_fork && a->process == b->process)
		return 0;                             /* an exec in the process: they follow each other */
	struct told_link *l = vec_add(&t->links); /* told from both sides: those that are equal are one */
	if (!l)
		return told_oom(t);
	*l = (struct told_link){.a = x < y ? x : y,
	                        .b = x < y ? y : x,
	                        .via = (uint8_t)via,
	                        .must = must,
	                        .at = lo == TIME_NONE ? a->start : lo};
	return 0;
}

/* Is it about an activity that the record forgot? */
static bool is_forgotten(const struct told *t, const struct doc_statement *st)
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

static bool has_pair(const struct pair_set *s, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b;
	uint32_t i;
	for (size_t pos = TABLE_START; (i = table_next(&s->table, doc_hash(a, b, 7), &pos)) != VEC_NONE;)
		if (s->v.v[i] == key)
			return true;
	return false;
}

static bool add_pair(struct pair_set *s, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b, *slot = vec_add(&s->v);
	if (!slot)
		return false;
	*slot = key;
	return table_add(&s->table, doc_hash(a, b, 7), (uint32_t)(s->v.n - 1));
}

/* A derivation is a use and a generation by its activity (inference 11); without one, by an execution of its own. */
static int take_derivation(struct told *t, uint32_t at, struct pair_set *used, struct pair_set *made,
                           struct map *makers)
{
	const struct doc_statement *st = &t->d->st.v[at];
	uint32_t to, from;
	int rc = find_version(t, st->arg[0], &to);
	if (rc == 0)
		rc = find_version(t, st->arg[1], &from);
	if (rc < 0)
		return rc;
	if (to == VEC_NONE || from == VEC_NONE) {
		t->passed++;
		return 0;
	}
	if (t->versions.v[to].own && t->versions.v[from].own)
		return 0; /* follows from what was written and read */
	uint32_t a =
	    st->arg[2] && map_get(&t->run, st->arg[2]) == VEC_NONE ? activity_of(t, st->arg[2]) : map_get(makers, to);
	if (a == VEC_NONE) {
		struct buf name = {0};
		struct str s = doc_str(t->d, st->arg[0]);
		buf_printf(&name, "%.*s#derivation", (int)s.n, s.p);
		char *kept = arena_take(&t->text, name.n + 1);
		if (kept) {
			memcpy(kept, buf_cstr(&name), name.n + 1);
			a = foreign_activity(t, 0, str_n(kept, name.n));
		}
		buf_release(&name);
	}
	if (a == VEC_NONE || !map_set(makers, to, a))
		return told_oom(t);
	if (!has_pair(used, a, from) && (!add_pair(used, a, from) || !add_access(t, a, from, false, at)))
		return told_oom(t);
	if (!has_pair(made, a, to) && (!add_pair(made, a, to) || !add_access(t, a, to, true, at)))
		return told_oom(t);
	return 0;
}

static int take_derivations(struct told *t)
{
	struct pair_set used = {.v = {0}}, made = {.v = {0}};
	struct map makers = {0};
	int rc = 0;
	for (size_t i = 0, n = t->accesses.n; rc == 0 && i < n; i++) {
		const struct told_access *a = &t->accesses.v[i];
		if (!add_pair(a->write ? &made : &used, a->activity, a->version) ||
		    (a->write && !map_set(&makers, a->version, a->activity)))
			rc = told_oom(t);
	}
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_wasDerivedFrom && !is_forgotten(t, &t->d->st.v[i]))
			rc = take_derivation(t, i, &used, &made, &makers);
	table_release(&used.table);
	table_release(&made.table);
	vec_release(&used.v);
	vec_release(&made.v);
	map_release(&makers);
	return rc;
}

static int take_relation(struct told *t, uint32_t at)
{
	const struct doc_statement *st = &t->d->st.v[at];
	if (is_forgotten(t, st)) {
		t->left_out++;
		return 0;
	}
	switch (st->kind) {
	case DOC_wasGeneratedBy:
		return take_access(t, at, true);
	case DOC_used:
		return take_access(t, at, false);
	case DOC_wasInformedBy:
		return take_informed(t, at);
	case DOC_entity:
	case DOC_activity:
	case DOC_agent:
	case DOC_wasDerivedFrom:
		return 0;
	case DOC_specializationOf:
		t->passed += map_get(&t->file_of, st->arg[1]) == VEC_NONE;
		return 0;
	case DOC_wasAssociatedWith:
	case DOC_actedOnBehalfOf:
		return 0; /* users and programs are told with the executions */
	default:
		t->passed++;
		return 0;
	}
}

static uint32_t span_hash(const struct told *t, const struct told_access *a)
{
	return doc_hash(hash_mix(t->versions.v[a->version].file, a->activity), (uint64_t)a->lo, (uint64_t)a->hi);
}

static bool same_span(const struct told *t, const struct told_access *a, const struct told_access *b)
{
	return a->activity == b->activity && a->lo == b->lo && a->hi == b->hi &&
	       t->versions.v[a->version].file == t->versions.v[b->version].file;
}

/* Does a use follow from another access of the same span? That which reads and writes is told as a generation, too;
 * that which used what overlapped it as several uses, of which the one that does not say so stands for all. */
static bool follows(const struct told *t, const struct table *spans, uint32_t i)
{
	const struct told_access *a = &t->accesses.v[i];
	uint32_t k, hash = span_hash(t, a);
	for (size_t pos = TABLE_START; (k = table_next(spans, hash, &pos)) != VEC_NONE;) {
		const struct told_access *b = &t->accesses.v[k];
		if (k == i || !same_span(t, a, b))
			continue;
		bool plain = b->via != TERM_via_overlap;
		if (b->write ? (b->mode & ACCESS_READ) != 0 : a->via == TERM_via_overlap ? plain || k < i : plain && k < i)
			return true;
	}
	return false;
}

static bool drop_uses(struct told *t)
{
	struct table spans = {0};
	bool ok = true;
	for (uint32_t i = 0; ok && i < t->accesses.n; i++) {
		const struct told_access *a = &t->accesses.v[i];
		bool regular = t->files.v[t->versions.v[a->version].file].kind == TERM_kind_regular;
		if (!a->foreign && regular && (!a->write || a->mode & ACCESS_READ))
			ok = table_add(&spans, span_hash(t, a), i);
	}
	for (size_t x = 0; ok && spans.slot && x < t->activities.n; x++) {
		uint32_t *at = &t->activities.v[x].first;
		while (*at != VEC_NONE) {
			struct told_access *a = &t->accesses.v[*at];
			bool regular = t->files.v[t->versions.v[a->version].file].kind == TERM_kind_regular;
			a->dropped = !a->foreign && !a->write && regular && follows(t, &spans, *at);
			if (a->dropped)
				*at = a->next;
			else
				at = &a->next;
		}
	}
	table_release(&spans);
	return ok;
}

static uint32_t moment_hash(uint32_t file, int64_t at)
{
	return doc_hash(file, (uint64_t)at, 0);
}

/* A version that nobody was seen to write was found by an access that began then: where no use of it did, by a write.
 */
static bool find_changes(struct told *t)
{
	struct table found = {0};
	bool ok = true;
	for (uint32_t x = 0; ok && x < t->activities.n; x++)
		for (uint32_t i = t->activities.v[x].first; ok && i != VEC_NONE; i = t->accesses.v[i].next) {
			const struct told_access *a = &t->accesses.v[i];
			if (!a->foreign)
				ok = table_add(&found, moment_hash(t->versions.v[a->version].file, a->lo), i);
		}
	for (uint32_t k = 0; ok && k < t->versions.n; k++) {
		const struct told_version *v = &t->versions.v[k];
		uint32_t i, write = VEC_NONE;
		bool used = !v->own || v->by_event || !v->unseen_size || t->files.v[v->file].kind != TERM_kind_regular;
		for (size_t pos = TABLE_START;
		     !used && (i = table_next(&found, moment_hash(v->file, v->start), &pos)) != VEC_NONE;) {
			const struct told_access *a = &t->accesses.v[i];
			if (a->lo != v->start || t->versions.v[a->version].file != v->file)
				continue;
			used = a->state == k;
			write = a->write ? i : write;
		}
		if (!used && write != VEC_NONE)
			t->accesses.v[write].state = k;
	}
	table_release(&found);
	return ok;
}

/* Of the accesses of a version, the one that is the event of its identity, and the one that ended its last write. A use
 * that a read and write access made is not told once more. */
static int settle(struct told *t)
{
	VEC(uint32_t) first = {0}, last = {0};
	size_t n = t->versions.n;
	if (!vec_room(&first, n + 1) || !vec_room(&last, n + 1))
		return told_oom(t);
	for (size_t i = 0; i < n; i++)
		first.v[i] = last.v[i] = VEC_NONE;
	for (uint32_t i = 0; i < t->accesses.n; i++) {
		struct told_access *a = &t->accesses.v[i];
		const struct told_version *v = &t->versions.v[a->version];
		const struct told_file *f = &t->files.v[v->file];
		bool regular = f->kind == TERM_kind_regular;
		if (a->dropped)
			continue;
		if (a->write || !regular) {
			uint32_t *best = &first.v[a->version];
			const struct told_access *b = *best == VEC_NONE ? NULL : &t->accesses.v[*best];
			if (!b || a->lo < b->lo || (a->lo == b->lo && a->write && !b->write))
				*best = i;
		}
		if (a->write) {
			uint32_t *best = &last.v[a->version];
			const struct told_access *b = *best == VEC_NONE ? NULL : &t->accesses.v[*best];
			if (!b || a->hi == TIME_NONE || (b->hi != TIME_NONE && a->hi >= b->hi))
				*best = i;
		}
		/* It saw the content that it used, where nothing else could be meant. */
		if (regular && !a->write && !a->foreign && v->own && v->unseen_size && a->via != TERM_via_overlap)
			a->state = a->version;
		if (regular && a->via == TERM_via_overlap)
			a->via = TERM_via_data; /* found anew */
	}
	for (size_t i = 0; i < n; i++) {
		if (first.v[i] != VEC_NONE && t->versions.v[i].by_event)
			t->accesses.v[first.v[i]].first = true;
		if (last.v[i] != VEC_NONE && t->versions.v[i].unseen_size)
			t->accesses.v[last.v[i]].closes = true;
	}
	vec_release(&first);
	vec_release(&last);
	return find_changes(t) ? 0 : told_oom(t);
}

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
	if (!st->id || !get(t, st, t->attr[ATTR_note]))
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

static void find_user(struct told *t)
{
	for (size_t i = 0; i < t->d->st.n && !t->user; i++) {
		const struct doc_statement *st = &t->d->st.v[i];
		if (st->kind != DOC_agent || has_type(t, st, PROV_NS "SoftwareAgent") || has_type(t, st, STEMMA_NS "User"))
			continue;
		uint32_t label = get(t, st, t->w_label);
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
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_entity)
			rc = take_entity(t, i);
		else if (t->d->st.v[i].kind == DOC_agent)
			rc = take_program(t, i);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		if (t->d->st.v[i].kind == DOC_activity)
			rc = take_activity(t, i);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		rc = take_relation(t, i);
	if (rc == 0)
		rc = take_derivations(t);
	if (rc == 0)
		rc = told_order(t);
	if (rc == 0 && !drop_uses(t))
		rc = told_oom(t);
	if (rc == 0)
		rc = settle(t);
	for (uint32_t i = 0; rc == 0 && i < t->d->st.n; i++)
		rc = take_notes(t, &t->d->st.v[i]);
	find_user(t);
	return rc;
}

void told_release(struct told *t)
{
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
	arena_release(&t->text);
}

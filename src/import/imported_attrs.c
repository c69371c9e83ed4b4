/* imported_attrs.c - what a statement's attributes say. */
#include "import/imported.h"

#include "base/base64.h"
#include "export/export.h"

#include <errno.h>
#include <jansson.h>

/* -ENOMEM with a sentence. */
int imported_oom(struct imported *t)
{
	return err_set(t->err, ENOMEM, "%s: cannot import", t->name);
}

struct str imported_ulid(struct str name)
{
	struct str before = str_of(STEMMA_ID "r");
	return str_starts(name, before) ? str_n(name.p + before.n, name.n - before.n) : str_of("");
}

/* -EBADMSG with a sentence that says where. */
int imported_wrong(struct imported *t, const struct doc_statement *st, const char *what)
{
	struct buf place = {0};
	doc_place(t->d, st, &place);
	err_set(t->err, 0, "%s: %.200s: %s", t->name, buf_cstr(&place), what);
	buf_release(&place);
	return -EBADMSG;
}

uint32_t imported_get(const struct imported *t, const struct doc_statement *st, uint32_t name)
{
	for (uint32_t i = 0; name != VEC_NONE && i < st->n_attr; i++)
		if (t->d->attrs.v[st->first_attr + i].name == name)
			return t->d->attrs.v[st->first_attr + i].value;
	return 0;
}

/* What base64 stands for, kept by t; NULL p where it is none. */
static struct str decode_base64(struct imported *t, struct str s)
{
	char *out = arena_take(&t->text, s.n + 1);
	ssize_t n = out ? base64_decode(s, out) : 0;
	return n < 0 ? (struct str){NULL, 0} : (struct str){out, (size_t)n};
}

struct str imported_text(struct imported *t, const struct doc_statement *st, enum prov_attr attr)
{
	uint32_t exact = imported_get(t, st, t->base64[attr]);
	struct str s = exact ? decode_base64(t, doc_str(t->d, exact)) : (struct str){NULL, 0};
	return s.p ? s : doc_str(t->d, imported_get(t, st, t->attr[attr]));
}

/* False: it is not there, or no number, and *ret stays. */
bool imported_count(const struct imported *t, const struct doc_statement *st, enum prov_attr attr, uint64_t *ret)
{
	uint32_t w = imported_get(t, st, t->attr[attr]);
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

/* False: it is not there, or no time. */
bool imported_time(const struct imported *t, const struct doc_statement *st, enum prov_attr attr, int64_t *ret)
{
	uint32_t w = imported_get(t, st, t->attr[attr]);
	return w && doc_time(doc_str(t->d, w), ret);
}

long imported_list(struct imported *t, const struct doc_statement *st, enum prov_attr attr, struct buf *ret)
{
	uint32_t exact = imported_get(t, st, t->base64[attr]), w = exact ? exact : imported_get(t, st, t->attr[attr]);
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
			item = decode_base64(t, item);
		if (!item.p) {
			n = -1;
			break;
		}
		buf_varint(ret, item.n);
		buf_str(ret, item);
	}
	json_decref(list);
	return n < 0 ? imported_wrong(t, st, "a list that is not a JSON array of strings") : n;
}

bool imported_is(const struct imported *t, const struct doc_statement *st, const char *type)
{
	uint32_t w = intern_find(&t->d->words, str_of(type));
	for (uint32_t i = 0; w != VEC_NONE && i < st->n_attr; i++) {
		const struct doc_attr *a = &t->d->attrs.v[st->first_attr + i];
		if (a->name == t->w_type && a->value == w)
			return true;
	}
	return false;
}

unsigned imported_term(enum term_set set, struct str name, unsigned last, unsigned none)
{
	for (unsigned i = 0; name.n && i <= last; i++)
		if (str_is(name, term_name(set, i)))
			return i;
	return none;
}

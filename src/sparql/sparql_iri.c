#include "sparql/sparql_iri.h"

#include <string.h>

struct iri_parts {
	struct str scheme, authority, path, query, fragment; /* p NULL: it has none */
};

/* The length of an IRI's scheme. 0: none. */
static size_t scheme_length(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		const char c = s.p[i];
		if (c == ':')
			return i;
		const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(i && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
			return 0;
	}
	return 0;
}

/* Takes off *rest what stands before the first of the characters `ends`; that stays there. */
static struct str cut(struct str *rest, const char *ends)
{
	size_t n = 0;
	while (n < rest->n && !strchr(ends, rest->p[n]))
		n++;
	const struct str s = str_n(rest->p, n);
	*rest = str_n(rest->p + n, rest->n - n);
	return s;
}

/* Takes an IRI apart. All parts show s; one that is not there has p NULL. */
static struct iri_parts split(struct str s)
{
	struct iri_parts r = {0};
	const size_t n = scheme_length(s);
	if (n) {
		r.scheme = str_n(s.p, n);
		s = str_n(s.p + n + 1, s.n - n - 1);
	}
	if (s.n >= 2 && s.p[0] == '/' && s.p[1] == '/') {
		s = str_n(s.p + 2, s.n - 2);
		r.authority = cut(&s, "/?#");
	}
	r.path = cut(&s, "?#");
	if (s.n && s.p[0] == '?') {
		s = str_n(s.p + 1, s.n - 1);
		r.query = cut(&s, "#");
	}
	if (s.n && s.p[0] == '#')
		r.fragment = str_n(s.p + 1, s.n - 1);
	return r;
}

/* Takes the last segment and its slash away again, not what stands before begin. */
static void drop_segment(struct buf *out, size_t begin)
{
	while (out->n > begin && out->p[out->n - 1] != '/')
		out->n--;
	if (out->n > begin)
		out->n--;
}

/* 5.2.4: without . and .. */
static void put_path(struct buf *out, struct str in)
{
	const size_t begin = out->n;
	while (in.n) {
		const bool slash = in.p[0] == '/';
		const char *p = in.p + slash;
		size_t n = 0;
		while (slash + n < in.n && p[n] != '/')
			n++;
		const bool dot = n == 1 && p[0] == '.', dots = n == 2 && p[0] == '.' && p[1] == '.';
		const bool last = slash + n >= in.n;
		if (dots && slash)
			drop_segment(out, begin);
		if (!dot && !dots)
			buf_add(out, in.p, slash + n);
		else if (last && slash)
			buf_char(out, '/');
		in = str_n(in.p + slash + n, in.n - slash - n);
		if (!slash && (dot || dots) && in.n && in.p[0] == '/')
			in = str_n(in.p + 1, in.n - 1);
	}
}

/* Appends path relative to base, without "." and "..". */
static void put_merged(struct buf *out, const struct iri_parts *base, struct str path)
{
	struct buf whole = {0};
	size_t n = base->path.n;
	while (n && base->path.p[n - 1] != '/')
		n--;
	if (base->authority.p && !base->path.n)
		buf_char(&whole, '/');
	else
		buf_add(&whole, base->path.p, n);
	buf_str(&whole, path);
	put_path(out, buf_view(&whole));
	buf_release(&whole);
}

/* One that is not there (p NULL) is other than an empty one. */
static void put_rest(struct buf *out, struct str query, struct str fragment)
{
	if (query.p) {
		buf_char(out, '?');
		buf_str(out, query);
	}
	if (fragment.p) {
		buf_char(out, '#');
		buf_str(out, fragment);
	}
}

void sparql_iri_resolve(struct str base, struct str iri, struct buf *ret)
{
	const struct iri_parts b = split(base), r = split(iri);
	if (!b.scheme.p || r.scheme.p) {
		buf_str(ret, iri);
		return;
	}
	buf_str(ret, b.scheme);
	buf_char(ret, ':');
	const struct str authority = r.authority.p ? r.authority : b.authority;
	if (authority.p) {
		buf_str(ret, str_of("//"));
		buf_str(ret, authority);
	}
	if (r.authority.p || (r.path.n && r.path.p[0] == '/'))
		put_path(ret, r.path);
	else if (r.path.n)
		put_merged(ret, &b, r.path);
	else
		buf_str(ret, b.path);
	put_rest(ret, r.query.p || r.path.n || r.authority.p ? r.query : b.query, r.fragment);
}

/* diff_names.c - names without what chance drew in them: by these the files and arguments of two sides are compared. */
#include "query/diff/diff_int.h"

#include <ctype.h>

/* Is the path below the folder `dir`? *ret: how many bytes of the path are the folder and its slash. False: it is
 * not below `dir`. */
static bool starts_in(struct str path, const char *dir, size_t *ret)
{
	struct str d = str_of(dir);
	while (d.n && d.p[d.n - 1] == '/')
		d.n--;
	if (!d.n || !str_starts(path, d) || path.n <= d.n || path.p[d.n] != '/')
		return false;
	*ret = d.n + 1;
	return true;
}

/* Whether a name's part looks drawn at random: letters and digits, six or more, with both or with both cases. */
static bool random_part(const char *p, size_t n)
{
	bool digit = false, upper = false, lower = false;
	for (size_t i = 0; i < n; i++) {
		digit |= isdigit((unsigned char)p[i]) != 0;
		upper |= isupper((unsigned char)p[i]) != 0;
		lower |= islower((unsigned char)p[i]) != 0;
	}
	return n >= 6 && (digit + upper + lower > 1 || (digit && n >= 4));
}

/* How much of a component is a name that gcc (cc and six characters), R (Rtmp and six) or Python (tmp and eight) draws,
 * also where chance gave it small letters only; 0: it begins otherwise. Where Python drew a _, a digit, too, tells the
 * name from one like tmp_results; not where all such names are drawn (copied). */
static size_t drawn_name(const char *p, size_t n, bool copied)
{
	size_t word = 0, python = 0;
	bool digit = false;
	while (word < n && isalnum((unsigned char)p[word]))
		word++;
	for (; python < n && (islower((unsigned char)p[python]) || isdigit((unsigned char)p[python]) || p[python] == '_');
	     python++)
		digit |= isdigit((unsigned char)p[python]) != 0;
	if (python == 11 && (word == 11 || digit || copied) && memcmp(p, "tmp", 3) == 0)
		return python;
	if ((word == 8 && memcmp(p, "cc", 2) == 0) || (word == 10 && memcmp(p, "Rtmp", 4) == 0))
		return word;
	return 0;
}

/* Does a component call itself temporary: `tmp.aB3xYz12`, `.tmpQ1w2e3`, `RtmpuivQYx`, `out.vcf.tmp.1234`? */
static bool is_temporary_name(const char *p, size_t n)
{
	size_t dot = n && *p == '.';
	return (n > dot + 3 && memcmp(p + dot, "tmp", 3) == 0) ||
	       (n > 4 && memcmp(p, "Rtmp", 4) == 0 && drawn_name(p, n, false)) || memmem(p, n, ".tmp.", 5);
}

/* A component below a directory for temporary files: `tmp.aB3xYz12`, `ccq1W2e3.o`, `job-4711` become `tmp.*`, `*.o`,
 * `job-*`. copied: as drawn_name. */
static void mask_component(const char *p, size_t n, bool copied, struct buf *out)
{
	for (size_t i = 0; i < n;) {
		size_t name = i ? 0 : drawn_name(p, n, copied), k = i + name;
		while (!name && k < n && isalnum((unsigned char)p[k]))
			k++;
		bool number = k > i;
		for (size_t j = i; j < k; j++)
			number &= isdigit((unsigned char)p[j]) != 0;
		bool drawn = name || random_part(p + i, k - i);
		if (k > i && (drawn || (number && k - i >= 2)))
			buf_char(out, '*');
		else
			buf_add(out, p + i, k - i);
		if (k < n)
			buf_char(out, p[k]);
		i = k + 1;
	}
}

/* Does a component that begins there name a copy of a script, as Snakemake makes one to run it? All of these are drawn.
 */
static bool is_copy_at(struct str path, size_t at)
{
	const struct str folder = str_of(".snakemake/scripts/");
	return at >= folder.n && memcmp(path.p + at - folder.n, folder.p, folder.n) == 0;
}

void diff_mask_components(struct str path, size_t at, bool all, struct buf *out)
{
	while (at < path.n) {
		const char *slash = memchr(path.p + at, '/', path.n - at);
		size_t n = slash ? (size_t)(slash - (path.p + at)) : path.n - at;
		if (all || is_temporary_name(path.p + at, n))
			mask_component(path.p + at, n, is_copy_at(path, at), out);
		else
			buf_add(out, path.p + at, n);
		at += n;
		if (slash) {
			buf_char(out, '/');
			at++;
		}
	}
}

void diff_mask_path(const struct side *s, struct str path, struct buf *out)
{
	static const char *const temporary[] = {"/tmp", "/var/tmp", "/dev/shm"};
	size_t at;
	if (s->cwd.n > 1 && str_eq(path, s->cwd)) {
		buf_char(out, '.');
		return;
	}
	if (s->cwd.n > 1 && str_starts(path, s->cwd) && path.n > s->cwd.n && path.p[s->cwd.n] == '/') {
		buf_str(out, str_of("./"));
		diff_mask_components(path, s->cwd.n + 1, false, out);
		return;
	}
	for (size_t i = 0; i < sizeof(temporary) / sizeof(*temporary); i++) {
		if (!starts_in(path, temporary[i], &at))
			continue;
		buf_add(out, path.p, at);
		diff_mask_components(path, at, true, out);
		return;
	}
	diff_mask_components(path, 0, false, out);
}

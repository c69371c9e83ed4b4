/* packages_ask.c - dpkg and rpm are asked by their own programs which packages files are of. */
#include "base/child.h"
#include "software/packages_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_MS 10000                  /* a busy disk: the list of all files of all packages is read */
#define PRINTED_MOST ((size_t)4 << 20) /* bytes: a line of at most 4 KiB for each of 512 names, twice */
#define COLUMNS 8

/* What a program prints, whatever it ends with: dpkg-query and rpm fail where one of many files is of no package.
 * False: nothing was printed. */
static bool ask_program(char *const *argv, struct buf *ret)
{
	struct child c = {.argv = argv, .most = PRINTED_MOST, .limit_ms = WAIT_MS};
	buf_reset(ret);
	return child_read(&c, ret) >= 0 && ret->n && !ret->failed;
}

/* Cuts the next line off *text. False at the end. */
static bool next_line(struct str *text, struct str *ret)
{
	if (!text->n)
		return false;
	const char *end = memchr(text->p, '\n', text->n);
	*ret = str_n(text->p, end ? (size_t)(end - text->p) : text->n);
	size_t used = ret->n + (end ? 1 : 0);
	*text = str_n(text->p + used, text->n - used);
	return true;
}

/* Splits a line at its tabs; what lacks is empty. */
static void split_line(struct str line, struct str ret[COLUMNS])
{
	for (size_t i = 0; i < COLUMNS; i++) {
		const char *tab = line.n ? memchr(line.p, '\t', line.n) : NULL;
		ret[i] = str_n(line.p, tab && i + 1 < COLUMNS ? (size_t)(tab - line.p) : line.n);
		size_t used = ret[i].n + (tab && i + 1 < COLUMNS ? 1 : 0);
		line = str_n(line.p + used, line.n - used);
	}
}

/* May the path be an argument? dpkg takes some characters for patterns, and a line ends at a line's end. */
static bool is_plain_path(const char *path)
{
	return path[0] == '/' && !strpbrk(path, "*?[\\\r\n\t");
}

/* ---- dpkg ---- */

/* What dpkg tells of each path: the word before its line's colon, as offsets into `names`; 0: nothing, or several. */
struct dpkg {
	const struct packages_asked *a;
	size_t *of;
	struct buf names, printed;
};

/* "coreutils: /bin/ls": the package belongs to each path of that name, with or without /usr before it (what a package
 * put into /bin lies in /usr/bin on most systems). A line that names two packages, or tells of a diversion, says of
 * none. */
static void take_owner(struct dpkg *d, struct str line)
{
	const char *colon = memmem(line.p, line.n, ": /", 3);
	struct str owner = colon ? str_n(line.p, (size_t)(colon - line.p)) : str_n(NULL, 0);
	if (!owner.n || memchr(owner.p, ',', owner.n) || memchr(owner.p, ' ', owner.n) || owner.p[0] == '-')
		return;
	struct str path = str_n(colon + 2, line.n - owner.n - 2);
	const struct str usr = str_of("/usr");
	size_t at = 0;
	for (size_t i = 0; i < d->a->n; i++) {
		struct str asked = str_of(d->a->paths[i]);
		bool same = str_eq(asked, path);
		bool moved = str_starts(asked, usr) && str_eq(str_n(asked.p + usr.n, asked.n - usr.n), path);
		if ((!same && !moved) || d->a->at[i] != VEC_NONE || (d->of[i] && !same))
			continue;
		if (!at) {
			at = d->names.n;
			buf_str(&d->names, owner);
			buf_char(&d->names, '\0');
		}
		d->of[i] = at;
	}
}

/* Asks who owns the paths. False: there is no dpkg, or nothing is owned. */
static bool ask_owners(struct dpkg *d)
{
	char **argv = calloc(2 * d->a->n + 3, sizeof(*argv));
	size_t n = 0;
	if (!argv)
		return false;
	argv[n++] = (char *)"dpkg-query";
	argv[n++] = (char *)"-S";
	for (size_t i = 0; i < d->a->n; i++) {
		const char *path = d->a->paths[i];
		if (d->a->at[i] != VEC_NONE || !is_plain_path(path))
			continue;
		argv[n++] = (char *)path;
		if (strncmp(path, "/usr/", 5) == 0)
			argv[n++] = (char *)path + 4;
	}
	bool asked = n > 2 && ask_program(argv, &d->printed);
	free(argv);
	struct str text = buf_view(&d->printed), line;
	buf_char(&d->names, '\0'); /* offset 0 is none */
	while (asked && next_line(&text, &line))
		take_owner(d, line);
	return asked && !d->names.failed && d->names.n > 1;
}

#define DPKG_FORMAT                                                                                                    \
	"-f=${binary:Package}\\t${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${Homepage}\\t"            \
	"${Maintainer}\\t${binary:Summary}\\n"

/* A line of that: sets the paths of its package. 0, -ENOMEM. */
static int take_dpkg_package(struct packages *p, struct dpkg *d, struct str line)
{
	struct str column[COLUMNS];
	const char *text[COLUMNS];
	split_line(line, column);
	if (!column[1].n || !column[2].n)
		return 0;
	for (size_t i = 0; i < COLUMNS; i++)
		if (!(text[i] = packages_text(p, column[i])))
			return -ENOMEM;
	uint32_t at =
	    packages_add(p, &(struct package){PACKAGE_dpkg, text[1], text[2], text[3], text[4], text[5], text[6], text[7]});
	if (at == VEC_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < d->a->n; i++)
		if (d->of[i] && (str_is(column[0], d->names.p + d->of[i]) || str_is(column[1], d->names.p + d->of[i])))
			d->a->at[i] = at;
	return 0;
}

/* Asks for the packages that own something. 0, -ENOMEM. */
static int ask_dpkg_packages(struct packages *p, struct dpkg *d)
{
	char **argv = calloc(d->a->n + 4, sizeof(*argv));
	size_t n = 0;
	int r = 0;
	if (!argv)
		return -ENOMEM;
	argv[n++] = (char *)"dpkg-query";
	argv[n++] = (char *)"-W";
	argv[n++] = (char *)DPKG_FORMAT;
	for (size_t i = 0; i < d->a->n; i++) {
		bool before = !d->of[i];
		for (size_t k = 0; k < i && !before; k++)
			before = d->of[k] == d->of[i];
		if (!before)
			argv[n++] = d->names.p + d->of[i];
	}
	bool asked = ask_program(argv, &d->printed);
	free(argv);
	struct str text = buf_view(&d->printed), line;
	while (asked && r == 0 && next_line(&text, &line))
		r = take_dpkg_package(p, d, line);
	return r;
}

int packages_ask_dpkg(struct packages *p, const struct packages_asked *a)
{
	struct dpkg d = {.a = a, .of = calloc(a->n, sizeof(*d.of))};
	int r = d.of ? 0 : -ENOMEM;
	if (r == 0 && ask_owners(&d))
		r = ask_dpkg_packages(p, &d);
	free(d.of);
	buf_release(&d.names);
	buf_release(&d.printed);
	return r;
}

/* ---- rpm ---- */

/* One line for each file, in their order; of a file of no package, or of several, it is another one than this. */
#define RPM_FORMAT                                                                                                     \
	"stemma\\t%{NAME}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}\\t%{SOURCERPM}\\t%{URL}\\t%{VENDOR}\\t%{SUMMARY}\\n"

/* Takes a line of what rpm says. 0, -ENOMEM. */
static int take_rpm_package(struct packages *p, struct str line, uint32_t *ret)
{
	struct str column[COLUMNS];
	const char *text[COLUMNS];
	split_line(line, column);
	if (!str_is(column[0], "stemma") || !column[1].n || !column[2].n)
		return 0;
	for (size_t i = 0; i < COLUMNS; i++)
		if (!(text[i] = packages_text(p, str_is(column[i], "(none)") ? str_n(NULL, 0) : column[i])))
			return -ENOMEM;
	*ret =
	    packages_add(p, &(struct package){PACKAGE_rpm, text[1], text[2], text[3], text[4], text[5], text[6], text[7]});
	return *ret == VEC_NONE ? -ENOMEM : 0;
}

int packages_ask_rpm(struct packages *p, const struct packages_asked *a)
{
	char **argv = calloc(a->n + 6, sizeof(*argv));
	size_t *of = calloc(a->n, sizeof(*of)), n = 0, asked = 0, lines = 0;
	struct buf printed = {0};
	int r = argv && of ? 0 : -ENOMEM;
	if (r == 0) {
		argv[n++] = (char *)"rpm";
		argv[n++] = (char *)"-qf";
		argv[n++] = (char *)"--queryformat";
		argv[n++] = (char *)RPM_FORMAT;
		for (size_t i = 0; i < a->n; i++)
			if (a->at[i] == VEC_NONE && is_plain_path(a->paths[i])) {
				of[asked++] = i;
				argv[n++] = (char *)a->paths[i];
			}
	}
	if (r == 0 && asked && ask_program(argv, &printed)) {
		struct str text = buf_view(&printed), line;
		while (next_line(&text, &line))
			lines++;
		text = buf_view(&printed);
		for (size_t i = 0; lines == asked && r == 0 && next_line(&text, &line); i++)
			r = take_rpm_package(p, line, &a->at[of[i]]);
	}
	free(argv);
	free(of);
	buf_release(&printed);
	return r;
}

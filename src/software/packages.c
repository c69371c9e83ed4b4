#include "base/io.h"
#include "base/unsafe_char.h"
#include "base/utf8.h"
#include "software/packages_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK 256         /* files asked for at once: 512 arguments, far below what a command line may have */
#define TEXT_MOST 512     /* bytes of a text of a package that are kept */
#define RELEASE_MOST 8192 /* bytes of os-release */

const char *const package_manager_name[PACKAGE_MANAGERS] = {
    [PACKAGE_dpkg] = "dpkg",   [PACKAGE_rpm] = "rpm", [PACKAGE_pip] = "pip",   [PACKAGE_conda] = "conda",
    [PACKAGE_pyenv] = "pyenv", [PACKAGE_nix] = "nix", [PACKAGE_guix] = "guix", [PACKAGE_spack] = "spack"};

void packages_release(struct packages *p)
{
	vec_release(&p->v);
	arena_release(&p->texts);
}

const char *packages_text(struct packages *p, struct str s)
{
	size_t n = 0;
	char *ret = arena_take(&p->texts, (s.n < TEXT_MOST ? s.n : TEXT_MOST) + 1);
	if (!ret)
		return NULL;
	for (size_t i = 0, k; i < s.n; i += k) {
		uint32_t c;
		k = utf8_char(s.p + i, s.n - i, &c);
		bool shown = k && !unsafe_char(c);
		k = k ? k : 1;
		if (n + k > TEXT_MOST)
			break;
		if (shown) {
			memcpy(ret + n, s.p + i, k);
			n += k;
		}
	}
	ret[n] = '\0';
	return ret;
}

/* Are both texts equal? NULL is the empty text. */
static bool is_same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

uint32_t packages_add(struct packages *p, const struct package *like)
{
	for (size_t i = 0; i < p->v.n; i++) {
		const struct package *has = &p->v.v[i];
		if (has->manager == like->manager && is_same_text(has->name, like->name) &&
		    is_same_text(has->version, like->version) && is_same_text(has->arch, like->arch))
			return (uint32_t)i;
	}
	struct package one = *like;
	const char **texts[] = {&one.name,     &one.version,    &one.arch,   &one.source,
	                        &one.homepage, &one.maintainer, &one.summary};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!(*texts[i] = packages_text(p, str_of(*texts[i]))))
			return VEC_NONE;
	struct package *to = vec_add(&p->v);
	if (!to)
		return VEC_NONE;
	*to = one;
	return (uint32_t)(p->v.n - 1);
}

/* The value of "KEY=" in os-release, without quotes; "" where there is none. */
static void take_release_value(const char *text, const char *key, char *ret, size_t n)
{
	size_t length = strlen(key);
	while (*text && strncmp(text, key, length) != 0) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	text += *text ? length + (text[length] == '"') : 0;
	snprintf(ret, n, "%.*s", (int)strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-"), text);
}

/* Reads which distribution of Linux this is, from /etc/os-release. */
static void read_distribution(struct packages *p)
{
	struct buf b = {0};
	if (io_read_file("/etc/os-release", RELEASE_MOST, &b) == 0) {
		take_release_value(buf_cstr(&b), "ID=", p->distribution, sizeof(p->distribution));
		take_release_value(buf_cstr(&b), "VERSION_CODENAME=", p->release, sizeof(p->release));
	}
	buf_release(&b);
}

/* All who may know are asked in turn for what is VEC_NONE: programs about some files at once, what lies in folders
 * about all of them, so that each document is read once. 0, -ENOMEM. */
static int ask_all(struct packages *p, const char *const *paths, size_t n, uint32_t *ret)
{
	const struct packages_asked all = {paths, ret, n};
	int r = 0;
	for (size_t at = 0; at < n && r == 0; at += CHUNK) {
		const struct packages_asked a = {paths + at, ret + at, n - at < CHUNK ? n - at : CHUNK};
		r = packages_ask_dpkg(p, &a);
		r = r < 0 ? r : packages_ask_rpm(p, &a);
	}
	if (n)
		r = r < 0 ? r : packages_read_folders(p, &all);
	return r < 0 ? r : packages_read_paths(p, &all);
}

/* Of FOLDER/__pycache__/NAME.cpython-311.pyc the source, FOLDER/NAME.py, which the caller frees. NULL: it is no such
 * path, or there is no memory (*rc). */
static char *source_of_compiled(const char *path, int *rc)
{
	static const char cache[] = "/__pycache__/";
	const char *at = strstr(path, cache), *dot = at ? strchr(at + sizeof(cache) - 1, '.') : NULL;
	if (!dot || strchr(at + sizeof(cache) - 1, '/') || !str_ends(str_of(path), str_of(".pyc")))
		return NULL;
	struct buf b = {0};
	buf_str(&b, str_n(path, (size_t)(at - path)));
	buf_char(&b, '/');
	buf_str(&b, str_n(at + sizeof(cache) - 1, (size_t)(dot - at) - (sizeof(cache) - 1)));
	buf_printf(&b, ".py");
	char *ret = b.failed ? NULL : strdup(buf_cstr(&b));
	*rc = ret ? *rc : -ENOMEM;
	buf_release(&b);
	return ret;
}

/* What Python compiled when a package was installed is of the package of its source: its own path is in no list of
 * dpkg, while pip's may have it. Sets those. 0, -ENOMEM. */
static int ask_for_sources(struct packages *p, const char *const *paths, size_t n, uint32_t *ret)
{
	char **sources = calloc(n + 1, sizeof(*sources));
	size_t *of = calloc(n + 1, sizeof(*of)), asked = 0;
	uint32_t *found = calloc(n + 1, sizeof(*found));
	int r = sources && of && found ? 0 : -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++)
		if ((sources[asked] = source_of_compiled(paths[i], &r)))
			of[asked++] = i;
	for (size_t i = 0; i < asked; i++)
		found[i] = VEC_NONE;
	if (r == 0 && asked)
		r = ask_all(p, (const char *const *)sources, asked, found);
	for (size_t i = 0; i < asked; i++) {
		if (r == 0 && found[i] != VEC_NONE)
			ret[of[i]] = found[i];
		free(sources[i]);
	}
	free(sources);
	free(of);
	free(found);
	return r;
}

int packages_find(struct packages *p, const char *const *paths, size_t n, uint32_t *ret)
{
	if (!p->distribution[0])
		read_distribution(p);
	for (size_t i = 0; i < n; i++)
		ret[i] = VEC_NONE;
	int r = ask_for_sources(p, paths, n, ret);
	return r < 0 ? r : ask_all(p, paths, n, ret);
}

#include "base/io.h"
#include "base/unsafe_char.h"
#include "base/utf8.h"
#include "software/packages_int.h"

#include <errno.h>
#include <stdio.h>

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

/* ID of os-release, without quotes; "" where there is none. */
static void read_distribution(char *ret, size_t n)
{
	struct buf b = {0};
	const char *id = io_read_file("/etc/os-release", RELEASE_MOST, &b) == 0 ? buf_cstr(&b) : "";
	while (*id && strncmp(id, "ID=", 3) != 0) {
		id += strcspn(id, "\n");
		id += *id == '\n';
	}
	id += *id ? 3 + (id[3] == '"') : 0;
	int length = (int)strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-");
	snprintf(ret, n, "%.*s", length, id);
	buf_release(&b);
}

int packages_find(struct packages *p, const char *const *paths, size_t n, uint32_t *ret)
{
	static int (*const ask[])(struct packages * p, const struct packages_asked *a) = {
	    packages_ask_dpkg, packages_ask_rpm, packages_read_folders, packages_read_paths};
	int r = 0;
	if (!p->distribution[0])
		read_distribution(p->distribution, sizeof(p->distribution));
	for (size_t i = 0; i < n; i++)
		ret[i] = VEC_NONE;
	for (size_t at = 0; at < n && r == 0; at += CHUNK) {
		struct packages_asked a = {paths + at, ret + at, n - at < CHUNK ? n - at : CHUNK};
		for (size_t i = 0; i < sizeof(ask) / sizeof(*ask) && r == 0; i++)
			r = ask[i](p, &a);
	}
	return r;
}

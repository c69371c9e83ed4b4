/* packages_paths.c - stores that name package and version in the path of each file. */
#include "software/packages_int.h"

#include <ctype.h>
#include <errno.h>

/* The part of a path that begins at `from` and ends before the next slash; nothing if no slash follows. */
static struct str part_of(const char *from)
{
	const char *slash = strchr(from, '/');
	return slash ? str_n(from, (size_t)(slash - from)) : str_n(NULL, 0);
}

/* "samtools-1.16.1": name and version, at the first hyphen that a digit follows. False: it has none. */
static bool split_name(struct str s, struct str *ret_name, struct str *ret_version)
{
	for (size_t i = 1; i + 1 < s.n; i++)
		if (s.p[i] == '-' && isdigit((unsigned char)s.p[i + 1])) {
			*ret_name = str_n(s.p, i);
			*ret_version = str_n(s.p + i + 1, s.n - i - 1);
			return true;
		}
	return false;
}

/* HASH-NAME-VERSION, the hash of 32 characters. */
static bool split_hash_first(struct str s, struct str *ret_name, struct str *ret_version)
{
	return s.n > 33 && s.p[32] == '-' && split_name(str_n(s.p + 33, s.n - 33), ret_name, ret_version);
}

/* NAME-VERSION-HASH, the hash of 32 letters and digits: a prefix of Spack, which has a folder .spack. */
static bool split_hash_last(struct str s, struct str *ret_name, struct str *ret_version)
{
	if (s.n < 36 || s.p[s.n - 33] != '-')
		return false;
	for (size_t i = s.n - 32; i < s.n; i++)
		if (!isdigit((unsigned char)s.p[i]) && !islower((unsigned char)s.p[i]))
			return false;
	return split_name(str_n(s.p, s.n - 33), ret_name, ret_version);
}

/* Of /.../NAME-VERSION-HASH/...: the first such part below a folder opt or one called spack. */
static bool split_spack(const char *path, struct str *ret_name, struct str *ret_version)
{
	if (!strstr(path, "/spack/") && !strstr(path, "/opt/"))
		return false;
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
		if (split_hash_last(part_of(at + 1), ret_name, ret_version))
			return true;
	return false;
}

/* Tells the package of a file by its path alone, as in Nix's store. False: the path tells nothing. */
static bool split_path(const char *path, enum package_manager *ret_manager, struct str *ret_name,
                       struct str *ret_version)
{
	static const char nix[] = "/nix/store/", guix[] = "/gnu/store/", pyenv[] = "/.pyenv/versions/";
	const char *at = strstr(path, pyenv);
	if (at) {
		struct str version = part_of(at + sizeof(pyenv) - 1);
		*ret_manager = PACKAGE_pyenv;
		*ret_name = str_of("python");
		*ret_version = version;
		return version.n && isdigit((unsigned char)version.p[0]); /* 3.11.7; others are names of environments */
	}
	if (strncmp(path, nix, sizeof(nix) - 1) == 0 || strncmp(path, guix, sizeof(guix) - 1) == 0) {
		*ret_manager = path[1] == 'n' ? PACKAGE_nix : PACKAGE_guix;
		return split_hash_first(part_of(path + sizeof(nix) - 1), ret_name, ret_version);
	}
	*ret_manager = PACKAGE_spack;
	return split_spack(path, ret_name, ret_version);
}

int packages_read_paths(struct packages *p, const struct packages_asked *a)
{
	for (size_t i = 0; i < a->n; i++) {
		struct package like = {0};
		struct str name, version;
		if (a->at[i] != VEC_NONE || !split_path(a->paths[i], &like.manager, &name, &version))
			continue;
		like.name = packages_text(p, name);
		like.version = packages_text(p, version);
		a->at[i] = like.name && like.version ? packages_add(p, &like) : VEC_NONE;
		if (a->at[i] == VEC_NONE)
			return -ENOMEM;
	}
	return 0;
}

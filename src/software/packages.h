/* packages.h - which packages files are of, as the package managers of this machine know it now.
 *
 * Asked are dpkg and rpm, by their own query programs, for many files at once; a Python package that pip put into a
 * folder is known by its .dist-info there; a prefix of conda by its conda-meta; and pyenv, Nix, Guix and Spack name
 * package and version in the path. What was changed since it was recorded is not to be asked for: it may be of another
 * package by now.
 *
 * What lies in folders of users is hostile: it is read without following links, a bounded part of it, and gives nothing
 * but names. Cost: four programs for 256 files, 20 to 200 ms each; ten seconds each at most. */
#ifndef STEMMA_SOFTWARE_PACKAGES_H
#define STEMMA_SOFTWARE_PACKAGES_H

#include "base/vec.h"

enum package_manager {
	PACKAGE_dpkg,
	PACKAGE_rpm,
	PACKAGE_pip,
	PACKAGE_conda,
	PACKAGE_pyenv,
	PACKAGE_nix,
	PACKAGE_guix,
	PACKAGE_spack,
	PACKAGE_MANAGERS
};
extern const char *const package_manager_name[PACKAGE_MANAGERS];

/* Texts are NUL-terminated UTF-8 and belong to the packages; "" where nothing is known, but for name and version. */
struct package {
	enum package_manager manager;
	const char *name, *version, *arch;
	const char *source; /* the source package that it was built from */
	const char *homepage, *maintainer;
	const char *summary; /* one line: what it is */
};
struct packages {
	VEC(struct package) v; /* in the order in which they were found */
	struct arena texts;
	char distribution[64]; /* ID of os-release: debian; "" unknown */
	char release[64];      /* its VERSION_CODENAME: bookworm; "" unknown */
};

/* Of each of n paths (absolute) its package, as a place in p->v; VEC_NONE: none is known, or several claim the file.
 * What Python compiled (__pycache__) is of the package of its source, if that has one. p is zeroed before the first
 * call, and may be used again. 0 or -ENOMEM. */
int packages_find(struct packages *p, const char *const *paths, size_t n, uint32_t *ret);
void packages_release(struct packages *p);

#endif

/* packages_folders.c - what pip and conda left in folders: NAME-VERSION.dist-info beside Python packages, and
 * conda-meta/NAME-VERSION-BUILD.json in a prefix of conda.
 *
 * Both may be anybody's. No link at the end of a name is followed, at most ENTRIES_MOST entries of a folder are looked
 * at, and of a document no more than its bound is read. A file that two of them claim is of none. */
#include "base/io.h"
#include "software/packages_int.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MOST 10000
#define RECORD_MOST ((size_t)8 << 20) /* bytes: torch's has 2 MB */
#define META_MOST ((size_t)32 << 20)  /* bytes: a large package lists 50,000 files, with a digest each */
#define MARK UINT32_MAX               /* of no use as a place: VEC_NONE */

/* A folder with one document, or folder, for each package: those whose names end so. */
struct folder {
	struct packages *p;
	const struct packages_asked *a;
	const char *base; /* the folder that paths in documents begin from, with a slash at its end */
	size_t base_n;
	const bool *open; /* beside a->at: nothing had answered it before these folders are looked at */
	bool *twice;      /* beside a->at: two packages claim it */
};

/* Appends a regular file below fd. 0, -errno. */
static int read_below(int fd, const char *name, size_t most, struct buf *ret)
{
	struct stat st;
	int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		return -errno;
	int r = fstat(file, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? io_read_rest(file, most, ret) : -EINVAL;
	close(file);
	return r;
}

/* Calls each for the entries of a folder that end so, with its descriptor. What cannot be read has none. 0, or what
 * each returned other than 0. */
static int each_entry(const char *path, const char *suffix, int (*each)(struct folder *f, int fd, const char *name),
                      struct folder *f)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	size_t n = 0;
	for (struct dirent *e; r == 0 && n < ENTRIES_MOST && (e = readdir(d)); n++)
		if (str_ends(str_of(e->d_name), str_of(suffix)))
			r = each(f, dirfd(d), e->d_name);
	closedir(d);
	return r;
}

/* The path of question i below the base; NULL: it is not below it, or was answered elsewhere. */
static const char *path_below(const struct folder *f, size_t i)
{
	const char *path = f->a->paths[i];
	return f->open[i] && strncmp(path, f->base, f->base_n) == 0 ? path + f->base_n : NULL;
}

/* Question i is answered: by that package, or, if it had another answer from this folder, by none. */
static void claim(struct folder *f, size_t i, uint32_t package)
{
	if (f->a->at[i] != VEC_NONE && f->a->at[i] != package)
		f->twice[i] = true;
	f->a->at[i] = package;
}

/* ---- pip ---- */

/* Are they one name to Python: without difference between capitals and others, and between - and _ ? */
static bool is_same_name(struct str a, struct str b)
{
	bool same = a.n == b.n && a.n;
	for (size_t i = 0; same && i < a.n; i++) {
		char x = a.p[i] == '-' || a.p[i] == '.' ? '_' : (char)tolower((unsigned char)a.p[i]);
		char y = b.p[i] == '-' || b.p[i] == '.' ? '_' : (char)tolower((unsigned char)b.p[i]);
		same = x == y;
	}
	return same;
}

/* Does the list of a package's files, a path and a comma at the begin of each line, have the path? */
static bool lists_path(struct str record, const char *path)
{
	size_t n = strlen(path);
	for (const char *at = record.p; at && (at = memmem(at, record.n - (size_t)(at - record.p), path, n)); at++) {
		size_t begin = (size_t)(at - record.p);
		if ((!begin || at[-1] == '\n') && begin + n < record.n && at[n] == ',')
			return true;
	}
	return false;
}

/* One NAME-VERSION.dist-info. 0, -ENOMEM. */
static int take_dist_info(struct folder *f, int fd, const char *entry)
{
	/* each_entry has seen the suffix, which has a hyphen of its own. */
	const struct str both = str_n(entry, strlen(entry) - strlen(".dist-info"));
	const char *hyphen = both.n ? memchr(both.p, '-', both.n) : NULL;
	struct str name = str_n(entry, hyphen ? (size_t)(hyphen - entry) : 0);
	struct str version = hyphen ? str_n(hyphen + 1, both.n - name.n - 1) : str_n(NULL, 0);
	char list[NAME_MAX + 16];
	struct buf record = {0};
	uint32_t package = MARK;
	int r = 0;
	if (!name.n || !version.n || strlen(entry) > NAME_MAX)
		return 0;
	strcpy(stpcpy(list, entry), "/RECORD");
	bool listed = read_below(fd, list, RECORD_MOST, &record) == 0 && record.n;
	for (size_t i = 0; i < f->a->n && r == 0; i++) {
		const char *path = path_below(f, i);
		bool own = path && (listed ? lists_path(buf_view(&record), path)
		                           : is_same_name(name, str_n(path, strcspn(path, "/."))));
		if (!own)
			continue;
		if (package == MARK) {
			struct package like = {
			    .manager = PACKAGE_pip, .name = packages_text(f->p, name), .version = packages_text(f->p, version)};
			package = like.name && like.version ? packages_add(f->p, &like) : MARK;
			r = package == MARK ? -ENOMEM : 0;
		}
		if (r == 0)
			claim(f, i, package);
	}
	buf_release(&record);
	return r;
}

/* ---- conda ---- */

/* The text of a member of the object; "" where there is none, or it is no text. It belongs to o. */
static const char *member_text(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));
	return text ? text : "";
}

/* One conda-meta/NAME-VERSION-BUILD.json. 0, -ENOMEM. */
static int take_conda_meta(struct folder *f, int fd, const char *entry)
{
	struct buf text = {0};
	json_t *meta =
	    read_below(fd, entry, META_MOST, &text) == 0 ? json_loadb(text.p ? text.p : "", text.n, 0, NULL) : NULL;
	buf_release(&text);
	const struct package like = {.manager = PACKAGE_conda,
	                             .name = member_text(meta, "name"),
	                             .version = member_text(meta, "version"),
	                             .arch = member_text(meta, "subdir"),
	                             .source = member_text(meta, "build")};
	const json_t *files = json_object_get(meta, "files"), *one;
	size_t k;
	int r = 0;
	json_array_foreach(files, k, one)
	{
		const char *path = json_string_value(one);
		for (size_t i = 0; path && r == 0 && *like.name && *like.version && i < f->a->n; i++) {
			const char *asked = path_below(f, i);
			if (!asked || strcmp(asked, path) != 0)
				continue;
			uint32_t package = packages_add(f->p, &like);
			r = package == VEC_NONE ? -ENOMEM : 0;
			if (r == 0)
				claim(f, i, package);
		}
	}
	json_decref(meta);
	return r;
}

/* ---- where to look ---- */

/* The length of the folder, with the slash at its end, in which pip would have put the file. 0: in none. */
static size_t pip_folder(const char *path)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/"};
	size_t n = 0;
	for (size_t i = 0; i < 2; i++)
		for (const char *at = path; (at = strstr(at, names[i])); at++)
			n = (size_t)(at - path) + strlen(names[i]);
	return n;
}

/* The length of the prefix of conda that the file is in, with its slash; 0: it is in none. */
static size_t conda_prefix(const char *path)
{
	char meta[PATH_MAX];
	struct stat st;
	for (size_t n = strlen(path); n > 1; n--) {
		if (path[n - 1] != '/' || n + sizeof("conda-meta") > sizeof(meta))
			continue;
		memcpy(meta, path, n);
		memcpy(meta + n, "conda-meta", sizeof("conda-meta"));
		if (lstat(meta, &st) == 0 && S_ISDIR(st.st_mode))
			return n;
	}
	return 0;
}

/* The folder with the documents of question i's folder of base_n bytes; like: of which folder is not said yet. 0,
 * -ENOMEM. */
static int read_folder(const struct folder *like, size_t i, size_t base_n, bool conda)
{
	char *base = strndup(like->a->paths[i], base_n), *meta = NULL;
	if (!base)
		return -ENOMEM;
	struct folder f = *like;
	f.base = base;
	f.base_n = base_n;
	int r = 0;
	if (!conda)
		r = each_entry(base, ".dist-info", take_dist_info, &f);
	else if ((meta = malloc(base_n + sizeof("conda-meta"))))
		r = each_entry(strcat(strcpy(meta, base), "conda-meta"), ".json", take_conda_meta, &f);
	else
		r = -ENOMEM;
	free(meta);
	free(base);
	return r;
}

/* The files that nothing else knew, each folder once. 0, -ENOMEM. */
static int read_folders(struct packages *p, const struct packages_asked *a, bool conda, bool *twice)
{
	size_t *base = calloc(a->n, sizeof(*base));
	bool *open = calloc(a->n, sizeof(*open));
	const struct folder like = {.p = p, .a = a, .open = open, .twice = twice};
	int r = base && open ? 0 : -ENOMEM;
	for (size_t i = 0; i < a->n && r == 0; i++) {
		open[i] = a->at[i] == VEC_NONE;
		base[i] = !open[i] ? 0 : conda ? conda_prefix(a->paths[i]) : pip_folder(a->paths[i]);
	}
	for (size_t i = 0; i < a->n && r == 0; i++) {
		bool before = !base[i];
		for (size_t k = 0; k < i && !before; k++)
			before = base[k] == base[i] && strncmp(a->paths[k], a->paths[i], base[i]) == 0;
		if (!before)
			r = read_folder(&like, i, base[i], conda);
	}
	free(base);
	free(open);
	return r;
}

int packages_read_folders(struct packages *p, const struct packages_asked *a)
{
	bool *twice = calloc(a->n, sizeof(*twice));
	int r = twice ? 0 : -ENOMEM;
	r = r < 0 ? r : read_folders(p, a, false, twice);
	r = r < 0 ? r : read_folders(p, a, true, twice);
	for (size_t i = 0; i < a->n && r == 0; i++)
		if (twice[i])
			a->at[i] = VEC_NONE;
	free(twice);
	return r;
}

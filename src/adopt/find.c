/* find.c - the folder's tree, and in it what the readers know. */
#include "adopt/readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MOST 16
#define ENTRIES_MOST 20000000

struct search {
	struct adopt_jobs *l;
	struct buf path;
	uint64_t entries;
};

/* How a reader knows its files. */
enum known_by { KNOWN_NAME, KNOWN_ENDING, KNOWN_BEGINNING };
static const struct {
	enum known_by by;
	const char *word;
	int (*read)(struct adopt_jobs *l, int folder, const char *path, const char *name);
} files[] = {
    {KNOWN_NAME, ".command.run", adopt_read_nextflow},
    {KNOWN_NAME, "ro-crate-metadata.json", adopt_read_ro_crate},
    {KNOWN_ENDING, ".strace", adopt_read_strace},
    {KNOWN_BEGINNING, "strace.", adopt_read_strace},
    {KNOWN_NAME, "dvc.lock", adopt_read_dvc},
    {KNOWN_NAME, "meta.yaml", adopt_read_mlflow},
    {KNOWN_NAME, ".ninja_log", adopt_read_ninja},
    {KNOWN_NAME, "compile_commands.json", adopt_read_compile_commands},
    {KNOWN_NAME, "trace.sqlite3", adopt_read_reprozip},
    {KNOWN_ENDING, ".gitlog", adopt_read_datalad},
    {KNOWN_ENDING, ".darshan.txt", adopt_read_darshan},
    {KNOWN_BEGINNING, "audit.log", adopt_read_audit},
    {KNOWN_ENDING, ".sacct", adopt_read_sacct},
    {KNOWN_ENDING, ".audit", adopt_read_audit},
    {KNOWN_ENDING, ".json", adopt_read_openlineage},
    {KNOWN_ENDING, ".jsonl", adopt_read_openlineage},
    {KNOWN_ENDING, ".ndjson", adopt_read_openlineage},
};

/* Does a file's name show that it is of the kind: is it `word`, or does it end or begin with that, as `by` says? */
static bool is_known(enum known_by by, const char *name, const char *word)
{
	switch (by) {
	case KNOWN_NAME:
		return strcmp(name, word) == 0;
	case KNOWN_ENDING:
		return str_ends(str_of(name), str_of(word));
	case KNOWN_BEGINNING:
		return str_starts(str_of(name), str_of(word));
	}
	return false;
}

/* What lies in a folder by this name, if a reader knows it: the first of the table that does. 0, also where none does;
 * -ENOMEM. */
static int look_at_file(struct search *s, int folder, const char *name)
{
	if (str_ends(buf_view(&s->path), str_of("/.datalad/runinfo")))
		return adopt_read_datalad_sidecar(s->l, folder, buf_cstr(&s->path), name);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (is_known(files[i].by, name, files[i].word))
			return files[i].read(s->l, folder, buf_cstr(&s->path), name);
	return 0;
}

/* Takes fd, which it closes. Links and .git are passed over, so is what cannot be opened, and what lies deeper than
 * DEPTH_MOST. At ENTRIES_MOST entries it stops, and says so in l->passed. 0, -ENOMEM. */
static int search_folder(struct search *s, int fd, unsigned depth)
{
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	const size_t path = s->path.n;
	int rc = 0;
	for (struct dirent *e; rc == 0 && (e = readdir(d)) && s->entries++ < ENTRIES_MOST;) {
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, ".git"))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode)) {
			rc = look_at_file(s, dirfd(d), e->d_name);
			continue;
		}
		if (!S_ISDIR(st.st_mode) || depth >= DEPTH_MOST)
			continue;
		if (!strcmp(e->d_name, ".snakemake")) {
			rc = adopt_read_snakemake(s->l, dirfd(d), buf_cstr(&s->path));
			continue;
		}
		int below = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			continue;
		buf_printf(&s->path, "/%s", e->d_name);
		rc = s->path.failed ? -ENOMEM : 0;
		if (rc == 0)
			rc = search_folder(s, below, depth + 1);
		else
			close(below);
		s->path.n = path;
	}
	closedir(d);
	if (rc == 0 && s->entries >= ENTRIES_MOST)
		rc = adopt_pass(s->l, buf_cstr(&s->path), "there are too many files");
	return rc;
}

int adopt_find(const char *folder, struct adopt_jobs *ret, struct err *err)
{
	*ret = (struct adopt_jobs){.full = false};
	char *path = realpath(folder, NULL);
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd < 0) {
		free(path);
		return err_set(err, errno, "cannot read the folder '%s'", folder);
	}
	struct stat st;
	ret->folder = adopt_text(ret, str_of(path));
	ret->owner = fstat(fd, &st) == 0 ? st.st_uid : geteuid();
	struct search s = {.l = ret};
	if (strcmp(path, "/") != 0)
		buf_str(&s.path, str_of(path));
	free(path);
	int rc = ret->folder ? search_folder(&s, fd, 0) : (close(fd), -ENOMEM);
	buf_release(&s.path);
	if (ret->full)
		return err_set(err, E2BIG, "there are more than %d jobs in '%s'", ADOPT_JOBS_MOST, folder);
	return rc < 0 ? err_set(err, -rc, "cannot read what is in '%s'", folder) : 0;
}

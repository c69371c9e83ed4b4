/* read_nextflow.c - a task's folder below Nextflow's work: .command.run (in its head the task's name), .command.sh (the
 * script), .command.begin and .exitcode (when it began and ended; how). Inputs are the links that Nextflow staged,
 * outputs the files that the task left. What it published elsewhere by a copy is not known. */
#include "adopt/readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* When a file of the task was written, TIME_NONE where there is none. ns. */
static int64_t written(int folder, const char *name)
{
	struct stat st;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return TIME_NONE;
	return st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
}

/* Gives the task's name, as ALIGN (sample A), from the text of a .command.run: its first 4096 bytes have the line
 * "### name: 'ALIGN (sample A)'". The result is a part of text; it is empty where there is no such line. */
static struct str task_name(struct str text)
{
	static const char before[] = "\n### name: '";
	const char *at = memmem(text.p, text.n < 4096 ? text.n : 4096, before, sizeof(before) - 1);
	if (!at)
		return str_of("");
	at += sizeof(before) - 1;
	const char *end = memchr(at, '\n', (size_t)(text.p + text.n - at));
	while (end && end > at && *end != '\'')
		end--;
	return end && end > at ? str_n(at, (size_t)(end - at)) : str_of("");
}

/* Regular files in the folder, but Nextflow's own, are outputs, links are inputs; folders are passed over. 0, too where
 * the folder cannot be read; -ENOMEM. */
static int take_files(struct adopt_jobs *l, struct adopt_job *j, int folder, const char *path)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	int rc = 0;
	char to[PATH_MAX];
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		struct stat st;
		if (!strncmp(e->d_name, ".command.", 9) || !strcmp(e->d_name, ".exitcode") || !strcmp(e->d_name, ".") ||
		    !strcmp(e->d_name, "..") || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ssize_t n = S_ISLNK(st.st_mode) ? readlinkat(dirfd(d), e->d_name, to, sizeof(to)) : 0;
		if (n > 0 && n < (ssize_t)sizeof(to))
			rc = adopt_input(l, j, path, str_n(to, (size_t)n));
		else if (S_ISREG(st.st_mode))
			rc = adopt_output(l, j, path, str_of(e->d_name));
	}
	closedir(d);
	return rc;
}

/* Beside .command.run. 0, also where it cannot be read or says nothing; -ENOMEM. */
int adopt_read_nextflow(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf run = {0}, script = {0}, code = {0};
	int rc = adopt_file(folder, name, &run);
	struct adopt_job *j = rc < 0 ? NULL : adopt_job_new(l, ADOPT_nextflow, path);
	if (rc == 0 && !j)
		rc = -ENOMEM;
	if (rc == 0) {
		j->name = adopt_text(l, task_name(buf_view(&run)));
		j->cwd = j->source;
		j->start = written(folder, ".command.begin");
		j->end = written(folder, ".exitcode");
		if (!j->name)
			rc = -ENOMEM;
	}
	if (rc == 0 && adopt_file(folder, ".command.sh", &script) == 0 && script.n)
		rc = adopt_shell(l, j, buf_view(&script));
	if (rc == 0 && adopt_file(folder, ".exitcode", &code) == 0 && code.n && code.n < 8) {
		char *end;
		long n = strtol(buf_cstr(&code), &end, 10);
		j->ended = end != code.p && n >= 0 && n < 256;
		j->code = j->ended ? (int)n : 0;
	}
	if (rc == 0)
		rc = take_files(l, j, folder, path);
	l->sources[ADOPT_nextflow] += rc == 0;
	buf_release(&run);
	buf_release(&script);
	buf_release(&code);
	return rc == -ENOMEM ? rc : 0;
}

/* fuzz_home.h - a record that holds the two segments of an input (fuzz_frames.h) and nothing else. */
#ifndef STEMMA_FUZZ_HOME_H
#define STEMMA_FUZZ_HOME_H

#include "fuzz_frames.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

static char fuzz_home[] = "/dev/shm/stemma-fuzz-home.XXXXXX";

static inline int fuzz_home_drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static inline void fuzz_home_clean(void)
{
	nftw(fuzz_home, fuzz_home_drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* An empty folder of the home, made anew. */
static inline void fuzz_home_folder(const char *name)
{
	static bool made;
	char path[128];
	if (!made) {
		must(mkdtemp(fuzz_home) && setenv("XDG_RUNTIME_DIR", fuzz_home, 1) == 0);
		atexit(fuzz_home_clean);
		made = true;
	}
	snprintf(path, sizeof(path), "%s/%s", fuzz_home, name);
	nftw(path, fuzz_home_drop, 8, FTW_DEPTH | FTW_PHYS);
	must(mkdir(path, 0700) == 0);
}

static inline void fuzz_home_file(const char *name, const struct buf *b)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", fuzz_home, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, b->p, b->n) == (ssize_t)b->n);
	close(fd);
}

static inline void fuzz_home_logs(const struct buf in[2])
{
	fuzz_home_folder("logs");
	fuzz_home_folder("logs/a");
	fuzz_home_folder("logs/a/2026-01-01");
	fuzz_home_file("logs/a/2026-01-01/0.stl", &in[0]);
	fuzz_home_file("logs/a/2026-01-01/1.stl", &in[1]);
}

#endif

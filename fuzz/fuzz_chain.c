/* Chains of seals in logs of any events (fuzz_frames.h), with anybody's seals and tombstones among them: they are
 * verified without harm, what is over is sealed, and what was just sealed matches and is not sealed again. */
#include "fuzz_frames.h"
#include "trust/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

static char home[] = "/dev/shm/stemma-fuzz-chain.XXXXXX";

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void clean(void)
{
	nftw(home, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* A record that holds the two segments and nothing else. */
static void begin(const struct buf in[2])
{
	static bool made;
	char path[128];
	if (!made) {
		must(mkdtemp(home) && setenv("XDG_RUNTIME_DIR", home, 1) == 0);
		atexit(clean);
		made = true;
	}
	snprintf(path, sizeof(path), "%s/logs", home);
	nftw(path, drop, 8, FTW_DEPTH | FTW_PHYS);
	must(mkdir(path, 0700) == 0);
	strcat(path, "/a");
	must(mkdir(path, 0700) == 0);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/logs/a/%d.stl", home, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		must(fd >= 0 && write(fd, in[i].p, in[i].n) == (ssize_t)in[i].n);
		close(fd);
	}
}

static void say(void *arg, const char *line)
{
	must(line[0] != '\0');
	++*(uint64_t *)arg;
}

static int each(void *arg, const char *name, const char *hash, const char *signature)
{
	must(name && signature && strlen(hash) == 64);
	++*(uint64_t *)arg;
	return 0;
}

static struct chain_report verify(struct chain *c, const char *expect)
{
	struct chain_report r;
	struct err err = {0};
	uint64_t said = 0, seals = 0;
	must(chain_verify(c, expect, say, &said, &err, &r) == 0);
	must(said == r.problems && chain_each(c, each, &seals) == 0 && seals == r.seals);
	return r;
}

static struct chain *opened(void)
{
	struct chain *c;
	struct err err = {0};
	must(chain_open(home, false, &err, &c) == 0);
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf in[2] = {0};
	struct err err = {0};
	struct chain_seal_result sealed, again;
	uint64_t *matched = NULL;
	size_t n = 0;
	frames_cut(data, size, in);
	begin(in);
	struct chain *c = opened();
	struct chain_report before = verify(c, "00");
	must(!before.expected && chain_matching(c, &err, &matched, &n) == 0 && n <= before.sessions);
	must(chain_cut(c, matched, n, &err) == 0); /* nothing was taken out: nothing is sealed again */
	int r = chain_seal(c, NULL, NULL, &err, &sealed);
	must(r == 0 || err.text[0]);
	chain_close(c);
	if (r == 0) {
		c = opened();
		struct chain_report after = verify(c, sealed.head[0] ? sealed.head : NULL);
		must(after.seals == before.seals + sealed.seals);
		must(after.expected || !sealed.seals);
		must(after.sessions >= before.sessions);
		must(chain_seal(c, NULL, NULL, &err, &again) == 0 && !again.seals && again.waiting == sealed.waiting);
		chain_close(c);
	}
	free(matched);
	buf_release(&in[0]);
	buf_release(&in[1]);
	return 0;
}

/* A repository's own files, which come with the repository: what stands in .git, or in the file that stands for it, and
 * what was kept of git's last answer. What is found is a commit's name and nothing else.
 *
 * An input is chunks: which file (1 byte), length (2, little-endian), so many bytes. */
#include "cc/git.h"
#include "fuzz_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char top[] = "/dev/shm/stemma-fuzz-git.XXXXXX";
static const char *const files[] = {".git/HEAD",      ".git/packed-refs", ".git/commondir",
                                    ".git/refs/head", "link/.git",        "elsewhere/packed-refs"};
enum { FILES = sizeof(files) / sizeof(files[0]) };

static void clean(void)
{
	static const char *const folders[] = {".git/refs", ".git", "link", "elsewhere", "."};
	int at = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < FILES; i++)
		unlinkat(at, files[i], 0);
	for (size_t i = 0; i < 4; i++)
		unlinkat(at, folders[i], AT_REMOVEDIR);
	close(at);
	rmdir(top);
}

static int begin(void)
{
	static int at = -1;
	if (at < 0) {
		must(mkdtemp(top) != NULL);
		at = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
		must(at >= 0 && mkdirat(at, ".git", 0700) == 0 && mkdirat(at, ".git/refs", 0700) == 0 &&
		     mkdirat(at, "link", 0700) == 0 && mkdirat(at, "elsewhere", 0700) == 0);
		atexit(clean);
	}
	return at;
}

static void ask(const char *dir)
{
	struct git_place place;
	size_t n = 0;
	if (!git_commit(dir, &place))
		return;
	n = strlen(place.commit);
	must((n == 40 || n == 64) && strspn(place.commit, "0123456789abcdef") == n);
	must(strnlen(place.top, sizeof(place.top)) < sizeof(place.top) && strstr(place.index, "/index"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int at = begin();
	char link[64];
	for (int i = 0; i < FILES; i++)
		unlinkat(at, files[i], 0);
	for (int k = 0; size > 3 && k < FILES; k++) {
		size_t n = data[1] | (size_t)data[2] << 8;
		n = n < size - 3 ? n : size - 3;
		int fd = openat(at, files[data[0] % FILES], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		must(fd >= 0 && write(fd, data + 3, n) == (ssize_t)n);
		close(fd);
		data += 3 + n;
		size -= 3 + n;
	}
	ask(top);
	snprintf(link, sizeof(link), "%s/link", top);
	ask(link);
	return 0;
}

#include "trust/content.h"

#include "base/os/still.h"

#include <fcntl.h>
#include <stdlib.h>

bool content_now(struct digest_cache *cache, const struct version_info *v, const struct file_info *f, uint64_t most,
                 char ret[DIGEST_TEXT])
{
	const struct still_print print = {
	    .domain = f->domain, .ino = f->ino, .gen = f->gen, .size = v->size, .mtime = v->mtime};
	struct digest d;
	struct stat st;
	if (!v->has_size || (most && v->size > most) || !f->path.n || f->within)
		return false;
	char *path = strndup(f->path.p, f->path.n);
	bool same = path && still_looks_so(path, &print) && digest_file(cache, AT_FDCWD, path, &d, &st) == 0 &&
	            (uint64_t)st.st_size == v->size &&
	            (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == v->mtime;
	if (same)
		digest_text(&d, ret);
	free(path);
	return same;
}

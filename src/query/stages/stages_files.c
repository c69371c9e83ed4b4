/* stages_files.c - what an engine left in files: read only where the file is still what the record has. */
#include "base/fileid.h"
#include "base/io.h"
#include "query/stages/stages_int.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MOST (64u << 20) /* bytes of a log; one of 100,000 jobs has 30 MB */

/* Is the file what the record has? one: of the version; while that is being written its size says nothing. */
static bool is_as_recorded(const struct fileid *now, const struct version_info *v, const struct file_info *f)
{
	bool open = v->end == TIME_NEVER || v->end == TIME_NONE;
	if (now->ino != f->ino || now->gen != f->gen || !str_is(f->domain, now->domain->name ? now->domain->name : "") ||
	    !S_ISREG(now->st.stx_mode) || v->n != f->versions)
		return false;
	if (open)
		return true;
	return v->has_size && v->size == now->st.stx_size && v->mtime != TIME_NONE &&
	       v->mtime == fileid_time(&now->st.stx_mtime);
}

/* A name leads to anything by now: it is looked at before it is opened, and what was opened is looked at again. A
 * descriptor, the caller's; -1 where the file is not as it was recorded, or cannot be opened. */
static int open_recorded(const char *path, const struct version_info *v, const struct file_info *f)
{
	struct fileid now;
	struct statx st;
	if (fileid_get(AT_FDCWD, path, false, &now) < 0 || !is_as_recorded(&now, v, f))
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	bool same = statx(fd, "", AT_EMPTY_PATH, FILEID_STATX, &st) == 0;
	if (same) {
		fileid_of(fd, "", AT_EMPTY_PATH, &st, &now);
		same = is_as_recorded(&now, v, f);
	}
	if (same)
		return fd;
	close(fd);
	return -1;
}

/* A file that would have told more and is not there as it was, once. 0, -ENOMEM. */
static int note_missed(struct stages *st, struct str path)
{
	char *text = stages_keep(st, path);
	if (!text || !vec_has_room(st->missed, st->n_missed, st->cap_missed))
		return -ENOMEM;
	for (size_t i = 0; i < st->n_missed; i++)
		if (strcmp(st->missed[i], text) == 0)
			return 0;
	st->missed[st->n_missed++] = text;
	return 0;
}

int stages_read(struct stages *st, store_id version, struct buf *ret)
{
	struct version_info v;
	struct file_info f;
	struct buf path = {0};
	int r = store_version(st->s, version, &v);
	if (r > 0)
		r = store_file(st->s, v.file, &f);
	if (r <= 0)
		return r;
	buf_str(&path, f.path);
	int fd = path.failed ? -1 : open_recorded(buf_cstr(&path), &v, &f);
	bool got = fd >= 0 && io_read_rest(fd, MOST, ret) == 0;
	if (fd >= 0)
		close(fd);
	r = got ? 1 : note_missed(st, buf_view(&path));
	buf_release(&path);
	return ret->failed ? -ENOMEM : r;
}

/* 0, what each gave, -errno. */
int stages_outputs(struct stages *st, store_id exec, stages_output *each, void *arg)
{
	struct edges e = {0};
	int r = store_outputs(st->s, exec, &e);
	for (size_t i = 0; i < e.n && r == 0; i++) {
		struct version_sort v;
		int found = store_version_sort(st->s, e.v[i].to, &v);
		if (found < 0)
			r = found;
		else if (found && v.kind == TERM_kind_regular && v.path.n)
			r = each(arg, exec, e.v[i].to, v.path);
	}
	edges_release(&e);
	return r;
}

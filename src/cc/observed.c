#include "cc/observed.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>

/* The latest program of that process. */
static uint32_t latest_image(const struct observed *s, uint32_t pid)
{
	for (size_t i = s->images.n; i-- > 0;)
		if (s->images.v[i].pid == pid)
			return (uint32_t)i;
	return VEC_NONE;
}

/* Finds or adds a file that the command has opened. NULL: no memory. path must live as long as s. */
static struct observed_file *observed_file_slot(struct observed *s, const char *path)
{
	uint32_t hash = hash_fold(hash_str(str_of(path))), at;
	for (size_t pos = TABLE_START; (at = table_next(&s->by_path, hash, &pos)) != VEC_NONE;)
		if (strcmp(s->files.v[at].path, path) == 0)
			return &s->files.v[at];
	struct observed_file *f = vec_add(&s->files);
	if (!f || !table_add(&s->by_path, hash, (uint32_t)(s->files.n - 1)))
		return NULL;
	*f = (struct observed_file){.path = path, .image = VEC_NONE};
	return f;
}

/* Takes the entry of an open from the tape. 0, -ENOMEM. Notes that the file was opened, to read or to write. */
static int take_open(struct observed *s, const struct tape_entry *e, const char *path)
{
	struct observed_file *f = observed_file_slot(s, path);
	if (!f)
		return -ENOMEM;
	bool first = !f->read && !f->written, write = (e->value & O_ACCMODE) != O_RDONLY || (e->value & O_TRUNC);
	f->read |= !write || ((e->value & O_ACCMODE) == O_RDWR && !(e->value & (O_TRUNC | O_CREAT)));
	f->written |= write;
	if (first || write)
		f->image = latest_image(s, e->pid);
	return 0;
}

/* Takes the entry of a program that began from the tape. 0, -ENOMEM. The latest exec of the same process has led to
 * it. */
static int append_image(struct observed *s, const struct tape_entry *e, const char *path)
{
	struct observed_image *m = vec_add(&s->images);
	if (!m)
		return -ENOMEM;
	*m = (struct observed_image){.path = path, .pid = e->pid};
	struct observed_exec *mine = NULL;
	for (size_t i = 0; i < s->execs.n; i++)
		if (!s->execs.v[i].began && s->execs.v[i].pid == e->pid)
			mine = &s->execs.v[i];
	m->meant = mine != NULL;
	if (mine)
		mine->began = true;
	return 0;
}

/* Takes an entry of the tape. second: the other name of a rename or link, else NULL. Kinds that are not known are
 * passed over. 0, -ENOMEM. */
static int observe_tape_entry(struct observed *s, const struct tape_entry *e, const char *text, const char *second)
{
	switch (e->kind) {
	case TAPE_IMAGE:
		return append_image(s, e, text);
	case TAPE_OPEN:
		return take_open(s, e, text);
	case TAPE_NAME: {
		struct observed_file *f = second ? observed_file_slot(s, second) : NULL;
		if (!second)
			return 0;
		if (!f)
			return -ENOMEM;
		f->written = true;
		f->image = latest_image(s, e->pid);
		return 0;
	}
	case TAPE_EXEC: {
		struct observed_exec *x = vec_add(&s->execs);
		if (!x)
			return -ENOMEM;
		*x = (struct observed_exec){.path = text, .pid = e->pid, .alone = e->value & TAPE_ALONE};
		return 0;
	}
	default: /* of a newer library */
		return 0;
	}
}

int observed_read(const void *bytes, size_t n, struct observed *ret)
{
	struct observed s = {0};
	const char *p = bytes;
	int rc = 0;
	for (size_t at = 0; rc == 0 && at < n;) {
		struct tape_entry e;
		if (n - at < sizeof(e) + 8) {
			s.lost++;
			break;
		}
		memcpy(&e, p + at, sizeof(e));
		if (e.size < sizeof(e) + 8 || e.size % 8 || e.size > n - at) {
			s.lost++; /* somebody was killed while it was written: what others wrote behind it is lost with it */
			break;
		}
		const char *text = p + at + sizeof(e), *end = p + at + e.size;
		const char *nul = memchr(text, '\0', (size_t)(end - text));
		const char *second = nul && nul + 1 < end ? nul + 1 : NULL;
		if (second && !memchr(second, '\0', (size_t)(end - second)))
			second = NULL;
		if (nul)
			rc = observe_tape_entry(&s, &e, text, second);
		else
			s.lost++;
		at += e.size;
	}
	if (rc < 0) {
		observed_release(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* s itself may not be used afterwards. */
void observed_release(struct observed *s)
{
	vec_release(&s->images);
	vec_release(&s->files);
	vec_release(&s->execs);
	table_release(&s->by_path);
}

const char *observed_program(const struct observed *s, uint32_t image)
{
	const char *path = image < s->images.n ? s->images.v[image].path : "";
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Files: those that were met, by inode or address, and what is told of each. */
#include "base/io.h"
#include "capture/supervisor/calls.h"
#include "capture/supervisor/channels/sockets.h"
#include "capture/supervisor/files_int.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/paths/far.h"
#include "capture/supervisor/super.h"
#include "redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xxhash.h>

/* Its chain among the known files. */
static unsigned file_hash_slot(uint64_t dev, uint64_t ino)
{
	uint64_t h = (ino ^ dev << 40 ^ dev) * 0x9e3779b97f4a7c15u;
	return (unsigned)(h >> 52) & (HASH_SIZE - 1);
}

/* Times in ns. */
struct fingerprint fingerprint_of(const struct statx *st)
{
	return (struct fingerprint){true, st->stx_size, fileid_time(&st->stx_mtime), fileid_time(&st->stx_ctime)};
}

/* The time of birth in ns; 0: the file system does not tell. */
static int64_t birth_of(const struct statx *st)
{
	return st->stx_mask & STATX_BTIME ? fileid_time(&st->stx_btime) : 0;
}

/* NULL: it is not known. Nothing is made. */
struct file *file_known(struct sup *s, const struct statx *st)
{
	uint64_t dev = fileid_dev(st);
	for (struct file *f = s->files[file_hash_slot(dev, st->stx_ino)]; f; f = f->next)
		if (f->ino == st->stx_ino && f->dev == dev && (f->btime == birth_of(st) || f->domain->birth_changes) &&
		    (!f->gone || st->stx_nlink == 0)) /* one that is gone and has a name is another, with its inode */
			return f;
	return NULL;
}

/* Only for files that nothing refers to. */
static void file_free(struct sup *s, struct file *f)
{
	openings_forget(s, f);
	feature_pipe_forget(s, f);
	free(f->path);
	free(f->alias);
	free(f->told);
	free(f->interpreter);
	free(f);
}

/* Takes a file out of the table: it is not found any longer by its identity. */
static void file_unhash(struct sup *s, struct file *f)
{
	struct file **at = &s->files[file_hash_slot(f->dev, f->ino)];
	while (*at && *at != f)
		at = &(*at)->next;
	if (*at) {
		*at = f->next;
		s->nfiles--;
	}
	f->next = NULL;
}

/* Forgets files nobody uses, those not met since the last time first. They get a new number when they come back. */
static void files_shrink(struct sup *s)
{
	for (int pass = 0; pass < 2 && s->nfiles > FILES_MAX * 3 / 4; pass++)
		for (unsigned i = 0; i < HASH_SIZE; i++)
			for (struct file **at = &s->files[i]; *at;) {
				struct file *f = *at;
				if (f->live || f->pins || (f->recent && !pass)) {
					f->recent = false;
					at = &f->next;
					continue;
				}
				*at = f->next;
				s->nfiles--;
				file_free(s, f);
			}
}

void file_gone(struct sup *s, struct file *f)
{
	f->gone = true;
	file_drop(s, f);
}

bool file_is_written(const struct file *f)
{
	for (const struct access *a = f->live; a; a = a->file_next)
		if (a->mode & ACCESS_WRITE)
			return true;
	return false;
}

/* Frees a file without a name that nobody has open; else nothing. */
void file_drop(struct sup *s, struct file *f)
{
	if (!f->gone || f->live || f->pins)
		return;
	file_unhash(s, f);
	file_free(s, f);
}

/* Has the file system no disk? */
static bool lies_in_memory(const struct file *f)
{
	static const char *const types[] = {"tmpfs", "ramfs", "hugetlbfs"};
	for (size_t i = 0; f->domain && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(f->domain->type, types[i]))
			return true;
	return false;
}

void file_keep(struct sup *s, struct file *f, const struct where *w, const struct statx *st, bool needed)
{
	const struct run_keeper *k = s->keeper;
	if (!k || !f || f->kept || f->kind != TERM_kind_regular || !S_ISREG(st->stx_mode) || !(needed || f->read))
		return;
	bool same = fileid_time(&st->stx_ctime) < k->began || (f->untouched && fileid_time(&st->stx_mtime) < k->began);
	if (f->far || sup_far(s) || !same)
		return;
	f->kept = true;
	k->keep(k->arg, f->num, w->dirfd, w->path, makedev(st->stx_dev_major, st->stx_dev_minor), st->stx_ino);
}

void file_notify_observer(struct sup *s, const struct file *f, const char *path, int64_t size, unsigned mode,
                          bool handed)
{
	if (s->observer && s->observer->file && f->kind == TERM_kind_regular)
		s->observer->file(s->observer->arg, f->num, path, size, mode & (ACCESS_READ | ACCESS_WRITE), handed);
	if ((mode & ACCESS_WRITE) && s->observer && f->kind == TERM_kind_regular && lies_in_memory(f))
		calls_note_memory(s);
}

/* path is copied; NULL, or no memory: it keeps its name. */
void file_rename(struct sup *s, struct file *f, const char *path)
{
	char *copy = path ? strdup(path) : NULL;
	if (copy) {
		free(f->path);
		f->path = copy;
		file_told(f, copy);
		file_notify_observer(s, f, copy, -1, 0, false);
	}
}

void file_told(struct file *f, const char *path)
{
	free(f->told);
	f->told = f->path && !strcmp(f->path, path) ? NULL : strdup(path);
}

struct file *file_get_opened(struct sup *s, struct proc *p, struct where *w, bool follow, const struct statx *st)
{
	struct file *known = S_ISREG(st->stx_mode) && st->stx_nlink > 1 ? file_known(s, st) : NULL;
	if (!known || !known->path || known->hidden || w->object >= 0)
		return file_get(s, w, follow, st);
	const char *told = known->told ? known->told : known->path;
	known->recent = true;
	if (!w->foreign && !strcmp(w->given, told))
		return known;
	char *name = where_real_of(w, follow, st);
	if (name && name[0] == '/' && strcmp(name, told) != 0) {
		struct event ev = {.name = {.op = TERM_nameop_seen, .file = known->num, .path = str_of(name)}};
		sup_event(s, EVENT_name, sup_now(s), p, &ev);
		file_told(known, name);
	}
	free(name);
	return known;
}

/* Takes over f. May free files that nothing refers to. */
static struct file *file_add(struct sup *s, struct file *f)
{
	if (s->nfiles >= FILES_MAX)
		files_shrink(s);
	unsigned i = file_hash_slot(f->dev, f->ino);
	f->next = s->files[i];
	s->files[i] = f;
	s->nfiles++;
	f->num = ++s->known->files;
	f->recent = true;
	return f;
}

/* The session's number of the domain, told to the log at its first use. */
static uint64_t emit_domain(struct sup *s, const struct fs_domain *d)
{
	unsigned num = d->index ? d->index : 4096;
	if (!s->domain_said[num]) {
		struct event ev = {
		    .domain = {.num = num, .name = str_of(d->name), .type = str_of(d->type), .network = d->network}};
		sup_event(s, EVENT_domain, sup_now(s), NULL, &ev);
		s->domain_said[num] = true;
	}
	return num;
}

/* Of a pseudo-terminal the side of who plays the terminal, as an emulator, tmux or expect does. */
bool file_is_master(const struct statx *st)
{
	return S_ISCHR(st->stx_mode) && st->stx_rdev_major == 5 && st->stx_rdev_minor == 2;
}

bool file_is_terminal(const struct statx *st)
{
	unsigned maj = st->stx_rdev_major;
	return S_ISCHR(st->stx_mode) && !file_is_master(st) && (maj == 4 || maj == 5 || (maj >= 136 && maj <= 143));
}

/* Who has it open serves file systems (fuse.h; linux/miscdevice.h has the number). */
bool file_is_fuse(const struct statx *st)
{
	return S_ISCHR(st->stx_mode) && st->stx_rdev_major == 10 && st->stx_rdev_minor == 229;
}

/* A TERM_kind_*. */
static unsigned file_kind_of(const struct statx *st, const struct fs_domain *d, const char *path)
{
	switch (st->stx_mode & S_IFMT) {
	case S_IFDIR:
		return TERM_kind_directory;
	case S_IFLNK:
		return TERM_kind_symlink;
	case S_IFIFO:
		return path && path[0] == '/' ? TERM_kind_fifo : TERM_kind_pipe;
	case S_IFSOCK:
		return TERM_kind_socket;
	case S_IFREG:
		/* A tape of stemma cc's, or the copy of a library (capture/attach): no data of theirs. */
		if (path && (!strncmp(path, "/memfd:stemma-cc", 16) || !strncmp(path, "/memfd:stemma-library:", 22)))
			return TERM_kind_pseudo;
		if (path && (!strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5)))
			return TERM_kind_shm;
		return d->pseudo ? TERM_kind_pseudo : TERM_kind_regular;
	default:
		return file_is_terminal(st) ? TERM_kind_terminal : TERM_kind_pseudo;
	}
}

/* The file that X-wal, X-journal and X-shm count to (B14), if it is there. */
static uint64_t group_of(struct sup *s, const struct where *w, const char *path)
{
	static const char *const tails[] = {"-wal", "-journal", "-shm"};
	size_t n = path ? strlen(path) : 0;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t k = strlen(tails[i]), m = strlen(w->path);
		if (n <= k || strcmp(path + n - k, tails[i]) || m <= k || strcmp(w->path + m - k, tails[i]))
			continue;
		struct where base = *w; /* same directory; hold stays w's */
		base.path[m - k] = '\0';
		struct statx st;
		if (where_statx(&base, true, &st) < 0 || !S_ISREG(st.stx_mode))
			return 0;
		struct file *f = file_get(s, &base, true, &st);
		return f ? f->num : 0;
	}
	return 0;
}

/* One number for both ends of a pair: the smaller. Who is whose peer is remembered, since the one that is seen last may
 * have lost its peer by then. */
static uint64_t fifo_pair_of(struct sup *s, uint64_t ino)
{
	for (unsigned i = 0; i < PAIRS; i++)
		if (s->pairs[i][1] == ino)
			return s->pairs[i][0];
	uint64_t peer = socket_unix_peer(ino);
	if (!peer)
		return ino;
	uint64_t *slot = s->pairs[s->next_pair++ % PAIRS];
	slot[0] = peer < ino ? peer : ino;
	slot[1] = peer < ino ? ino : peer;
	return slot[0];
}

/* A close of a descriptor of it, by whoever has a copy. */
static bool may_notice(const struct statx *st, const struct fs_domain *d)
{
	return (S_ISREG(st->stx_mode) || S_ISCHR(st->stx_mode)) && !descriptor_is_near(st, d->type);
}

/* Tells of a new file: it is one of the files known from now on. group: of its hard links, 0 none. */
static struct file *emit_new_file(struct sup *s, struct file *f, uint64_t group)
{
	/* The two ends of a pair are two inodes and one channel. */
	bool pair = f->kind == TERM_kind_socket && f->path && f->path[0] != '/';
	uint64_t channel = pair ? fifo_pair_of(s, f->ino) : f->ino, domain = emit_domain(s, f->domain);
	file_add(s, f);
	struct event ev = {.file = {.num = f->num,
	                            .kind = f->kind,
	                            .domain = domain,
	                            .ino = channel,
	                            .gen = f->gen,
	                            .group = group,
	                            .path = str_of(f->path)}};
	sup_event(s, EVENT_file, sup_now(s), NULL, &ev);
	return f;
}

struct file *file_get(struct sup *s, struct where *w, bool follow, const struct statx *st)
{
	struct file *f = file_known(s, st);
	if (f) {
		f->recent = true;
		return f;
	}
	struct fileid id;
	if (w->object >= 0)
		fileid_of(w->object, "", AT_EMPTY_PATH, st, &id);
	else
		fileid_of(w->dirfd, w->path, follow ? 0 : AT_SYMLINK_NOFOLLOW, st, &id);
	sup_serves(s, file_is_fuse(st));
	sup_set_slow_fs(s, fileid_type_waits(id.domain->type)); /* mounted since the run began */
	s->far |= may_notice(st, id.domain);
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->dev = fileid_dev(st);
	f->ino = st->stx_ino;
	f->gen = id.gen;
	f->btime = birth_of(st);
	f->domain = id.domain;
	f->far = fileid_type_waits(id.domain->type);
	errno = 0;
	f->path = where_real_of(w, follow, st);
	int error = f->path ? 0 : errno;
	if (f->path && feature_owns(s, f->path)) {
		free(f->path);
		free(f);
		return NULL;
	}
	f->kind = file_kind_of(st, id.domain, f->path);
	f->hidden = !f->path || f->path[0] != '/';
	if (f->kind == TERM_kind_regular && st->stx_nlink == 0) {
		free(f->path); /* the name it had is not its name any more */
		f->path = NULL;
		f->gone = true;
	} else if (error) {
		sup_unread(s, NULL, error, "the name of a file could not be read");
	}
	return emit_new_file(s, f, f->kind == TERM_kind_regular && w->object < 0 ? group_of(s, w, f->path) : 0);
}

/* The domain of a device, asked for by a path that may have gone: the nearest folder above it that is still there. */
static const struct fs_domain *emitted_domain(const struct statx *st, const char *path)
{
	char at[4096 + 1];
	snprintf(at, sizeof(at), "%s", path && path[0] == '/' ? path : "");
	while (at[0]) {
		struct statx there;
		if (statx(AT_FDCWD, at, AT_SYMLINK_NOFOLLOW, STATX_INO, &there) == 0 && fileid_dev(&there) == fileid_dev(st))
			break;
		char *slash = strrchr(at, '/');
		if (slash == at && at[1])
			at[1] = '\0';
		else
			*slash = '\0';
	}
	return fileid_domain(AT_FDCWD, at, fileid_dev(st));
}

struct file *file_emitted(struct sup *s, const struct statx *st, bool has_gen, uint64_t gen, const char *path)
{
	struct file *f = file_known(s, st);
	if (f) {
		f->recent = true;
		if (f->kind == TERM_kind_regular && !f->path && st->stx_nlink && path && path[0] == '/')
			file_rename(s, f, path);
		return f;
	}
	if ((path && feature_owns(s, path)) || !(f = calloc(1, sizeof(*f))))
		return NULL;
	uint64_t group = 0;
	f->dev = fileid_dev(st);
	f->ino = st->stx_ino;
	f->btime = birth_of(st);
	f->domain = emitted_domain(st, path);
	s->far |= may_notice(st, f->domain);
	f->gen = f->domain->pseudo ? 0 : has_gen ? gen : f->domain->birth_changes ? 0 : (uint64_t)f->btime;
	f->path = path && *path ? strdup(path) : NULL;
	f->kind = file_kind_of(st, f->domain, f->path);
	f->hidden = !f->path || f->path[0] != '/';
	if (f->kind == TERM_kind_regular && st->stx_nlink == 0) {
		free(f->path);
		f->path = NULL;
		f->gone = true;
	}
	struct where w;
	if (f->kind == TERM_kind_regular && f->path &&
	    where_path(proc_rooted(NULL), getpid(), AT_FDCWD, f->path, true, &w) == 0)
		group = group_of(s, &w, f->path);
	return emit_new_file(s, f, group);
}

uint64_t file_within(struct sup *s, const struct file *f, unsigned kind, uint64_t gen, int64_t time)
{
	struct event ev = {.file = {.num = ++s->known->files,
	                            .kind = kind,
	                            .domain = emit_domain(s, f->domain),
	                            .ino = f->ino,
	                            .gen = gen,
	                            .within = f->num}};
	sup_event(s, EVENT_file, time, NULL, &ev);
	return ev.file.num;
}

/* The channel or absent path of that address, if it is known. ret_ino, ret_dev: what it is looked for by. */
static struct file *address_known(const struct sup *s, unsigned kind, const char *domain, const char *address,
                                  uint64_t *ret_ino, uint64_t *ret_dev)
{
	/* A device number no kernel gives out, so that addresses and files share one table. */
	uint64_t ino = XXH3_64bits(address, strlen(address));
	uint64_t dev = ~XXH3_64bits_withSeed(domain, strlen(domain), kind);
	struct file *f = s->files[file_hash_slot(dev, ino)];
	while (f && (f->ino != ino || f->dev != dev))
		f = f->next;
	*ret_ino = ino;
	*ret_dev = dev;
	return f;
}

struct file *file_absent(const struct sup *s, const char *path)
{
	uint64_t ino, dev;
	return address_known(s, TERM_kind_absent, "", path, &ino, &dev);
}

struct file *file_address(struct sup *s, unsigned kind, const char *domain, const char *address)
{
	static const struct fs_domain nowhere = {.name = "", .type = ""};
	uint64_t ino, dev;
	struct file *f = address_known(s, kind, domain, address, &ino, &dev);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->dev = dev;
	f->ino = ino;
	f->kind = kind;
	f->domain = &nowhere;
	f->path = strdup(address);
	file_add(s, f);
	struct event ev = {.file = {.num = f->num, .kind = kind, .path = str_of(f->path)}};
	struct buf clean = {0};
	if (kind == TERM_kind_absent && strstr(address, "://")) { /* an address that was tried as a file's name */
		redact_text(&clean, str_of(address));
		ev.file.path = buf_view(&clean);
	}
	if (kind != TERM_kind_absent) {
		/* Its domain is the address space: numbered after the file systems. */
		uint64_t num = 5000 + f->num;
		struct event dv = {.domain = {.num = num, .name = str_of(domain)}};
		sup_event(s, EVENT_domain, sup_now(s), NULL, &dv);
		ev.file.domain = num;
		ev.file.ino = ino;
	}
	sup_event(s, EVENT_file, sup_now(s), NULL, &ev);
	buf_release(&clean);
	return f;
}

/* Are both of what the record takes for one version? */
bool fingerprint_is_state(const struct fingerprint *fp, const struct fingerprint *known)
{
	return known->known && fp->size == known->size && fp->mtime == known->mtime;
}

void file_state(struct sup *s, struct file *f, const struct fingerprint *fp)
{
	if (f->kind != TERM_kind_regular || !fp->known)
		return;
	if (fingerprint_is_state(fp, &f->stated))
		return;
	f->stated = *fp;
	file_notify_observer(s, f, NULL, (int64_t)fp->size, 0, false);
	struct event ev = {.state = {.file = f->num, .size = fp->size, .mtime = fp->mtime}};
	sup_event(s, EVENT_state, sup_now(s), NULL, &ev);
}

#include "base/fileid.h"

#include "base/hex.h"
#include "base/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define DOMAINS_MAX 4096

/* From linux/fs.h of 6.9; Debian 12 has older headers. */
struct fsuuid {
	uint8_t len;
	uint8_t uuid[16];
};
#define GET_FS_UUID _IOR(0x15, 0, struct fsuuid)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fs_domain *domains[DOMAINS_MAX];
static unsigned ndomains;

static const struct fs_word {
	const char *type;
	bool network, pseudo, birth_changes, volatile_;
	int64_t step;
} words[] = {
    {"nfs", .network = true, .step = 1000000000},
    {"nfs4", .network = true, .step = 1000000000},
    {"lustre", .network = true, .step = 1000000000},
    {"gpfs", .network = true},
    {"cifs", .network = true, .step = 1000000000},
    {"smb3", .network = true, .step = 1000000000},
    {"ceph", .network = true},
    {"beegfs", .network = true},
    {"fuse.sshfs", .network = true, .step = 1000000000},
    {"afs", .network = true, .step = 1000000000},
    {"9p", .network = true},
    {"pvfs2", .network = true, .step = 1000000000},
    {"panfs", .network = true, .step = 1000000000},
    {"glusterfs", .network = true},
    {"fuse.glusterfs", .network = true},
    {"vfat", .step = 2000000000},
    {"exfat", .step = 10000000},
    {"ext3", .step = 1000000000},
    {"ext2", .step = 1000000000},
    {"overlay", .birth_changes = true},
    {"tmpfs", .volatile_ = true},
    {"ramfs", .volatile_ = true},
    {"proc", .pseudo = true},
    {"sysfs", .pseudo = true},
    {"devpts", .pseudo = true},
    {"cgroup", .pseudo = true},
    {"cgroup2", .pseudo = true},
    {"debugfs", .pseudo = true},
    {"tracefs", .pseudo = true},
    {"securityfs", .pseudo = true},
    {"bpf", .pseudo = true},
    {"configfs", .pseudo = true},
    {"mqueue", .volatile_ = true},
    {"hugetlbfs", .volatile_ = true},
    {"devtmpfs", .volatile_ = true},
};

const char *host_boot_id(void)
{
	static char id[33];
	pthread_mutex_lock(&lock);
	if (!id[0]) {
		char raw[64];
		size_t k = 0, n = io_text("/proc/sys/kernel/random/boot_id", raw, sizeof(raw));
		for (size_t i = 0; i < n && k < 32; i++)
			if (isxdigit((unsigned char)raw[i]))
				id[k++] = (char)tolower((unsigned char)raw[i]);
		id[k] = '\0';
	}
	pthread_mutex_unlock(&lock);
	return id;
}

bool fileid_type_fuse(const char *type)
{
	return !strncmp(type, "fuse", 4) && (!type[4] || type[4] == '.' || !strcmp(type, "fuseblk"));
}

/* By the file system's type. */
bool fileid_type_pseudo(const char *type)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].pseudo && !strcmp(words[i].type, type))
			return true;
	return false;
}

bool fileid_type_waits(const char *type)
{
	if (fileid_type_fuse(type))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].network && !strcmp(words[i].type, type))
			return true;
	return false;
}

bool fileid_mounts_wait(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, type[64];
	size_t cap = 0;
	bool found = false;
	while (f && !found && getline(&line, &cap, f) > 0) {
		const char *dash = strstr(line, " - ");
		found = dash && sscanf(dash + 3, "%63s", type) == 1 && fileid_type_waits(type);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

struct mount {
	char type[64], source[512], point[1024];
};

/* The mount of a device as that mountinfo has it. False if it is not there (another mount namespace's). */
static bool find_mount(const char *mountinfo, uint64_t dev, struct mount *ret)
{
	FILE *f = fopen(mountinfo, "re");
	if (!f)
		return false;
	char *line = NULL;
	size_t cap = 0;
	bool found = false;
	while (!found && getline(&line, &cap, f) > 0) {
		unsigned maj, min;
		if (sscanf(line, "%*d %*d %u:%u %*s %1023s", &maj, &min, ret->point) != 3 || ((uint64_t)maj << 32 | min) != dev)
			continue;
		char *dash = strstr(line, " - ");
		found = dash && sscanf(dash + 3, "%63s %511s", ret->type, ret->source) == 2;
	}
	free(line);
	fclose(f);
	return found;
}

bool fileid_type_in(const char *mountinfo, uint64_t dev, char ret[64])
{
	struct mount m = {0};
	bool found = find_mount(mountinfo, dev, &m);
	memcpy(ret, m.type, sizeof(m.type));
	return found;
}

/* The file system's UUID from udev, else by the ioctl of Linux 6.9 on its mount point. Not from a file system that may
 * wait. */
static bool find_uuid(const struct mount *m, uint64_t dev, char ret[40])
{
	char name[64], line[256];
	snprintf(name, sizeof(name), "/run/udev/data/b%u:%u", (unsigned)(dev >> 32), (unsigned)dev);
	FILE *f = fopen(name, "re");
	bool found = false;
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "E:ID_FS_UUID=%39s", ret) == 1;
	if (f)
		fclose(f);
	if (found)
		return true;
	if (fileid_type_waits(m->type))
		return false; /* none of these tells, and may keep us waiting */
	int fd = open(m->point, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_DIRECTORY);
	struct fsuuid u = {0};
	if (fd >= 0 && ioctl(fd, GET_FS_UUID, &u) == 0 && u.len == 16) {
		hex_text(u.uuid, 16, ret);
		found = true;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/* How much a file's time may lag: by how much two changes can be apart and still have one time. Local file systems
 * stamp from the coarse clock, which moves once a kernel tick; a millisecond more for the switch. ns. */
static int64_t tick(void)
{
	struct timespec ts;
	if (clock_getres(CLOCK_REALTIME_COARSE, &ts) < 0 || ts.tv_sec)
		return 20000000;
	return ts.tv_nsec + 1000000;
}

/* NULL is no error. */
static void domain_free(struct fs_domain *d)
{
	if (!d)
		return;
	free((char *)d->name);
	free((char *)d->type);
	free(d);
}

/* What is known of a type of file system; NULL: nothing special. */
static const struct fs_word *find_word(const char *type)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].type, type))
			return &words[i];
	return NULL;
}

/* "" for path: of dirfd itself. */
static bool ask_file_system(int dirfd, const char *path, struct statfs *ret)
{
	int fd = *path ? openat(dirfd, path, O_PATH | O_CLOEXEC) : dirfd; /* dirfd: AT_EMPTY_PATH */
	bool have = fd >= 0 && fstatfs(fd, ret) == 0;
	if (fd >= 0 && *path)
		close(fd);
	return have;
}

/* What is known of the file system of device dev, on which path lies. NULL: no memory. boot: this boot's id, for names
 * that hold no longer. */
static struct fs_domain *domain_new(int dirfd, const char *path, uint64_t dev, const char *boot)
{
	struct mount m = {0};
	bool mounted = find_mount("/proc/self/mountinfo", dev, &m);
	const struct fs_word *w = mounted ? find_word(m.type) : NULL;
	struct statfs sf = {0};
	/* FUSE has no fsid to tell, and its daemon may keep us waiting. */
	bool have = !fileid_type_fuse(m.type) && ask_file_system(dirfd, path, &sf);
	uint64_t fsid = 0;
	memcpy(&fsid, &sf.f_fsid, sizeof(fsid));
	bool network = (w && w->network) || (!strncmp(m.type, "fuse", 4) && strchr(m.source, ':'));
	bool lasting = mounted && !(w && (w->volatile_ || w->pseudo));
	char name[700], uuid[40];
	if (network)
		snprintf(name, sizeof(name), "net:%s#%llx", m.source, (unsigned long long)fsid);
	else if (have && fsid && (sf.f_type == EXT4_SUPER_MAGIC || sf.f_type == BTRFS_SUPER_MAGIC))
		/* Their fsid is the UUID, folded, on every kernel: the same name whatever else this kernel can tell. */
		snprintf(name, sizeof(name), "uuid:%016llx", (unsigned long long)fsid);
	else if (lasting && find_uuid(&m, dev, uuid))
		snprintf(name, sizeof(name), "uuid:%s", uuid);
	else
		snprintf(name, sizeof(name), "boot:%s:%u:%u", boot, (unsigned)(dev >> 32), (unsigned)dev);

	struct fs_domain *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct fs_domain){.dev = dev,
	                        .name = strdup(name),
	                        .type = strdup(m.type),
	                        .network = network,
	                        .pseudo = w && w->pseudo,
	                        .birth_changes = w && w->birth_changes,
	                        .mtime_step = w && w->step ? w->step : tick()};
	if (d->name && d->type)
		return d;
	domain_free(d);
	return NULL;
}

/* The file system that was met with this device number. NULL: none is known of the device. */
static const struct fs_domain *find_domain_of_device(uint64_t dev)
{
	for (unsigned i = 0; i < ndomains; i++)
		if (domains[i]->dev == dev)
			return domains[i];
	return NULL;
}

const struct fs_domain *fileid_domain_known(uint64_t dev)
{
	pthread_mutex_lock(&lock);
	const struct fs_domain *ret = find_domain_of_device(dev);
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Takes d, which may be NULL. */
static const struct fs_domain *register_domain(struct fs_domain *d, uint64_t dev)
{
	static const struct fs_domain unknown = {.name = "unknown", .type = "", .mtime_step = 2000000000};
	pthread_mutex_lock(&lock);
	const struct fs_domain *ret = find_domain_of_device(dev);
	if (!ret && d && ndomains < DOMAINS_MAX) {
		d->index = ndomains + 1;
		ret = domains[ndomains++] = d;
		d = NULL;
	}
	pthread_mutex_unlock(&lock);
	domain_free(d);
	return ret ? ret : &unknown;
}

const struct fs_domain *fileid_domain(int dirfd, const char *path, uint64_t dev)
{
	const char *boot = host_boot_id();
	const struct fs_domain *ret = fileid_domain_known(dev);
	/* To make one may take long: others are not to wait for it. */
	return ret ? ret : register_domain(domain_new(dirfd, path, dev, boot), dev);
}

const struct fs_domain *fileid_domain_told(const struct fs_domain *told)
{
	const struct fs_domain *ret = fileid_domain_known(told->dev);
	if (ret)
		return ret;
	struct fs_domain *d = malloc(sizeof(*d));
	if (d) {
		*d = *told;
		d->name = strdup(told->name);
		d->type = strdup(told->type);
	}
	if (d && (!d->name || !d->type)) {
		domain_free(d);
		d = NULL;
	}
	return register_domain(d, told->dev);
}

/* FUSE is not asked for its handles. */
static void add_gen(int dirfd, const char *path, int flags, const struct statx *st, struct fileid *ret)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	int mount;
	if (ret->domain->pseudo)
		return;
	int hflags = (flags & AT_SYMLINK_NOFOLLOW ? 0 : AT_SYMLINK_FOLLOW) | (flags & AT_EMPTY_PATH);
	if (name_to_handle_at(dirfd, path, &u.h, &mount, hflags) == 0)
		ret->gen = XXH3_64bits_withSeed(u.h.f_handle, u.h.handle_bytes, (uint64_t)u.h.handle_type);
	else if ((st->stx_mask & STATX_BTIME) && !ret->domain->birth_changes)
		ret->gen = (uint64_t)fileid_time(&st->stx_btime);
}

void fileid_of(int dirfd, const char *path, int flags, const struct statx *st, struct fileid *ret)
{
	*ret = (struct fileid){.domain = fileid_domain(dirfd, path, fileid_dev(st)), .ino = st->stx_ino, .st = *st};
	add_gen(dirfd, path, flags, st, ret);
}

void fileid_of_unasked(const char *path, int flags, const struct statx *st, struct fileid *ret)
{
	*ret = (struct fileid){.domain = fileid_domain(-1, "", fileid_dev(st)), .ino = st->stx_ino, .st = *st};
	ret->st.stx_mask &= ~(unsigned)(STATX_SIZE | STATX_MTIME);
	add_gen(AT_FDCWD, path, flags, st, ret);
}

int fileid_get(int dirfd, const char *path, bool follow, struct fileid *ret)
{
	struct statx st;
	int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
	if (statx(dirfd, path, flags, FILEID_STATX, &st) < 0)
		return -errno;
	fileid_of(dirfd, path, flags, &st, ret);
	return 0;
}

int fileid_statx_cached(int dirfd, const char *name, int flags, unsigned mask, struct statx *ret)
{
	int r = statx(dirfd, name, flags | AT_STATX_DONT_SYNC, mask, ret);
	return r < 0 && errno == EINVAL ? statx(dirfd, name, flags, mask, ret) : r;
}

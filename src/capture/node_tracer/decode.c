#include "capture/node_tracer/decode.h"

#include <sys/fanotify.h>

bool record_is_sound(const void *record, size_t size)
{
	const struct rec_head *h = record;
	if (size < sizeof(*h))
		return false;
	switch (h->kind) {
	case REC_FORK:
		return size >= sizeof(struct rec_fork);
	case REC_EXIT:
		return size >= sizeof(struct rec_exit);
	case REC_USER:
		return size >= sizeof(struct rec_user);
	case REC_URING:
	case REC_COMPAT:
		return true;
	case REC_EXEC: {
		const struct rec_exec *r = record;
		return size >= sizeof(*r) && (size_t)r->name + r->exe + r->cwd + r->args + r->env <= size - sizeof(*r);
	}
	case REC_FDS: {
		const struct rec_fds *r = record;
		return size >= sizeof(*r) && r->n <= REC_FDS_MAX && r->n * sizeof(struct rec_fd) <= size - sizeof(*r);
	}
	default:
		return false;
	}
}

void exec_strings(const struct rec_exec *r, struct exec_strings *ret)
{
	const char *p = (const char *)(r + 1);
	ret->name = str_n(p, r->name ? strnlen(p, r->name) : 0);
	p += r->name;
	ret->exe = str_n(p, r->exe);
	p += r->exe;
	ret->cwd = str_n(p, r->cwd);
	p += r->cwd;
	ret->args = str_n(p, r->args);
	p += r->args;
	ret->env = str_n(p, r->env);
}

bool path_of_parts(struct str parts, char *to, size_t room, size_t *ret_n)
{
	size_t n = 0, end = parts.n;
	while (end > 0 && parts.p[end - 1] == '\0') {
		size_t from = end - 1;
		while (from > 0 && parts.p[from - 1] != '\0')
			from--;
		size_t len = end - 1 - from;
		if (n + len + 2 > room)
			return false;
		to[n++] = '/';
		memcpy(to + n, parts.p + from, len);
		n += len;
		end = from;
	}
	if (n == 0) {
		if (room < 2)
			return false;
		to[n++] = '/';
	}
	to[n] = '\0';
	*ret_n = n;
	return true;
}

/* A file handle and, behind it, maybe a name. False: it is too short. */
static bool decode_handle(const unsigned char *p, size_t n, struct handle *ret, struct str *ret_name)
{
	uint32_t bytes;
	int32_t type;
	/* struct fanotify_event_info_fid: header, fsid, struct file_handle */
	size_t fixed = sizeof(struct fanotify_event_info_header) + 8;
	if (n < fixed + 8)
		return false;
	memcpy(&ret->fsid, p + sizeof(struct fanotify_event_info_header), 8);
	memcpy(&bytes, p + fixed, 4);
	memcpy(&type, p + fixed + 4, 4);
	if (bytes > HANDLE_MAX || bytes > n - fixed - 8)
		return false;
	ret->bytes = bytes;
	ret->type = type;
	ret->p = p + fixed + 8;
	if (ret_name) {
		const char *name = (const char *)ret->p + bytes;
		*ret_name = str_n(name, strnlen(name, n - fixed - 8 - bytes));
	}
	return true;
}

bool notice_next(const unsigned char *p, size_t n, size_t *at, struct notice *ret, bool *ret_broken)
{
	struct fanotify_event_metadata m;
	*ret_broken = false;
	if (n - *at < sizeof(m)) {
		*ret_broken = n != *at;
		return false;
	}
	memcpy(&m, p + *at, sizeof(m));
	if (m.vers != FANOTIFY_METADATA_VERSION || m.event_len < sizeof(m) || m.event_len > n - *at ||
	    m.metadata_len < sizeof(m) || m.metadata_len > m.event_len) {
		*ret_broken = true;
		return false;
	}
	*ret = (struct notice){.mask = m.mask, .pid = m.pid, .pidfd = -1, .overflow = (m.mask & FAN_Q_OVERFLOW) != 0};
	const unsigned char *q = p + *at + m.metadata_len, *end = p + *at + m.event_len;
	while ((size_t)(end - q) >= sizeof(struct fanotify_event_info_header)) {
		struct fanotify_event_info_header h;
		memcpy(&h, q, sizeof(h));
		if (h.len < sizeof(h) || h.len > end - q)
			break;
		switch (h.info_type) {
		case FAN_EVENT_INFO_TYPE_FID:
			decode_handle(q, h.len, &ret->object, NULL);
			break;
		case FAN_EVENT_INFO_TYPE_DFID:
			decode_handle(q, h.len, &ret->dir, NULL);
			break;
		case FAN_EVENT_INFO_TYPE_DFID_NAME:
		case FAN_EVENT_INFO_TYPE_NEW_DFID_NAME:
			decode_handle(q, h.len, &ret->dir, &ret->name);
			break;
		case FAN_EVENT_INFO_TYPE_OLD_DFID_NAME:
			decode_handle(q, h.len, &ret->old_dir, &ret->old_name);
			break;
		case FAN_EVENT_INFO_TYPE_PIDFD:
			if (h.len >= sizeof(struct fanotify_event_info_pidfd))
				memcpy(&ret->pidfd, q + sizeof(h), sizeof(ret->pidfd));
			break;
		default:
			break;
		}
		q += h.len;
	}
	*at += m.event_len;
	return true;
}

/* The inode's number in a handle, by its type: what ext2 to ext4, f2fs and XFS write; tmpfs; XFS with large numbers,
 * and what the kernel makes for file systems without handles; btrfs. 0: not known. */
uint64_t handle_inode(const struct handle *h)
{
	uint32_t w[3] = {0};
	uint64_t d = 0;
	if (h->type == 1 && h->bytes == 8) {
		memcpy(w, h->p, 8);
		return w[0];
	}
	if (h->type == 1 && h->bytes == 12) {
		memcpy(w, h->p, 12);
		return (uint64_t)w[2] << 32 | w[1];
	}
	if ((h->type == 0x81 && h->bytes == 12) || (h->type == 0x4d && h->bytes >= 20)) {
		memcpy(&d, h->p, 8);
		return d;
	}
	return 0;
}

/* The calls that can be submitted to a ring, as the system calls that they stand for. */
#include "capture/supervisor/calls.h"
#include "capture/supervisor/ring/rings_int.h"

#include <fcntl.h>
#include <linux/openat2.h>

/* What it is to the record. NONE: nothing, or what is found by looking at descriptors: who moves bytes through one has
 * opened it, or was given it. UNSEEN: it may open, send or receive what is not looked at here. */
enum effect {
	EFFECT_UNSEEN,
	EFFECT_NONE,
	EFFECT_OPEN,
	EFFECT_OPEN2,
	EFFECT_RENAME,
	EFFECT_UNLINK,
	EFFECT_MAKE,
	EFFECT_SYMLINK,
	EFFECT_LINK,
	EFFECT_CUT,
	EFFECT_FILES,
	EFFECT_XATTR
};

/* By the kernel's number, IORING_OP_*. */
static const uint8_t effects[] = {
    EFFECT_NONE,    /* NOP */
    EFFECT_NONE,    /* READV */
    EFFECT_NONE,    /* WRITEV */
    EFFECT_NONE,    /* FSYNC */
    EFFECT_NONE,    /* READ_FIXED: into memory that is registered; of which file is told as ever */
    EFFECT_NONE,    /* WRITE_FIXED */
    EFFECT_NONE,    /* POLL_ADD */
    EFFECT_NONE,    /* POLL_REMOVE */
    EFFECT_NONE,    /* SYNC_FILE_RANGE */
    EFFECT_NONE,    /* SENDMSG */
    EFFECT_NONE,    /* RECVMSG */
    EFFECT_NONE,    /* TIMEOUT */
    EFFECT_NONE,    /* TIMEOUT_REMOVE */
    EFFECT_NONE,    /* ACCEPT */
    EFFECT_NONE,    /* ASYNC_CANCEL */
    EFFECT_NONE,    /* LINK_TIMEOUT */
    EFFECT_UNSEEN,  /* CONNECT */
    EFFECT_NONE,    /* FALLOCATE */
    EFFECT_OPEN,    /* OPENAT */
    EFFECT_NONE,    /* CLOSE */
    EFFECT_FILES,   /* FILES_UPDATE */
    EFFECT_NONE,    /* STATX */
    EFFECT_NONE,    /* READ */
    EFFECT_NONE,    /* WRITE */
    EFFECT_NONE,    /* FADVISE */
    EFFECT_NONE,    /* MADVISE */
    EFFECT_NONE,    /* SEND */
    EFFECT_NONE,    /* RECV */
    EFFECT_OPEN2,   /* OPENAT2 */
    EFFECT_NONE,    /* EPOLL_CTL */
    EFFECT_NONE,    /* SPLICE */
    EFFECT_NONE,    /* PROVIDE_BUFFERS */
    EFFECT_NONE,    /* REMOVE_BUFFERS */
    EFFECT_NONE,    /* TEE */
    EFFECT_NONE,    /* SHUTDOWN */
    EFFECT_RENAME,  /* RENAMEAT */
    EFFECT_UNLINK,  /* UNLINKAT */
    EFFECT_MAKE,    /* MKDIRAT */
    EFFECT_SYMLINK, /* SYMLINKAT */
    EFFECT_LINK,    /* LINKAT */
    EFFECT_UNSEEN,  /* MSG_RING: a file goes to another ring */
    EFFECT_XATTR,   /* FSETXATTR */
    EFFECT_XATTR,   /* SETXATTR */
    EFFECT_XATTR,   /* FGETXATTR */
    EFFECT_XATTR,   /* GETXATTR */
    EFFECT_NONE,    /* SOCKET */
    EFFECT_UNSEEN,  /* URING_CMD */
    EFFECT_NONE,    /* SEND_ZC */
    EFFECT_NONE,    /* SENDMSG_ZC */
    EFFECT_NONE,    /* READ_MULTISHOT */
    EFFECT_NONE,    /* WAITID */
    EFFECT_NONE,    /* FUTEX_WAIT */
    EFFECT_NONE,    /* FUTEX_WAKE */
    EFFECT_NONE,    /* FUTEX_WAITV */
    EFFECT_NONE,    /* FIXED_FD_INSTALL */
    EFFECT_CUT,     /* FTRUNCATE */
    EFFECT_UNSEEN,  /* BIND */
    EFFECT_NONE,    /* LISTEN */
    EFFECT_NONE,    /* RECV_ZC */
    EFFECT_NONE,    /* EPOLL_WAIT */
    EFFECT_NONE,    /* READV_FIXED */
    EFFECT_NONE,    /* WRITEV_FIXED */
    EFFECT_NONE,    /* PIPE */
};

enum { CALL_FIXED_FILE = 1 }; /* IOSQE_FIXED_FILE: fd is a number in the ring's own table */

/* EFFECT_UNSEEN for operations that are not known. */
static enum effect effect_of(const struct ring_call *c)
{
	return c->opcode < sizeof(effects) ? (enum effect)effects[c->opcode] : EFFECT_UNSEEN;
}

bool ring_call_names(const struct ring_call *c)
{
	const enum effect e = effect_of(c);
	return e >= EFFECT_RENAME && e <= EFFECT_LINK;
}

/* The flags are read from the process while others may work; nothing if they cannot be, or it ended meanwhile. */
static void handle_open2(struct sup *s, struct proc *p, const struct trap *t, const struct ring_call *c)
{
	struct open_how how = {0};
	struct left left;
	sup_leave(s, &left);
	bool read = remote_read(t->tid, c->off, &how, sizeof(how)) == sizeof(how);
	if (sup_back(s, &left) && read)
		calls_handle_open(s, p, t, c->fd, c->addr, (unsigned)how.flags, how.resolve);
}

/* Handles a truncation through io_uring: by a descriptor of the ring's own it is not known which file: that is a
 * gap. */
static void handle_cut(struct sup *s, struct proc *p, const struct trap *t, const struct ring_call *c)
{
	struct trap cut = *t;
	if (c->flags & CALL_FIXED_FILE) {
		rings_gap(s, p, "it cut a file through io_uring by its number there");
		return;
	}
	cut.args[0] = (uint64_t)(int64_t)c->fd;
	cut.args[1] = c->off;
	calls_handle_ftruncate(s, p, &cut);
}

/* Handles a change of names through io_uring, by what the call does with names. */
static void handle_names(struct sup *s, struct proc *p, const struct trap *t, const struct ring_call *c, enum effect e)
{
	switch (e) {
	case EFFECT_RENAME:
		calls_handle_rename(s, p, t, c->fd, c->addr, (int)c->len, c->off, c->op_flags);
		break;
	case EFFECT_LINK:
		calls_handle_link(s, p, t, c->fd, c->addr, (int)c->len, c->off, c->op_flags);
		break;
	case EFFECT_UNLINK:
		calls_handle_unlink(s, p, t, c->fd, c->addr);
		break;
	default: /* a folder's path is its first one, a link's its second */
		calls_handle_make(s, p, t, c->fd, e == EFFECT_SYMLINK ? c->off : c->addr);
	}
}

void ring_call_handle(struct sup *s, struct proc *p, const struct trap *t, const struct ring_call *c)
{
	const enum effect e = effect_of(c);
	if ((c->flags & CALL_FIXED_FILE) && !p->ring_files)
		rings_gap(s, p, "it used files that another process has registered with an io_uring");
	/* An open into the ring's own table, where no descriptor tells of it. */
	if ((e == EFFECT_OPEN || e == EFFECT_OPEN2) && c->file_index)
		p->ring_files = true;
	if (e >= EFFECT_RENAME && e <= EFFECT_LINK)
		handle_names(s, p, t, c, e);
	else if (e == EFFECT_OPEN)
		calls_handle_open(s, p, t, c->fd, c->addr, c->op_flags, 0);
	else if (e == EFFECT_OPEN2)
		handle_open2(s, p, t, c);
	else if (e == EFFECT_CUT)
		handle_cut(s, p, t, c);
	else if (e == EFFECT_FILES)
		p->ring_files = true;
	else if (e == EFFECT_UNSEEN || (e == EFFECT_XATTR && s->xattrs))
		rings_gap(s, p, "it made calls through io_uring that are not read");
}

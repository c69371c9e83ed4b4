/* standby_fds.h - the descriptors that syscall-standby is started with. */
#ifndef STEMMA_CAPTURE_STANDBY_FDS_H
#define STEMMA_CAPTURE_STANDBY_FDS_H

#define STANDBY_NAME "syscall-standby"

enum {
	STANDBY_LISTENER = 3, /* of the filter */
	STANDBY_PAGE,         /* memory shared with the recorder; struct notify_page is at its beginning */
	STANDBY_LIFE,         /* read end of a pipe whose write end each process of the recorder has, and nobody else */
	STANDBY_FDS
};

#endif

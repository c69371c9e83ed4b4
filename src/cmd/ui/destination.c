#include "cmd/ui/destination.h"

#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int destination_open(const char *path, struct destination *d)
{
	struct stat st;
	d->temporary = NULL;
	d->fd = STDOUT_FILENO;
	if (!path || strcmp(path, "-") == 0)
		return STATUS_OK;
	bool there = stat(path, &st) == 0;
	if (there && !S_ISREG(st.st_mode)) {
		d->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} else {
		if (asprintf(&d->temporary, "%s.XXXXXX", path) < 0) {
			d->temporary = NULL;
			report("out of memory");
			return STATUS_SELF;
		}
		d->fd = mkostemp(d->temporary, O_CLOEXEC);
		mode_t mask = umask(0);
		umask(mask);
		if (d->fd >= 0) /* as if it had been opened by its name */
			fchmod(d->fd, there ? st.st_mode & 0777 : 0666 & ~mask);
	}
	if (d->fd >= 0)
		return STATUS_OK;
	report("cannot create '%s': %s", path, strerror(errno));
	free(d->temporary);
	d->temporary = NULL;
	return STATUS_SELF;
}

int destination_close(const char *path, struct destination *d, int status)
{
	if (d->fd == STDOUT_FILENO)
		return status;
	if (close(d->fd) < 0 && status == STATUS_OK) {
		report("cannot write '%s': %s", path, strerror(errno));
		status = STATUS_SELF;
	}
	if (d->temporary && status != STATUS_OK)
		unlink(d->temporary);
	else if (d->temporary && rename(d->temporary, path) < 0) {
		report("cannot create '%s': %s", path, strerror(errno));
		unlink(d->temporary);
		status = STATUS_SELF;
	}
	free(d->temporary);
	return status;
}

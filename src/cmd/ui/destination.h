/* destination.h - a document on its way to a file: written beside it and renamed at the end, so that nobody finds half
 * of one. */
#ifndef STEMMA_CMD_UI_DESTINATION_H
#define STEMMA_CMD_UI_DESTINATION_H

struct destination {
	int fd;
	char *temporary; /* owned; NULL: what is written is there at once */
};

/* Where the document is to be written: path, or standard output if that is NULL or "-". STATUS_OK, or the status to end
 * with (and it was said). */
int destination_open(const char *path, struct destination *d);
/* Puts the file into its place, unless status says that something went wrong. The status (and it was said). d is
 * released. */
int destination_close(const char *path, struct destination *d, int status);

#endif

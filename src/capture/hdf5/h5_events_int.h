/* h5_events_int.h - what h5_events.c and h5_events_more.c share: one program's objects while they are told of. Not for
 * others. */
#ifndef STEMMA_CAPTURE_HDF5_H5_EVENTS_INT_H
#define STEMMA_CAPTURE_HDF5_H5_EVENTS_INT_H

#include "capture/app/channel.h"
#include "capture/hdf5/h5_format.h"
#include "capture/preload/safe_int.h"
#include "capture/supervisor/super.h"

struct image_file {
	uint64_t num;
	struct file *file;
	char *path; /* of the file, as it is shown; with what stands behind it for an object */
};
struct image_object {
	struct h5_object o;
	struct str path, attr; /* in the window */
	uint64_t number;       /* in the log; 0: not told */
	int64_t met;           /* when it was told of */
	struct image_file *file;
};
struct teller {
	struct sup *s;
	const struct channel_image *image;
	struct proc subject; /* the process under a number of its own */
	uint64_t n;          /* its execution */
	int64_t now;
	struct image_file *files;
	size_t nfiles, files_cap;
	struct image_object *objects;
	size_t nobjects, objects_cap;
	uint64_t lost;
	unsigned gaps;
	struct buf path, list[3];
};

/* A time that the program told, within its life. */
int64_t h5_time_within(const struct teller *t, int64_t said);
/* The file with that number. By the number that the program gave them; NULL: there is none. */
struct image_file *h5_image_file(struct teller *t, uint64_t num);
/* The object with the number that the program gave it; NULL: there is none. */
struct image_object *h5_image_object(struct teller *t, uint64_t num);
uint64_t h5_object_generation(const struct image_object *o);
/* FILE//PATH@ATTR, in b. */
struct str h5_format_path(struct buf *b, const struct image_file *f, struct str path, struct str attr);
struct str h5_shown_run(const struct teller *t);
void h5_emit_name(struct teller *t, const struct image_object *o, unsigned op, int64_t time, struct str path,
                  struct str old);
/* Was anything done? */
bool h5_row_is(const struct h5_row *r);

/* Entries of one kind each. copy: moved, it was through the program's memory. */
void h5_emit_layout(struct teller *t, const struct app_said *said);
void h5_emit_part(struct teller *t, const struct app_said *said);
void h5_emit_link(struct teller *t, const struct app_said *said);
void h5_emit_copy(struct teller *t, const struct app_said *said, bool moved);
void h5_emit_gap(struct teller *t, struct str text);

#endif

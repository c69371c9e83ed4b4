/* channel.h - what libraries in the programs of a run have to say: a folder in memory (capture/app/app_format.h), which
 * the programs are told of by one variable, and from which the recorder takes what a process said when that is over.
 *
 * Internal to capture. The worker looks at it now and then, under sup->lock, and at the end; the keeper does where
 * the worker was killed. Nothing of the user's is waited for. Without any word it costs a run a mkdir and a rmdir on
 * tmpfs. */
#ifndef STEMMA_CAPTURE_APP_CHANNEL_H
#define STEMMA_CAPTURE_APP_CHANNEL_H

#include "capture/app/app_read.h"
#include "capture/app/private.h"

#include <stdint.h>
#include <time.h>

struct feature;
struct sup;

/* The functions below as hooks. Wanted in every run; sup.channel is what channel_make has made. */
extern const struct feature app_feature;

/* Languages in which programs had something to say, and did not find the library for it: bits of sup.untold. */
#define CHANNEL_UNTOLD_PYTHON 1u
#define CHANNEL_UNTOLD_JAVA 2u

struct channel {
	char path[PRIVATE_PATH]; /* what programs are told; empty: there is none */
	char top[PRIVATE_PATH];  /* the same, or the folder around it */
	int lock, dir;           /* of top and of path */
	struct timespec seen;    /* the folder's time when it was looked at last */
	int64_t looked;
	bool waiting; /* files of processes that live were there then */
	char (*nested)[27];
	size_t n_nested;
};

/* Makes the channel by which programs tell of themselves, before the worker is forked. 0 or -errno. */
int channel_make(struct channel *c);
/* Puts it into this process's environment, which is about to become the command's: of the run with that id; and where
 * the libraries are that write to it. */
void channel_enter(const struct channel *c, const char *run);
/* Puts the folder of bindings/python/autolog first in PYTHONPATH of this process. False: it was not found, or there is
 * no memory. */
bool channel_enter_autolog(void);
/* channel_enter for a run inside a run, which has the outer one's folder. */
void channel_enter_nested(const char *run);

/* All that one image of a process said: its windows, in the order in which they were made, as they were read. */
struct channel_image {
	struct app_told head; /* of the first; checked: run is this run or one inside it, pid is 0 where it says nothing */
	struct channel_window {
		const void *p;
		size_t n;
	} * windows;
	size_t n;
};
/* Prefix a: annotations and MPI. */
void channel_emit_app(struct sup *s, const struct channel_image *image);
/* Of these what ranks of MPI sent each other, where s->images is kept. */
void app_emit_messages(struct sup *s, const struct channel_image *image);
/* Prefix h: HDF5. */
void channel_emit_h5(struct sup *s, const struct channel_image *image);

#endif

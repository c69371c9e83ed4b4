/* openings.h - opens of programs whose paths others can write: which file the kernel has opened. Internal to
 * capture/supervisor; under the big lock.
 *
 * A path that lies in memory which another thread or process can write may be another one when the kernel reads it than
 * it was at the stop. So such an open is not told at its stop. The file that was found is watched by inotify, and the
 * kernel says that it was opened (IN_OPEN) before the call is back. Then it is told, as of its stop. If the thread is
 * at another stop and the kernel has said nothing, it was not that file: it is told as possible, and what the process
 * has open is looked through for the one that it was.
 *
 * 4 us for the first open of a file, 1 us for each other one. At most OPENINGS_WATCHES watches; who has none left
 * loses the oldest. Nothing of it shows in the program. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_OPENINGS_H
#define STEMMA_CAPTURE_SUPERVISOR_OPENINGS_H

#include "capture/supervisor/super.h"

#define OPENINGS_WATCHES 1024

/* Has p, which stands at a stop of its own, one thread? Asked once a stop. */
bool openings_has_one_thread(struct sup *s, struct proc *p);
/* Can others write p's memory while it stands at a stop? */
bool openings_concern(struct sup *s, struct proc *p);

enum opening_how {
	OPENING_TOLD,   /* it will be, or it is left to gap and table */
	OPENING_UNSURE, /* whether it is this file cannot be told */
	OPENING_PLAIN   /* it cannot be watched for anybody here; the record says so */
};
/* p, at its stop, opens the regular file f, found at w, for an access with these arguments (access_begin). The same of
 * a directory, with mode 0: there is nothing to tell if it is that. */
enum opening_how openings_begin(struct sup *s, struct proc *p, struct file *f, const struct where *w, unsigned mode,
                                bool sure, int64_t time, const struct fingerprint *before);
/* Tells of those that the kernel has told of. */
void openings_listen(struct sup *s);
/* Files that are opened without a stop from now on need not be watched: each open of one would cost its program 1 us.
 */
void openings_rest(struct sup *s);
/* The thread is at another stop: its call is back. */
void openings_back(struct sup *s, struct task *k);
/* The process's execution is over. */
void openings_end(struct sup *s, const struct proc *p);
/* The process is. */
void openings_gone(struct sup *s, struct proc *p);
/* The file is about to be freed. */
void openings_forget(struct sup *s, struct file *f);

#endif

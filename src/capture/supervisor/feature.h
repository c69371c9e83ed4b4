/* feature.h - what is built on the supervisor registers here: a table of functions, its hooks, which the supervisor
 * calls without knowing whose they are. Internal to capture.
 *
 * The list of all features, in the order of their hooks, is in capture/launch/features.c; who is not wanted in a run is
 * not registered, and costs it nothing. Hooks are called in the order of the list, `after` and `end` in the opposite
 * one; under sup->lock, by the thread that handles the stop or the tick. Each may be NULL. What a feature knows of a
 * process is one pointer in struct proc, which only it follows; `end` releases it.
 *
 * Cost: some 2 ns a registered feature and hook, beside 5 us for the stop itself. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_FEATURE_H
#define STEMMA_CAPTURE_SUPERVISOR_FEATURE_H

#include <stdbool.h>
#include <sys/types.h>

#define FEATURES_MAX 8

struct access;
struct event;
struct event_access_end;
struct file;
struct pending;
struct proc;
struct sup;
struct trap;

/* Who knows how many bytes each access has moved, beside what the supervisor sees itself (io.c). There is at most one
 * in a run. All of them are asked of processes that it does not know, too. */
struct byte_counter {
	/* Brings the sums of p's accesses up to date. */
	void (*update)(struct sup *s, struct proc *p);
	/* Whether what was counted is all that p has moved. */
	bool (*all)(struct sup *s, struct proc *p);
	/* Whether it shows that a's process has moved none but a's bytes of its file, one way (ACCESS_READ or
	 * ACCESS_WRITE): none at all if a has none. */
	bool (*none)(struct sup *s, const struct access *a, unsigned way);
	/* Ways of which bytes may be a's that no access was given. */
	unsigned (*unsaid)(const struct access *a);
	/* p's threads move bytes just now: what they have counted can be proved a little later. To be asked after its
	 * descriptors were looked at: all that went through those that were closed by then is known if this is false. */
	bool (*waits)(struct sup *s, struct proc *p);
};

/* Who finds out which of those that hold an end of a pipe have moved its bytes (witness/). There is at most one in a
 * run. All but `asks` and `concerns` may tell of what is decided by then. */
struct pipe_watcher {
	/* p, at a stop of its own, has the pipe f as its descriptor fd; nobody of the run was known to hold it before, but
	 * who has an access already. */
	void (*arm)(struct sup *s, struct proc *p, struct file *f, int fd);
	/* Is it to be found out whether q holds f? Once: `met` says that it has been, and that what q moved before is left
	 * out. */
	bool (*asks)(struct file *f, const struct proc *q);
	void (*met)(struct sup *s, struct file *f, const struct proc *q);
	/* An access began; it is about to end, as *end says. Of any file. */
	void (*begun)(struct sup *s, struct access *a);
	void (*ends)(struct sup *s, struct access *a, const struct event_access_end *end);
	/* Is it of use to know what p has moved? */
	bool (*concerns)(const struct proc *p);
	/* p is about to end or to become another program. May end accesses of others. */
	void (*leaves)(struct sup *s, struct proc *p);
	/* What the kernel has reported is to be taken; each 20 ms, and before an execution ends. */
	void (*listen)(struct sup *s);
	/* Nobody holds any pipe any more. */
	void (*finish)(struct sup *s);
	/* The struct file is about to be freed. */
	void (*forget)(struct file *f);
};

struct feature {
	const char *name;
	/* A call of tid that may change what a path means is about to be looked at; it has been, and what it changed shows.
	 * In between nothing may be opened without a stop. */
	void (*bar)(struct sup *s, pid_t tid);
	void (*unbar)(struct sup *s);
	/* What programs have noted by themselves is recorded, before anything that is newer is looked at: at each stop,
	 * where the recording ends, and each 20 ms (tick), which may leave some for the next time. */
	void (*collect)(struct sup *s, bool tick);
	/* Before a stop is looked at: has it been noted all the same, and may it go on at once? Then `passed` comes when it
	 * does, and no other hook. */
	bool (*passes)(struct sup *s, const struct trap *t);
	void (*passed)(struct sup *s);
	/* A stop of p: before it is handled; as part of that, where the lock may be left (sup_leave); when it has been. The
	 * last two not where p has ended meanwhile. */
	void (*before)(struct sup *s, struct proc *p, const struct trap *t);
	void (*handle)(struct sup *s, struct proc *p, const struct trap *t);
	void (*after)(struct sup *s, struct proc *p, const struct trap *t);
	/* p, which is at a stop of its own, is about to change its user, root or namespaces, or to confine itself: from
	 * here on it shares no memory with the recorder. */
	void (*confine)(struct sup *s, struct proc *p);
	/* The open being handled opens f; NULL: nothing that is recorded. Where it makes the file d is what it waits for,
	 * and `created` tells later that it was f. */
	void (*opens)(struct sup *s, struct proc *p, const struct file *f, const struct pending *d);
	void (*created)(struct sup *s, struct proc *p, const struct pending *d, const struct file *f);
	/* d, which changes names, is about to be let go on. */
	void (*changes)(struct sup *s, const struct pending *d);
	/* p has just become the program exe, as far as that is known (NULL). */
	void (*exec)(struct sup *s, struct proc *p, const struct file *exe);
	/* p has ended, and nothing of that is recorded yet. */
	void (*over)(struct sup *s, struct proc *p);
	/* p is another program now, or over, and its accesses have ended. Of each process, known to the feature or not;
	 * perhaps more than once. */
	void (*end)(struct sup *s, struct proc *p);
	/* p was there before this worker, which took a killed one's place. */
	void (*adopted)(struct sup *s, struct proc *p);
	/* Each 20 ms if busy (NULL: never) says that there is something to be looked at though nothing stops; what was
	 * pending has been settled. */
	bool (*busy)(const struct sup *s);
	void (*tick)(struct sup *s);
	/* Who is over by now has been recorded. last: nobody is left, and the recording ends; perhaps in the keeper. */
	void (*sweep)(struct sup *s, bool last);
	/* An event is about to be written. */
	void (*event)(struct sup *s, const struct event *ev);
	/* Is this path one of the feature's own files, which are none of the record's? */
	bool (*owns)(const struct sup *s, const char *path);
	/* A run inside this one has begun, of that id. */
	void (*nested)(struct sup *s, const char *run);
	const struct byte_counter *bytes; /* NULL: it counts none */
	const struct pipe_watcher *pipes; /* NULL: it watches none */
};

/* f, which lasts as long as s, is in this run. At its start, before anything has stopped, in the order of the list. */
void feature_add(struct sup *s, const struct feature *f);

/* ---- for the supervisor ---- */

/* Call that hook of each feature of the run that has it, in the order of the list. Of passes, busy and owns: is one of
 * them true? */
void feature_bar(struct sup *s, pid_t tid);
void feature_unbar(struct sup *s);
void feature_collect(struct sup *s, bool tick);
bool feature_passes(struct sup *s, const struct trap *t);
void feature_passed(struct sup *s);
void feature_before(struct sup *s, struct proc *p, const struct trap *t);
void feature_handle(struct sup *s, struct proc *p, const struct trap *t);
void feature_after(struct sup *s, struct proc *p, const struct trap *t);
void feature_confine(struct sup *s, struct proc *p);
void feature_opens(struct sup *s, struct proc *p, const struct file *f, const struct pending *d);
void feature_created(struct sup *s, struct proc *p, const struct pending *d, const struct file *f);
void feature_changes(struct sup *s, const struct pending *d);
void feature_exec(struct sup *s, struct proc *p, const struct file *exe);
void feature_over(struct sup *s, struct proc *p);
void feature_end(struct sup *s, struct proc *p);
void feature_adopted(struct sup *s, struct proc *p);
bool feature_is_busy(const struct sup *s);
void feature_tick(struct sup *s);
void feature_sweep(struct sup *s, bool last);
void feature_event(struct sup *s, const struct event *ev);
bool feature_owns(const struct sup *s, const char *path);
void feature_nested(struct sup *s, const char *run);
/* Of the byte counter; where there is none: nothing, false, false, 0, false. */
void feature_bytes_update(struct sup *s, struct proc *p);
bool feature_bytes_all(struct sup *s, struct proc *p);
bool feature_bytes_none(struct sup *s, const struct access *a, unsigned way);
unsigned feature_bytes_unsaid(const struct sup *s, const struct access *a);
bool feature_bytes_wait(struct sup *s, struct proc *p);
/* Of the pipe watcher; where there is none: nothing, false. */
void feature_pipe_arm(struct sup *s, struct proc *p, struct file *f, int fd);
bool feature_pipe_asks(const struct sup *s, struct file *f, const struct proc *q);
void feature_pipe_met(struct sup *s, struct file *f, const struct proc *q);
void feature_pipe_begun(struct sup *s, struct access *a);
void feature_pipe_ends(struct sup *s, struct access *a, const struct event_access_end *end);
bool feature_pipe_concerns(const struct sup *s, const struct proc *p);
void feature_pipe_leaves(struct sup *s, struct proc *p);
void feature_pipe_listen(struct sup *s);
void feature_pipe_finish(struct sup *s);
void feature_pipe_forget(const struct sup *s, struct file *f);

#endif

#include "capture/supervisor/feature.h"
#include "capture/supervisor/super.h"

#include <assert.h>

void feature_add(struct sup *s, const struct feature *f)
{
	assert(s->nfeatures < FEATURES_MAX && !(s->bytes && f->bytes) && !(s->pipes && f->pipes));
	s->features[s->nfeatures++] = f;
	if (f->bytes)
		s->bytes = f->bytes;
	if (f->pipes)
		s->pipes = f->pipes;
}

/* ---- in the order of the list ---- */

void feature_bar(struct sup *s, pid_t tid)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->bar)
			s->features[i]->bar(s, tid);
}

/* In the order of the list. */
void feature_unbar(struct sup *s)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->unbar)
			s->features[i]->unbar(s);
}

/* In the order of the list. */
void feature_collect(struct sup *s, bool tick)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->collect)
			s->features[i]->collect(s, tick);
}

/* True as soon as one of them says so: the others are not asked. */
bool feature_passes(struct sup *s, const struct trap *t)
{
	bool passes = false;
	for (unsigned i = 0; i < s->nfeatures && !passes; i++)
		passes = s->features[i]->passes && s->features[i]->passes(s, t);
	return passes;
}

/* In the order of the list. */
void feature_passed(struct sup *s)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->passed)
			s->features[i]->passed(s);
}

/* In the order of the list. */
void feature_before(struct sup *s, struct proc *p, const struct trap *t)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->before)
			s->features[i]->before(s, p, t);
}

/* In the order of the list. */
void feature_handle(struct sup *s, struct proc *p, const struct trap *t)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->handle)
			s->features[i]->handle(s, p, t);
}

/* In the order of the list. */
void feature_over(struct sup *s, struct proc *p)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->over)
			s->features[i]->over(s, p);
}

/* In the order of the list. */
void feature_confine(struct sup *s, struct proc *p)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->confine)
			s->features[i]->confine(s, p);
}

/* In the order of the list. */
void feature_opens(struct sup *s, struct proc *p, const struct file *f, const struct pending *d)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->opens)
			s->features[i]->opens(s, p, f, d);
}

/* In the order of the list. */
void feature_created(struct sup *s, struct proc *p, const struct pending *d, const struct file *f)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->created)
			s->features[i]->created(s, p, d, f);
}

/* In the order of the list. */
void feature_changes(struct sup *s, const struct pending *d)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->changes)
			s->features[i]->changes(s, d);
}

/* In the order of the list. */
void feature_adopted(struct sup *s, struct proc *p)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->adopted)
			s->features[i]->adopted(s, p);
}

/* Is the feature waiting for something, so that its tick is to be called? False for a feature that never is. */
static bool is_busy(const struct sup *s, const struct feature *f)
{
	return f->busy && f->busy(s);
}

/* All are asked. */
bool feature_is_busy(const struct sup *s)
{
	bool busy = false;
	for (unsigned i = 0; i < s->nfeatures; i++)
		busy |= is_busy(s, s->features[i]);
	return busy;
}

/* Only those that are busy. */
void feature_tick(struct sup *s)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->tick && is_busy(s, s->features[i]))
			s->features[i]->tick(s);
}

/* In the order of the list. */
void feature_exec(struct sup *s, struct proc *p, const struct file *exe)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->exec)
			s->features[i]->exec(s, p, exe);
}

/* In the order of the list. */
void feature_sweep(struct sup *s, bool last)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->sweep)
			s->features[i]->sweep(s, last);
}

/* In the order of the list. */
void feature_event(struct sup *s, const struct event *ev)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->event)
			s->features[i]->event(s, ev);
}

/* True as soon as one of them says so: the others are not asked. */
bool feature_owns(const struct sup *s, const char *path)
{
	bool owns = false;
	for (unsigned i = 0; i < s->nfeatures && !owns; i++)
		owns = s->features[i]->owns && s->features[i]->owns(s, path);
	return owns;
}

/* In the order of the list. */
void feature_nested(struct sup *s, const char *run)
{
	for (unsigned i = 0; i < s->nfeatures; i++)
		if (s->features[i]->nested)
			s->features[i]->nested(s, run);
}

/* ---- in the opposite one ---- */

/* From the last of the list to the first. */
void feature_after(struct sup *s, struct proc *p, const struct trap *t)
{
	for (unsigned i = s->nfeatures; i-- > 0;)
		if (s->features[i]->after)
			s->features[i]->after(s, p, t);
}

/* From the last of the list to the first. */
void feature_end(struct sup *s, struct proc *p)
{
	for (unsigned i = s->nfeatures; i-- > 0;)
		if (s->features[i]->end)
			s->features[i]->end(s, p);
}

/* ---- the byte counter ---- */

void feature_bytes_update(struct sup *s, struct proc *p)
{
	if (s->bytes)
		s->bytes->update(s, p);
}

/* False without a byte counter. */
bool feature_bytes_all(struct sup *s, struct proc *p)
{
	return s->bytes && s->bytes->all(s, p);
}

/* False without a byte counter. */
bool feature_bytes_none(struct sup *s, const struct access *a, unsigned way)
{
	return s->bytes && s->bytes->none(s, a, way);
}

/* 0 without a byte counter. */
unsigned feature_bytes_unsaid(const struct sup *s, const struct access *a)
{
	return s->bytes ? s->bytes->unsaid(a) : 0;
}

/* False without a byte counter. */
bool feature_bytes_wait(struct sup *s, struct proc *p)
{
	return s->bytes && s->bytes->waits(s, p);
}

/* ---- the pipe watcher ---- */

void feature_pipe_arm(struct sup *s, struct proc *p, struct file *f, int fd)
{
	if (s->pipes)
		s->pipes->arm(s, p, f, fd);
}

/* False without a pipe watcher. */
bool feature_pipe_asks(const struct sup *s, struct file *f, const struct proc *q)
{
	return s->pipes && s->pipes->asks(f, q);
}

/* Nothing without a pipe watcher. */
void feature_pipe_met(struct sup *s, struct file *f, const struct proc *q)
{
	if (s->pipes)
		s->pipes->met(s, f, q);
}

/* Nothing without a pipe watcher. */
void feature_pipe_begun(struct sup *s, struct access *a)
{
	if (s->pipes)
		s->pipes->begun(s, a);
}

/* Nothing without a pipe watcher. */
void feature_pipe_ends(struct sup *s, struct access *a, const struct event_access_end *end)
{
	if (s->pipes)
		s->pipes->ends(s, a, end);
}

/* False without a pipe watcher. */
bool feature_pipe_concerns(const struct sup *s, const struct proc *p)
{
	return s->pipes && s->pipes->concerns(p);
}

/* Nothing without a pipe watcher. */
void feature_pipe_leaves(struct sup *s, struct proc *p)
{
	if (s->pipes)
		s->pipes->leaves(s, p);
}

/* Nothing without a pipe watcher. */
void feature_pipe_listen(struct sup *s)
{
	if (s->pipes)
		s->pipes->listen(s);
}

/* Nothing without a pipe watcher. */
void feature_pipe_finish(struct sup *s)
{
	if (s->pipes)
		s->pipes->finish(s);
}

/* Nothing without a pipe watcher. */
void feature_pipe_forget(const struct sup *s, struct file *f)
{
	if (s->pipes)
		s->pipes->forget(f);
}

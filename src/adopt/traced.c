#include "adopt/traced.h"
#include "base/hash.h"
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define SECOND 1000000000LL
#define IMAGES_MOST 1000000
#define ACCESSES_MOST 20000000

/* One program of a process. */
struct traced_image {
	VEC(const char *) argv;
	uint32_t like; /* of a fork: the image whose words are its, too; VEC_NONE */
	const char *cwd;
	int64_t start, end;
	bool ended;
	int code;
	VEC(struct traced_edge) edges;
};
struct traced_edge {
	uint32_t object;
	enum traced_use use;
	int64_t time;
};
/* A process, or a thread, which has its creator's. */
struct traced_process {
	uint32_t image;
	const char *cwd; /* "" unknown */
};
/* A file that was opened for writing, in a list. */
struct traced_fresh {
	uint32_t object, next; /* next: its place, VEC_NONE at the end */
};
struct traced_list {
	uint32_t first, last; /* VEC_NONE: it is empty */
};
/* The files that a process opened for writing lately: by itself, or before as another one, and those of what made it,
 * until it executes a program, which is what may write, or does not. */
struct traced_held {
	uint64_t pid;
	struct traced_list own, handed;
	int64_t time; /* of the fork by which they were handed */
};
struct traced_object {
	const char *path; /* the last that it had */
	bool written;
	size_t out_of; /* the job of which it was noted last as an output, counted from 1; 0 none */
};

/* Keeps the error (-errno) that ends the reading. The first error counts. */
static void fail(struct traced *t, int error)
{
	t->error = t->error ? t->error : error;
}

void traced_begin(struct traced *t, struct adopt_jobs *l, enum adopt_tool tool, const char *source)
{
	*t = (struct traced){.l = l, .tool = tool, .source = source, .salt = hash_str(str_of(source))};
}

/* A copy, or NULL and the error. */
static const char *copy_traced_text(struct traced *t, struct str s)
{
	const char *text = adopt_text(t->l, s);
	if (!text)
		fail(t, -ENOMEM);
	return text;
}

/* ---- processes ---- */

/* A new image; VEC_NONE and the error. */
static uint32_t new_image(struct traced *t, uint32_t like, const char *cwd, int64_t time)
{
	struct traced_image *image = t->images.n < IMAGES_MOST ? vec_add(&t->images) : NULL;
	if (!image) {
		fail(t, t->images.n < IMAGES_MOST ? -ENOMEM : -E2BIG);
		return VEC_NONE;
	}
	*image = (struct traced_image){.like = like, .cwd = cwd, .start = time, .end = TIME_NONE};
	return (uint32_t)(t->images.n - 1);
}

/* The process; one that was not seen beginning is made. NULL and the error. */
static struct traced_process *process_of(struct traced *t, uint64_t pid, int64_t time)
{
	uint32_t at = t->error ? VEC_NONE : map_get(&t->process_at, pid);
	if (at != VEC_NONE)
		return &t->processes.v[at];
	if (t->error)
		return NULL;
	struct traced_process *p = vec_add(&t->processes);
	if (!p || !map_set(&t->process_at, pid, (uint32_t)(t->processes.n - 1))) {
		fail(t, -ENOMEM);
		return NULL;
	}
	p->cwd = "";
	p->image = new_image(t, VEC_NONE, "", time);
	return t->error ? NULL : p;
}

/* Its image, whose end is that time at the earliest. */
static struct traced_image *image_of(struct traced *t, uint64_t pid, int64_t time)
{
	const struct traced_process *p = process_of(t, pid, time);
	struct traced_image *image = p ? &t->images.v[p->image] : NULL;
	if (image && time != TIME_NONE && (image->end == TIME_NONE || time > image->end))
		image->end = time;
	return image;
}

/* An access of the process's image, if it has none like it. */
static void add_traced_access(struct traced *t, uint64_t pid, uint32_t object, enum traced_use use, int64_t time)
{
	struct traced_image *image = image_of(t, pid, time);
	if (!image)
		return;
	uint64_t key = ((uint64_t)(image - t->images.v) << 34 | (uint64_t)object << 2 | use) + 1;
	if (map_get(&t->seen, key) != VEC_NONE)
		return;
	struct traced_edge *e = t->seen.n < ACCESSES_MOST ? vec_add(&image->edges) : NULL;
	if (!e || !map_set(&t->seen, key, 0)) {
		fail(t, -ENOMEM);
		return;
	}
	*e = (struct traced_edge){object, use, time};
}

/* What the process holds; NULL and the error. */
static struct traced_held *held_of(struct traced *t, uint64_t pid)
{
	uint32_t at = map_get(&t->held_at, pid);
	struct traced_held *h = at != VEC_NONE ? &t->held.v[at] : vec_add(&t->held);
	if (!h || (at == VEC_NONE && !map_set(&t->held_at, pid, (uint32_t)(t->held.n - 1)))) {
		fail(t, -ENOMEM);
		return NULL;
	}
	if (at == VEC_NONE)
		*h = (struct traced_held){.pid = pid, .own = {VEC_NONE, VEC_NONE}, .handed = {VEC_NONE, VEC_NONE}};
	return h;
}

/* Appends a list behind those of `to`; `from` is empty then. */
static void append_list(struct traced *t, struct traced_list *to, struct traced_list *from)
{
	if (from->first == VEC_NONE)
		return;
	if (to->first == VEC_NONE)
		to->first = from->first;
	else
		t->fresh.v[to->last].next = from->first;
	to->last = from->last;
	*from = (struct traced_list){VEC_NONE, VEC_NONE};
}

/* What a process opened for writing lately is the child's, too, and what that makes; the next child's no more. */
static void hand_over(struct traced *t, uint64_t pid, uint64_t child, int64_t time)
{
	uint32_t at = map_get(&t->held_at, pid);
	if (at == VEC_NONE || pid == child || !held_of(t, child))
		return;
	struct traced_held *from = &t->held.v[at], *to = held_of(t, child);
	append_list(t, &to->handed, &from->own);
	append_list(t, &to->handed, &from->handed);
	to->time = time;
}

/* What was handed to a process becomes an access of the program that it is now. */
static void take_over(struct traced *t, uint32_t at)
{
	struct traced_held *h = &t->held.v[at];
	for (uint32_t i = h->handed.first; i != VEC_NONE; i = t->fresh.v[i].next)
		add_traced_access(t, h->pid, t->fresh.v[i].object, TRACED_OPENED, h->time);
	append_list(t, &h->own, &h->handed);
}

void traced_fork(struct traced *t, uint64_t pid, uint64_t child, bool thread, int64_t time)
{
	const struct traced_process *p = process_of(t, pid, time);
	if (!p)
		return;
	const struct traced_process of = *p;
	uint32_t before = map_get(&t->process_at, child);
	if (before != VEC_NONE && t->images.v[t->processes.v[before].image].argv.n == 0 &&
	    t->images.v[t->processes.v[before].image].like == VEC_NONE && t->processes.v[before].image != of.image) {
		/* It was seen running before the call that made it had returned. */
		struct traced_process *early = &t->processes.v[before];
		t->images.v[early->image].like = of.image;
		early->cwd = *early->cwd ? early->cwd : of.cwd;
		return;
	}
	if (before != VEC_NONE && t->images.v[t->processes.v[before].image].end == TIME_NONE)
		return; /* an exec came first */
	struct traced_process *to = before != VEC_NONE ? &t->processes.v[before] : vec_add(&t->processes);
	if (!to || !map_set(&t->process_at, child, (uint32_t)(to - t->processes.v))) {
		fail(t, -ENOMEM);
		return;
	}
	to->cwd = of.cwd;
	to->image = of.image; /* until it has its own */
	uint32_t image = thread ? of.image : new_image(t, of.image, of.cwd, time);
	if (image == VEC_NONE)
		return;
	t->processes.v[map_get(&t->process_at, child)].image = image;
	if (!thread)
		hand_over(t, pid, child, time);
}

void traced_exec(struct traced *t, uint64_t pid, int64_t time)
{
	struct traced_process *p = process_of(t, pid, time);
	if (!p)
		return;
	struct traced_image *before = &t->images.v[p->image];
	before->end = time == TIME_NONE ? before->end : time;
	uint32_t image = new_image(t, VEC_NONE, p->cwd, time);
	if (image == VEC_NONE)
		return;
	p->image = image;
	uint32_t at = map_get(&t->held_at, pid);
	if (at != VEC_NONE)
		take_over(t, at);
}

void traced_word(struct traced *t, uint64_t pid, struct str word)
{
	struct traced_image *image = image_of(t, pid, TIME_NONE);
	const char *text = image && image->argv.n < ADOPT_WORDS_MOST ? copy_traced_text(t, word) : NULL;
	const char **slot = text ? vec_add(&image->argv) : NULL;
	if (slot)
		*slot = text;
	else if (text)
		fail(t, -ENOMEM);
}

void traced_chdir(struct traced *t, uint64_t pid, struct str path)
{
	struct buf b = {0};
	struct traced_process *p = process_of(t, pid, TIME_NONE);
	if (p && traced_path(t, pid, path, &b) && strcmp(p->cwd, buf_cstr(&b)) != 0) {
		const char *text = copy_traced_text(t, buf_view(&b));
		if (text) {
			p->cwd = text;
			if (!*t->images.v[p->image].cwd)
				t->images.v[p->image].cwd = text;
		}
	}
	buf_release(&b);
}

void traced_exit(struct traced *t, uint64_t pid, bool ended, int code, int64_t time)
{
	struct traced_image *image = image_of(t, pid, time);
	if (!image)
		return;
	image->ended = ended;
	image->code = code;
}

/* ---- files ---- */

bool traced_path(struct traced *t, uint64_t pid, struct str path, struct buf *ret)
{
	const struct traced_process *p = process_of(t, pid, TIME_NONE);
	buf_reset(ret);
	if (!p || !path.n || path.n >= PATH_MAX || (path.p[0] != '/' && !*p->cwd))
		return false;
	if (path.p[0] != '/')
		path_append(ret, 0, str_of(p->cwd));
	path_append(ret, 0, path);
	if (ret->failed)
		fail(t, -ENOMEM);
	return !ret->failed && ret->n && ret->n < PATH_MAX;
}

/* Is it one whose bytes nobody keeps? */
static bool is_passed_over(struct str path)
{
	static const char *const folders[] = {"/dev/", "/proc/", "/sys/"};
	if (str_starts(path, str_of("pipe:[")))
		return false;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (str_starts(path, str_of(folders[i])))
			return !str_starts(path, str_of("/dev/shm/"));
	return !path.n || path.p[0] != '/' || path.n >= PATH_MAX;
}

/* The file that has the name; a new one. VEC_NONE and the error. */
static uint32_t object_of(struct traced *t, struct str path)
{
	uint64_t key = hash_str(path);
	uint32_t at = map_get(&t->name_at, key);
	if (at != VEC_NONE)
		return at;
	char pipe[80];
	if (path.p[0] == 'p') /* of this log */
		path = str_n(pipe, (size_t)snprintf(pipe, sizeof(pipe), "%.*s/%016llx]", (int)(path.n < 40 ? path.n - 1 : 39),
		                                    path.p, (unsigned long long)t->salt));
	const char *text = copy_traced_text(t, path);
	struct traced_object *o = text ? vec_add(&t->objects) : NULL;
	if (!o || !map_set(&t->name_at, key, (uint32_t)(t->objects.n - 1))) {
		fail(t, -ENOMEM);
		return VEC_NONE;
	}
	*o = (struct traced_object){.path = text};
	return (uint32_t)(t->objects.n - 1);
}

/* The process opened it for writing. */
static void hold_file(struct traced *t, uint64_t pid, uint32_t object)
{
	struct traced_held *h = held_of(t, pid);
	struct traced_fresh *f = h ? vec_add(&t->fresh) : NULL;
	if (!f) {
		fail(t, -ENOMEM);
		return;
	}
	*f = (struct traced_fresh){object, VEC_NONE};
	const uint32_t at = (uint32_t)(t->fresh.n - 1);
	append_list(t, &h->own, &(struct traced_list){at, at});
}

void traced_access(struct traced *t, uint64_t pid, struct str path, enum traced_use use, int64_t time)
{
	uint32_t object = t->error || is_passed_over(path) ? VEC_NONE : object_of(t, path);
	if (object == VEC_NONE)
		return;
	t->objects.v[object].written |= use == TRACED_WRITE;
	add_traced_access(t, pid, object, use, time);
	if (use == TRACED_OPENED && t->inherit)
		hold_file(t, pid, object);
}

void traced_unlink(struct traced *t, struct str path)
{
	uint32_t object = t->error || is_passed_over(path) ? VEC_NONE : map_get(&t->name_at, hash_str(path));
	if (object == VEC_NONE)
		return;
	/* The name is that of a file that nobody knows yet. */
	const char *text = copy_traced_text(t, path);
	struct traced_object *o = text ? vec_add(&t->objects) : NULL;
	if (o && map_set(&t->name_at, hash_str(path), (uint32_t)(t->objects.n - 1)))
		*o = (struct traced_object){.path = text};
	else
		fail(t, -ENOMEM);
}

void traced_rename(struct traced *t, struct str from, struct str to)
{
	if (t->error || is_passed_over(from) || is_passed_over(to))
		return;
	uint32_t object = object_of(t, from);
	traced_unlink(t, from);
	const char *text = object == VEC_NONE ? NULL : copy_traced_text(t, to);
	if (text && !map_set(&t->name_at, hash_str(to), object))
		fail(t, -ENOMEM);
	else if (text)
		t->objects.v[object].path = text;
}

/* ---- jobs ---- */

/* An input or output of a job, with its time. 0, -ENOMEM. */
static int add_traced_edge(struct traced *t, struct adopt_job *j, const struct traced_edge *e)
{
	struct traced_object *o = &t->objects.v[e->object];
	bool in = e->use == TRACED_READ;
	if (!in && ((e->use == TRACED_OPENED && o->written) || o->out_of == t->l->v.n))
		return 0;
	o->out_of = in ? o->out_of : t->l->v.n; /* the job is the last one */
	int64_t time = e->time;
	if (!in && t->coarse && time != TIME_NONE)
		time -= time % SECOND;
	return adopt_edge_at(j, in, o->path, time);
}

/* The words of an image: its own, or of what it is a fork of. */
static const struct traced_image *words_of(const struct traced *t, const struct traced_image *image)
{
	for (unsigned depth = 0; depth < 64 && !image->argv.n && image->like != VEC_NONE; depth++)
		image = &t->images.v[image->like];
	return image;
}

/* Makes a job of the image: command, folder, times, ending and accesses. It is in t->l, also if it is not whole. 0,
 * -ENOMEM. */
static int make_job(struct traced *t, const struct traced_image *image)
{
	const struct traced_image *words = words_of(t, image);
	struct adopt_job *j = adopt_job_new(t->l, t->tool, t->source);
	int r = j ? 0 : -ENOMEM;
	if (!j)
		return r;
	j->cwd = image->cwd;
	j->start = image->start;
	j->end = image->end;
	if (t->coarse && j->end != TIME_NONE)
		j->end += SECOND - j->end % SECOND;
	j->ended = image->ended;
	j->code = image->code;
	for (size_t i = 0; r == 0 && i < words->argv.n; i++) {
		const char **slot = vec_add(&j->argv);
		if (slot)
			*slot = words->argv.v[i];
		else
			r = -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < image->edges.n; i++)
		r = add_traced_edge(t, j, &image->edges.v[i]);
	return r;
}

int traced_finish(struct traced *t, uint64_t *ret_jobs)
{
	for (size_t i = 0; i < t->held.n; i++)
		take_over(t, (uint32_t)i);
	int r = t->error == -ENOMEM ? -ENOMEM : 0;
	*ret_jobs = 0;
	for (size_t i = 0; r == 0 && i < t->images.n && !t->l->full; i++)
		if (t->images.v[i].edges.n) {
			r = make_job(t, &t->images.v[i]);
			++*ret_jobs;
		}
	if (r == 0 && t->error)
		r = adopt_pass(t->l, t->source, "it has more processes or files than stemma reads: the rest is left out");
	for (size_t i = 0; i < t->images.n; i++) {
		vec_release(&t->images.v[i].argv);
		vec_release(&t->images.v[i].edges);
	}
	vec_release(&t->images);
	vec_release(&t->processes);
	vec_release(&t->objects);
	vec_release(&t->fresh);
	vec_release(&t->held);
	map_release(&t->process_at);
	map_release(&t->held_at);
	map_release(&t->name_at);
	map_release(&t->seen);
	return t->l->full ? 0 : r;
}

/* generate.c - made-up logs of a busy site, for measuring the store: stemma-bench-generate DIR [SEED [SCALE]]
 *
 * The workload: 167,000 programs run, each reading its own program file and 4 inputs and writing 1 file, so 1,002,000
 * accesses and 167,000 versions written, beside 6,000 that were there before. Four projects are 1000 executions deep:
 * 900 steps of 16 programs, then 100 steps of 250, each reading from 4 programs of the step before. The last file of a
 * project has about 39,000 ancestors, most of them within 100 steps. The rest are short: one program on files that were
 * there. Every tenth file is written over an older one. Every eighth write lasts into the time in which its readers
 * read, so that a tenth of all accesses overlap another. Every tenth program is recorded in a second log that comes
 * late: its events lie between those of the first. Every process has an image before its exec, as real ones have, which
 * is an execution too.
 *
 * Writes DIR/main and DIR/late (each as a store's home; copy late's logs over main's to make them arrive) and
 * DIR/facts, a file of key=value lines with the paths to ask about. The same seed gives the same bytes. SCALE divides
 * the 1000 steps. */
#include "event/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PROJECTS = 4,
	NARROW = 16,  /* programs a step, oldest steps */
	WIDE = 250,   /* programs a step, the last tenth of the steps */
	SHORT = 9400, /* programs outside the projects */
	INPUTS = 4,
	PROGRAMS = 50,
	SOURCES = 5950,
	SHORT_PROJECT = PROJECTS,
};
#define SECOND 1000000000LL
#define STEP (10 * SECOND)
#define EPOCH (1767225600 * SECOND) /* 2026-01-01T00:00:00Z */
#define PARTIAL UINT32_MAX

/* A program that ran: reads, then writes one file. Version i < n_units is what unit i wrote, then come sources and
 * programs. */
struct unit {
	int64_t start, write_from, write_until;
	uint32_t input[INPUTS]; /* versions */
	uint32_t file;          /* what it writes */
	uint32_t before;        /* the version it writes over, or its own */
	uint16_t step, column;
	uint8_t project, program;
	bool late;
};

enum what { BEGIN, READ, READ_END, WRITE, WRITE_END, END };

/* One thing to write, ordered by time. */
struct moment {
	int64_t time;
	uint32_t unit;
	uint8_t what, slot; /* slot: 0 the program's own file, 1.. the inputs */
};

struct world {
	struct unit *units;
	uint32_t n_units, n_files, n_versions, steps, narrow_steps;
	struct moment *moments;
	size_t n_moments, cap_moments;
	uint64_t random;
};

/* What one log has already said. */
struct session {
	struct log_writer *w;
	uint64_t *file_number;          /* by file */
	uint32_t *state;                /* by file: version + 1 whose fingerprint was stated last */
	uint64_t *process;              /* by unit */
	uint64_t (*access)[INPUTS + 2]; /* by unit: seq of its accesses; the last is the write */
	uint64_t files, processes, events;
};

static uint64_t mix(uint64_t x)
{
	/* splitmix64 (Steele, Lea, Flood 2014) */
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t draw(struct world *w, uint64_t below)
{
	w->random += 0x9e3779b97f4a7c15u;
	return mix(w->random) % below;
}

static void *room(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (!p) {
		fprintf(stderr, "generate: out of memory\n");
		exit(1);
	}
	return p;
}

/* ---- the world ---- */

static uint32_t step_width(const struct world *w, uint32_t step)
{
	return step < w->narrow_steps ? NARROW : WIDE;
}

static uint32_t source(struct world *w)
{
	return w->n_units + (uint32_t)draw(w, SOURCES);
}

/* The unit of a project's step and column. */
static uint32_t unit_at(const struct world *w, uint32_t project, uint32_t step, uint32_t column)
{
	uint32_t wide = w->steps - w->narrow_steps;
	uint32_t each = w->narrow_steps * NARROW + wide * WIDE;
	uint32_t before =
	    step < w->narrow_steps ? step * NARROW : w->narrow_steps * NARROW + (step - w->narrow_steps) * WIDE;
	return project * each + before + column;
}

static void choose_inputs(struct world *w, struct unit *u)
{
	for (int i = 0; i < INPUTS; i++) {
		bool again;
		do {
			if (u->project == SHORT_PROJECT || u->step == 0)
				u->input[i] = source(w);
			else
				u->input[i] = unit_at(w, u->project, u->step - 1u, (uint32_t)draw(w, step_width(w, u->step - 1u)));
			again = false;
			for (int k = 0; k < i; k++)
				again |= u->input[k] == u->input[i];
		} while (again);
	}
}

static void make_unit(struct world *w, uint32_t number, uint32_t project, uint32_t step, uint32_t column)
{
	struct unit *u = &w->units[number];
	u->project = (uint8_t)project;
	u->step = (uint16_t)step;
	u->column = (uint16_t)column;
	u->program = (uint8_t)draw(w, PROGRAMS);
	u->late = draw(w, 10) == 0;
	u->start = EPOCH + step * STEP + (int64_t)draw(w, SECOND / 2);
	u->write_from = u->start + SECOND;
	u->write_until = u->write_from + (int64_t)draw(w, 3 * SECOND);
	if (draw(w, 8) == 0) /* it is still being written when the next step reads it */
		u->write_until = EPOCH + (step + 1) * STEP + 2 * SECOND + (int64_t)draw(w, SECOND);
	u->before = number;
	/* Far enough back that nobody still reads what is written over. */
	if (project != SHORT_PROJECT && step >= 8 && column < step_width(w, step - 8) && draw(w, 10) == 0) {
		u->before = unit_at(w, project, step - 8, column);
		u->file = w->units[u->before].file;
	} else {
		u->file = w->n_files++;
	}
	choose_inputs(w, u);
}

/* Shorts run all the time the projects do. */
static uint32_t short_step(const struct world *w, uint32_t i)
{
	return (uint32_t)((uint64_t)i * w->steps / SHORT);
}

static void make_world(struct world *w, uint64_t seed, uint32_t scale)
{
	w->random = seed;
	w->steps = 1000 / scale;
	w->narrow_steps = 900 / scale;
	w->n_units = PROJECTS * unit_at(w, 1, 0, 0) + SHORT / scale;
	w->n_versions = w->n_units + SOURCES + PROGRAMS;
	w->units = room(w->n_units, sizeof(*w->units));
	w->n_files = SOURCES + PROGRAMS; /* files that were there have the first numbers */
	for (uint32_t p = 0; p < PROJECTS; p++)
		for (uint32_t step = 0; step < w->steps; step++)
			for (uint32_t column = 0; column < step_width(w, step); column++)
				make_unit(w, unit_at(w, p, step, column), p, step, column);
	uint32_t first = PROJECTS * unit_at(w, 1, 0, 0);
	for (uint32_t i = first; i < w->n_units; i++)
		make_unit(w, i, SHORT_PROJECT, short_step(w, i - first) % w->steps, 0);
}

static uint32_t version_file(const struct world *w, uint32_t version)
{
	return version < w->n_units ? w->units[version].file : version - w->n_units;
}

/* ---- its course in time ---- */

static void add_moment(struct world *w, int64_t time, uint32_t unit, enum what what, unsigned slot)
{
	if (w->n_moments == w->cap_moments) {
		w->cap_moments = w->cap_moments ? 2 * w->cap_moments : 1 << 16;
		struct moment *more = realloc(w->moments, w->cap_moments * sizeof(*more));
		if (!more) {
			fprintf(stderr, "generate: out of memory\n");
			exit(1);
		}
		w->moments = more;
	}
	w->moments[w->n_moments++] = (struct moment){time, unit, (uint8_t)what, (uint8_t)slot};
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->what != y->what ? x->what - y->what : x->slot - y->slot;
}

static void make_moments(struct world *w)
{
	for (uint32_t i = 0; i < w->n_units; i++) {
		const struct unit *u = &w->units[i];
		add_moment(w, u->start, i, BEGIN, 0);
		for (unsigned slot = 0; slot <= INPUTS; slot++) {
			int64_t from = u->start + 2000000 + slot * 100000;
			add_moment(w, from, i, READ, slot);
			if (mix(i * 8 + slot) & 1) /* the end of the others is that of their program */
				add_moment(w, from + (int64_t)(mix(i * 8 + slot) % (SECOND / 2)), i, READ_END, slot);
		}
		add_moment(w, u->write_from, i, WRITE, 0);
		add_moment(w, u->write_until, i, WRITE_END, 0);
		add_moment(w, u->write_until + 1000000, i, END, 0);
	}
	qsort(w->moments, w->n_moments, sizeof(*w->moments), by_time);
}

/* ---- writing it down ---- */

static uint64_t emit(struct session *s, struct event *ev)
{
	uint64_t seq = log_writer_add(s->w, ev);
	if (!seq) {
		fprintf(stderr, "generate: %s could not be written\n", log_writer_path(s->w));
		exit(1);
	}
	s->events++;
	return seq;
}

static struct str file_path(const struct world *w, uint32_t file, uint32_t version, char *out, size_t size)
{
	int n;
	if (file < SOURCES) {
		n = snprintf(out, size, "/data/archive/%02u/sample-%04u.raw", file % 100, file);
	} else if (file < SOURCES + PROGRAMS) {
		n = snprintf(out, size, "/opt/site/bin/tool%02u", file - SOURCES);
	} else {
		const struct unit *u = &w->units[version];
		while (u->before != (uint32_t)(u - w->units)) /* the name it was created with */
			u = &w->units[u->before];
		if (u->project == SHORT_PROJECT)
			n = snprintf(out, size, "/scratch/misc/report-%06u.txt", (unsigned)(u - w->units));
		else
			n = snprintf(out, size, "/scratch/project%u/step%04u/part-%03u.dat", u->project, u->step, u->column);
	}
	return str_n(out, (size_t)n);
}

static uint64_t file_number(struct session *s, const struct world *w, int64_t time, uint32_t version)
{
	uint32_t file = version_file(w, version);
	if (!s->file_number[file]) {
		char path[128];
		struct event ev = {.time = time, .kind = EVENT_file};
		s->file_number[file] = ++s->files;
		ev.file = (struct event_file){.num = s->files,
		                              .kind = TERM_kind_regular,
		                              .domain = 1,
		                              .ino = 1000 + file,
		                              .gen = mix(file) >> 32,
		                              .path = file_path(w, file, version, path, sizeof(path))};
		emit(s, &ev);
	}
	return s->file_number[file];
}

static int64_t version_mtime(const struct world *w, uint32_t version)
{
	return version < w->n_units ? w->units[version].write_until - 1000 : EPOCH - SECOND * (1 + mix(version) % 1000000);
}

/* States the fingerprint of a version, if it is not what was stated last; `partial`: of the version half written. */
static void say_state(struct session *s, const struct world *w, int64_t time, uint32_t version, bool partial)
{
	uint32_t file = version_file(w, version);
	uint64_t number = file_number(s, w, time, version);
	if (!partial && s->state[file] == version + 1)
		return;
	s->state[file] = partial ? PARTIAL : version + 1;
	struct event ev = {.time = time, .kind = EVENT_state};
	ev.state.file = number;
	ev.state.size = (mix(version) & 0xffffff) >> (partial ? 1 : 0);
	ev.state.mtime = partial ? time - 1000 : version_mtime(w, version);
	emit(s, &ev);
}

static void say_begin(struct session *s, const struct world *w, uint32_t number)
{
	const struct unit *u = &w->units[number];
	char path[128], step[32], column[32], cwd[64], tool[64];
	uint64_t exe = file_number(s, w, u->start, w->n_units + SOURCES + u->program);
	struct event ev = {.time = u->start, .kind = EVENT_process, .proc = ++s->processes};
	s->process[number] = s->processes;
	ev.process = (struct event_process){
	    .pid = 2000 + number, .started = u->start / 10000000 * 10000000, .parent = 1, .forked = u->start - 300000};
	emit(s, &ev);

	struct str argv[] = {
	    file_path(w, SOURCES + u->program, 0, tool, sizeof(tool)),
	    str_n(step, (size_t)snprintf(step, sizeof(step), "--step=%u", u->step)),
	    str_n(column, (size_t)snprintf(column, sizeof(column), "--part=%u", u->column)),
	    str_of("--output"),
	    file_path(w, u->file, number, path, sizeof(path)),
	};
	struct str env[] = {str_of("LANG=C.UTF-8"), str_of("OMP_NUM_THREADS=1")};
	struct event ex = {.time = u->start + 1000000, .kind = EVENT_exec, .proc = s->processes};
	ex.exec =
	    (struct event_exec){.n = 1,
	                        .exe = exe,
	                        .argv = {argv, 5, {0}},
	                        .cwd = str_n(cwd, (size_t)snprintf(cwd, sizeof(cwd), "/scratch/project%u", u->project)),
	                        .env = {env, 2, {0}},
	                        .uid = 1000,
	                        .gid = 1000};
	emit(s, &ex);
}

static void say_read(struct session *s, const struct world *w, const struct moment *m)
{
	const struct unit *u = &w->units[m->unit];
	uint32_t version = m->slot ? u->input[m->slot - 1] : w->n_units + SOURCES + u->program;
	say_state(s, w, m->time, version, version < w->n_units && w->units[version].write_until > m->time);
	struct event ev = {.time = m->time, .kind = EVENT_access, .proc = s->process[m->unit]};
	ev.access = (struct event_access){.file = file_number(s, w, m->time, version),
	                                  .mode = ACCESS_READ | ACCESS_STATE | (m->slot ? 0 : ACCESS_PROGRAM),
	                                  .via = TERM_via_data,
	                                  .sure = 1,
	                                  .api = m->slot ? TERM_api_open : TERM_api_exec};
	s->access[m->unit][m->slot] = emit(s, &ev);
}

static void say_write(struct session *s, const struct world *w, const struct moment *m)
{
	const struct unit *u = &w->units[m->unit];
	bool over = u->before != m->unit;
	if (over)
		say_state(s, w, m->time, u->before, false);
	struct event ev = {.time = m->time, .kind = EVENT_access, .proc = s->process[m->unit]};
	ev.access = (struct event_access){.file = file_number(s, w, m->time, m->unit),
	                                  .mode = ACCESS_WRITE | (over ? ACCESS_TRUNC | ACCESS_STATE : ACCESS_CREATE),
	                                  .via = TERM_via_data,
	                                  .sure = 1,
	                                  .api = TERM_api_open};
	s->access[m->unit][INPUTS + 1] = emit(s, &ev);
}

static void say_access_end(struct session *s, const struct world *w, const struct moment *m)
{
	bool write = m->what == WRITE_END;
	if (write)
		say_state(s, w, m->time, m->unit, false);
	struct event ev = {.time = m->time, .kind = EVENT_access_end, .proc = s->process[m->unit]};
	ev.access_end = (struct event_access_end){.access = s->access[m->unit][write ? INPUTS + 1 : m->slot],
	                                          .until = m->time,
	                                          .evidence = write ? TERM_evidence_must : TERM_evidence_none,
	                                          .state = write,
	                                          .count = 1};
	emit(s, &ev);
}

static void say_exit(struct session *s, const struct world *w, const struct moment *m)
{
	struct event ev = {.time = m->time, .kind = EVENT_exit, .proc = s->process[m->unit]};
	uint64_t user = (uint64_t)(m->time - w->units[m->unit].start) / 2;
	ev.exit = (struct event_exit){.ending = TERM_ending_exited,
	                              .cpu = user + user / 8,
	                              .user = user,
	                              .system = user / 8,
	                              .rss = 20u << 20,
	                              .rchar = 40u << 20,
	                              .wchar = 10u << 20,
	                              .known = 0x7e};
	emit(s, &ev);
}

static const char *const run_id[] = {"01KDW000000000000000000MA1", "01KDW0000000000000000BATE1"}; /* main, late */

/* The driver that started all of a log's programs is its process 1. */
static void say_session(struct session *s, const struct world *w, bool late)
{
	struct str run = str_of(run_id[late]);
	struct str argv[] = {str_of("make"), str_of("-j"), str_of(late ? "late" : "all")};
	struct event ev = {.time = EPOCH - SECOND, .kind = EVENT_session};
	ev.session = (struct event_session){.run = run,
	                                    .host = str_of("node1"),
	                                    .boot = str_of("6d2f4c0ad34c4a0f9a3b8f0e8f0a1b2c"),
	                                    .pidns = 4026531836,
	                                    .tool = str_of("stemma-bench-generate"),
	                                    .mode = str_of("complete/notify")};
	emit(s, &ev);
	ev = (struct event){.time = EPOCH - SECOND, .kind = EVENT_run};
	ev.run = (struct event_run){.id = run,
	                            .argv = {argv, 3, {0}},
	                            .cwd = str_of("/scratch"),
	                            .user = str_of("user"),
	                            .group = str_of("users"),
	                            .uid = 1000,
	                            .gid = 1000};
	emit(s, &ev);
	ev = (struct event){.time = EPOCH - SECOND, .kind = EVENT_domain};
	ev.domain = (struct event_domain){
	    .num = 1, .name = str_of("uuid:2b7e1516-28ae-d2a6-abf7-158809cf4f3c"), .type = str_of("ext4")};
	emit(s, &ev);
	ev = (struct event){.time = EPOCH - SECOND, .kind = EVENT_process, .proc = ++s->processes};
	ev.process =
	    (struct event_process){.pid = late ? 1001 : 1000, .started = EPOCH - 2 * SECOND, .forked = EPOCH - 2 * SECOND};
	emit(s, &ev);
	ev = (struct event){.time = EPOCH - SECOND / 2, .kind = EVENT_exec, .proc = 1};
	ev.exec = (struct event_exec){.n = 1,
	                              .exe = file_number(s, w, EPOCH - SECOND / 2, w->n_units + SOURCES),
	                              .argv = {argv, 3, {0}},
	                              .cwd = str_of("/scratch"),
	                              .uid = 1000,
	                              .gid = 1000};
	emit(s, &ev);
}

static void say_session_end(struct session *s, const struct world *w, bool late)
{
	int64_t time = EPOCH + (w->steps + 2) * STEP;
	struct event ev = {.time = time, .kind = EVENT_exit, .proc = 1};
	ev.exit.ending = TERM_ending_exited;
	emit(s, &ev);
	ev = (struct event){.time = time, .kind = EVENT_run_end, .proc = 1};
	ev.run_end = (struct event_run_end){.id = str_of(run_id[late]), .ending = TERM_ending_exited};
	emit(s, &ev);
	ev = (struct event){.time = time, .kind = EVENT_session_end};
	emit(s, &ev);
}

/* Makes dir and what leads to it. */
static int make_dirs(const char *dir)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static void write_log(const struct world *w, const char *dir, bool late, uint64_t seed, struct session *s)
{
	char path[4096];
	struct err err = {0};
	/* The day's name tells the two apart when late's logs are copied over main's. */
	snprintf(path, sizeof(path), "%s/%s/logs/node1/2026-01-0%d", dir, late ? "late" : "main", late ? 2 : 1);
	int r = make_dirs(path);
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/0.stl");
	int fd = r ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || log_writer_fdopen(fd, mix(seed + late) | 1, &err, &s->w) < 0) {
		fprintf(stderr, "generate: cannot write '%s': %s\n", path, err.text[0] ? err.text : strerror(r ? -r : errno));
		exit(1);
	}
	s->file_number = room(w->n_files, sizeof(*s->file_number));
	s->state = room(w->n_files, sizeof(*s->state));
	s->process = room(w->n_units, sizeof(*s->process));
	s->access = room(w->n_units, sizeof(*s->access));

	say_session(s, w, late);
	for (size_t i = 0; i < w->n_moments; i++) {
		const struct moment *m = &w->moments[i];
		if (w->units[m->unit].late != late)
			continue;
		switch ((enum what)m->what) {
		case BEGIN:
			say_begin(s, w, m->unit);
			break;
		case READ:
			say_read(s, w, m);
			break;
		case WRITE:
			say_write(s, w, m);
			break;
		case READ_END:
		case WRITE_END:
			say_access_end(s, w, m);
			break;
		case END:
			say_exit(s, w, m);
			break;
		}
	}
	say_session_end(s, w, late);
	if (log_writer_close(s->w) < 0) {
		fprintf(stderr, "generate: cannot write '%s'\n", path);
		exit(1);
	}
	free(s->file_number);
	free(s->state);
	free(s->process);
	free(s->access);
}

static int write_facts(const struct world *w, const char *dir, uint64_t seed, uint64_t events)
{
	char path[4096], name[128];
	snprintf(path, sizeof(path), "%s/facts", dir);
	FILE *f = fopen(path, "we");
	if (!f)
		return -errno;
	uint32_t last = unit_at(w, 0, w->steps - 1, 0), middle = unit_at(w, 1, w->steps / 2, 3);
	fprintf(f, "seed=%llu\nprograms=%u\naccesses=%u\nwritten=%u\nexternal=%u\nevents=%llu\n", (unsigned long long)seed,
	        w->n_units, w->n_units * (INPUTS + 2), w->n_units, SOURCES + PROGRAMS, (unsigned long long)events);
	struct str s = file_path(w, w->units[last].file, last, name, sizeof(name));
	fprintf(f, "deep=%.*s\n", (int)s.n, s.p);
	s = file_path(w, w->units[middle].file, middle, name, sizeof(name));
	fprintf(f, "read=%.*s\n", (int)s.n, s.p);
	s = file_path(w, version_file(w, w->units[0].input[0]), 0, name, sizeof(name));
	fprintf(f, "source=%.*s\n", (int)s.n, s.p);
	return fclose(f) ? -errno : 0;
}

int main(int argc, char **argv)
{
	struct world w = {0};
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	unsigned long scale = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	if (argc < 2 || argc > 4 || argv[1][0] == '-' || scale < 1 || scale > 50) {
		fprintf(stderr, "usage: %s DIR [SEED [SCALE 1..50]]\n", argv[0]);
		return 2;
	}
	make_world(&w, seed, (uint32_t)scale);
	make_moments(&w);
	uint64_t events = 0;
	for (int late = 0; late < 2; late++) {
		struct session s = {0};
		write_log(&w, argv[1], late, seed, &s);
		events += s.events;
	}
	int r = write_facts(&w, argv[1], seed, events);
	if (r < 0) {
		fprintf(stderr, "generate: cannot write '%s/facts': %s\n", argv[1], strerror(-r));
		return 1;
	}
	free(w.units);
	free(w.moments);
	return 0;
}

/* stemma-growth - made-up logs of any size, to see how costs grow: stemma-growth HOME SHAPE N [AT]
 *
 *   run N      one run of N accesses: programs that each read their own file, a library and three inputs, and write one
 *   open N     the same, which goes on still
 *   runs N     N runs of one program, which reads a library and writes one file
 *   renames N  N runs, in each of which a file is written and renamed onto one name
 *   appends N  one run, in which N programs append to one file: opened by the shell's fork, by a fork that writes
 * itself, by the program itself, in turns; one in 16 has a gap one N      N = 0 or 1: one more run of one program, with
 * (1) a rename onto that name
 *
 * AT (0 to 999, 0 where it is not given) is when it takes place, and another for each log of a record: the log is
 * HOME/logs/h1/2026-01-01/AT.stl. The same arguments give the same bytes. */
#include "event/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define EPOCH (1767225600 * SECOND) /* 2026-01-01T00:00:00Z */
#define AT_APART (100000 * SECOND)
enum { LIBRARY = 1, PROGRAM = 2, INPUTS = 3, FIRST_OUTPUT = 1000 }; /* inodes */

struct growth {
	struct log_writer *w;
	int fd;
	int64_t now;
	unsigned at;
	uint64_t files, processes, sessions;
	uint64_t library, program;
	char run[27];
};

static void fail(const char *what)
{
	fprintf(stderr, "growth: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t emit(struct growth *g, struct event ev)
{
	ev.time = g->now += 1000;
	uint64_t seq = log_writer_add(g->w, &ev);
	if (!seq)
		fail("cannot write");
	return seq;
}

static uint64_t file(struct growth *g, uint64_t ino, const char *path)
{
	emit(g, (struct event){
	            .kind = EVENT_file,
	            .file = {.num = ++g->files, .kind = TERM_kind_regular, .domain = 1, .ino = ino, .path = str_of(path)}});
	return g->files;
}

static void state(struct growth *g, uint64_t f, uint64_t size, int64_t mtime)
{
	emit(g, (struct event){.kind = EVENT_state, .state = {.file = f, .size = size, .mtime = mtime}});
}

static void use(struct growth *g, uint64_t process, uint64_t f, unsigned mode)
{
	struct event_access a = {.file = f, .mode = mode, .via = TERM_via_data, .sure = 1, .api = TERM_api_open};
	uint64_t seq = emit(g, (struct event){.kind = EVENT_access, .proc = process, .access = a});
	if (mode & ACCESS_WRITE)
		state(g, f, 10, g->now);
	emit(g, (struct event){.kind = EVENT_access_end,
	                       .proc = process,
	                       .access_end = {.access = seq,
	                                      .until = g->now,
	                                      .evidence = mode & ACCESS_WRITE ? TERM_evidence_must : TERM_evidence_none,
	                                      .state = (mode & ACCESS_WRITE) != 0,
	                                      .count = 1,
	                                      .first = TIME_NONE,
	                                      .last = TIME_NONE}});
}

static uint64_t process(struct growth *g, uint64_t parent, const char *command, const char *argument)
{
	struct str argv[] = {str_of(command), str_of(argument)};
	uint64_t p = ++g->processes;
	emit(g, (struct event){.kind = EVENT_process,
	                       .proc = p,
	                       .process = {.pid = 100 + p, .started = g->now, .parent = parent, .forked = g->now}});
	emit(g, (struct event){
	            .kind = EVENT_exec,
	            .proc = p,
	            .exec = {
	                .n = 1, .exe = g->program, .argv = {argv, 2, {0}}, .cwd = str_of("/w"), .uid = 1000, .gid = 1000}});
	use(g, p, g->program, ACCESS_READ | ACCESS_PROGRAM | ACCESS_STATE);
	use(g, p, g->library, ACCESS_READ | ACCESS_PROGRAM | ACCESS_STATE);
	return p;
}

static void ended(struct growth *g, uint64_t p)
{
	emit(g, (struct event){.kind = EVENT_exit, .proc = p, .exit = {.ending = TERM_ending_exited}});
}

static void begin(struct growth *g, const char *command, const char *argument)
{
	struct str argv[] = {str_of(command), str_of(argument)};
	struct err err = {0};
	g->files = g->processes = 0;
	snprintf(g->run, sizeof(g->run), "01KDW%03u%018llu", g->at, (unsigned long long)++g->sessions);
	if (log_writer_fdopen(dup(g->fd), (uint64_t)(g->at + 1) << 32 | g->sessions, &err, &g->w) < 0) {
		fprintf(stderr, "growth: %s\n", err.text);
		exit(1);
	}
	emit(g, (struct event){.kind = EVENT_session,
	                       .session = {.run = str_of(g->run),
	                                   .host = str_of("h1"),
	                                   .boot = str_of("b1"),
	                                   .pidns = 1,
	                                   .tool = str_of("growth"),
	                                   .mode = str_of("complete/test")}});
	emit(g, (struct event){.kind = EVENT_domain,
	                       .domain = {.num = 1, .name = str_of("uuid:test"), .type = str_of("ext4")}});
	emit(g, (struct event){.kind = EVENT_run,
	                       .run = {.id = str_of(g->run),
	                               .argv = {argv, 2, {0}},
	                               .cwd = str_of("/w"),
	                               .user = str_of("ann"),
	                               .group = str_of("lab"),
	                               .uid = 1000,
	                               .gid = 1000}});
	g->library = file(g, LIBRARY, "/usr/lib/libc.so.6");
	g->program = file(g, PROGRAM, "/usr/bin/tool");
	state(g, g->library, 1000, EPOCH - SECOND);
	state(g, g->program, 2000, EPOCH - SECOND);
}

static void end(struct growth *g)
{
	emit(g, (struct event){
	            .kind = EVENT_run_end, .proc = 1, .run_end = {.id = str_of(g->run), .ending = TERM_ending_exited}});
	emit(g, (struct event){.kind = EVENT_session_end});
}

static void closed(struct growth *g)
{
	if (log_writer_flush(g->w) < 0)
		fail("cannot write");
	log_writer_close(g->w);
}

static void append(struct growth *g, uint64_t p, uint64_t f, unsigned via, unsigned evidence)
{
	struct event_access a = {
	    .file = f, .mode = ACCESS_WRITE | ACCESS_APPEND, .via = via, .sure = 1, .api = TERM_api_open};
	uint64_t seq = emit(g, (struct event){.kind = EVENT_access, .proc = p, .access = a});
	struct event_access_end end = {
	    .access = seq, .until = g->now + 1000000, .evidence = evidence, .first = TIME_NONE, .last = TIME_NONE};
	emit(g, (struct event){.kind = EVENT_access_end, .proc = p, .access_end = end});
}

/* One of those that append 10 bytes each; `turn` is how the file was opened. */
static void appender(struct growth *g, uint64_t driver, uint64_t f, uint64_t input, uint64_t i)
{
	char argument[32];
	unsigned turn = i % 3;
	uint64_t p = ++g->processes;
	snprintf(argument, sizeof(argument), "part%llu", (unsigned long long)i);
	struct str argv[] = {str_of("tool"), str_of(argument)};
	emit(g, (struct event){.kind = EVENT_process,
	                       .proc = p,
	                       .process = {.pid = 100 + p, .started = g->now, .parent = driver, .forked = g->now}});
	if (turn < 2)
		append(g, p, f, TERM_via_data, turn ? TERM_evidence_must : TERM_evidence_may);
	use(g, p, input, ACCESS_READ | ACCESS_STATE);
	if (turn != 1)
		emit(g, (struct event){.kind = EVENT_exec,
		                       .proc = p,
		                       .exec = {.n = 1, .exe = g->program, .argv = {argv, 2, {0}}, .cwd = str_of("/w")}});
	if (turn != 1)
		append(g, p, f, turn ? TERM_via_data : TERM_via_descriptor, TERM_evidence_must);
	if (i % 16 == 0)
		emit(g, (struct event){.kind = EVENT_gap, .proc = p, .gap = {.reason = TERM_gap_lost, .from = g->now}});
	emit(g, (struct event){
	            .kind = EVENT_exit, .proc = p, .exit = {.ending = TERM_ending_exited, .wchar = 10, .known = 1 << 6}});
}

static uint64_t output_ino(const struct growth *g, uint64_t i)
{
	return FIRST_OUTPUT + ((uint64_t)g->at << 40) + i;
}

/* Programs of six accesses; each reads what the three before it wrote. */
static void large_run(struct growth *g, uint64_t accesses, bool goes_on)
{
	uint64_t n = accesses / 6, made[INPUTS] = {0};
	char path[64], argument[32];
	begin(g, "make", "all");
	uint64_t driver = process(g, 0, "make", "all");
	for (uint64_t i = 0; i < n; i++) {
		snprintf(argument, sizeof(argument), "part%llu", (unsigned long long)i);
		uint64_t p = process(g, driver, "tool", argument);
		for (int k = 0; k < INPUTS; k++)
			if (made[k])
				use(g, p, made[k], ACCESS_READ | ACCESS_STATE);
		snprintf(path, sizeof(path), "/w/%u/%llu/out%llu", g->at, (unsigned long long)(i / 1000),
		         (unsigned long long)i);
		made[i % INPUTS] = file(g, output_ino(g, i), path);
		use(g, p, made[i % INPUTS], ACCESS_WRITE | ACCESS_CREATE);
		ended(g, p);
	}
	if (!goes_on) {
		ended(g, driver);
		end(g);
	}
	closed(g);
}

static void small_run(struct growth *g, uint64_t i, bool renames)
{
	char path[64], argument[32];
	snprintf(argument, sizeof(argument), "run%llu", (unsigned long long)i);
	begin(g, "tool", argument);
	uint64_t p = process(g, 0, "tool", argument);
	snprintf(path, sizeof(path), renames ? "/w/.git/index.lock" : "/w/%u.out%llu", g->at, (unsigned long long)i);
	uint64_t f = file(g, output_ino(g, i), path);
	use(g, p, f, ACCESS_WRITE | ACCESS_CREATE);
	if (renames)
		emit(g, (struct event){.kind = EVENT_name,
		                       .proc = p,
		                       .name = {.op = TERM_nameop_rename,
		                                .file = f,
		                                .path = str_of("/w/.git/index"),
		                                .old = str_of("/w/.git/index.lock")}});
	ended(g, p);
	end(g);
	closed(g);
}

static void append_run(struct growth *g, uint64_t n)
{
	begin(g, "sh", "many.sh");
	uint64_t driver = process(g, 0, "sh", "many.sh");
	uint64_t f = file(g, output_ino(g, 0), "/w/appended"), input = file(g, output_ino(g, 1), "/w/input");
	for (uint64_t i = 0; i < n; i++)
		appender(g, driver, f, input, i);
	state(g, f, 10 * n, g->now);
	ended(g, driver);
	end(g);
	closed(g);
}

static void make_folders(char *path)
{
	for (char *p = path + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			if (mkdir(path, 0700) < 0 && errno != EEXIST)
				fail(path);
			*p = '/';
		}
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: stemma-growth HOME run|open|runs|renames|appends|one N [AT]\n");
		return 2;
	}
	const char *shape = argv[2];
	uint64_t n = strtoull(argv[3], NULL, 10);
	struct growth g = {.at = argc > 4 ? (unsigned)atoi(argv[4]) : 0};
	g.now = EPOCH + g.at * AT_APART;
	char path[4096];
	snprintf(path, sizeof(path), "%s/logs/h1/2026-01-01/%u.stl", argv[1], g.at);
	make_folders(path);
	g.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (g.fd < 0)
		fail(path);
	bool renames = !strcmp(shape, "renames");
	if (!strcmp(shape, "run") || !strcmp(shape, "open"))
		large_run(&g, n, !strcmp(shape, "open"));
	else if (!strcmp(shape, "appends"))
		append_run(&g, n);
	else if (!strcmp(shape, "one"))
		small_run(&g, 0, n);
	else
		for (uint64_t i = 0; i < n; i++)
			small_run(&g, i, renames);
	return 0;
}

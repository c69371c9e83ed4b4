#include "history_all.h"

#include <stdio.h>

#define LIST(...)                                                                                                      \
	(struct strlist)                                                                                                   \
	{                                                                                                                  \
		.items = (const struct str[]){__VA_ARGS__},                                                                    \
		.count = sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)                                        \
	}
#define S(text)                                                                                                        \
	{                                                                                                                  \
		text, sizeof(text) - 1                                                                                         \
	}

/* Time is seconds since the beginning; each comment says when. */
static int64_t at(int64_t seconds)
{
	return HISTORY_BEGIN + seconds * HISTORY_SECOND;
}

static void tell_files(struct history *h, uint64_t p)
{
	uint64_t in = history_file(h, TERM_kind_regular, "/w/in", 11),
	         out = history_file(h, TERM_kind_regular, "/w/out", 12);
	history_event(h, (struct event){.kind = EVENT_state, .state = {.file = in, .size = 100, .mtime = at(-5)}});
	uint64_t seq = history_event(
	    h, (struct event){.kind = EVENT_access,
	                      .proc = p,
	                      .access = {.file = in, .mode = ACCESS_READ | ACCESS_STATE, .sure = 1, .api = TERM_api_open}});
	history_event(h, (struct event){.kind = EVENT_access_end,
	                                .proc = p,
	                                .access_end = {.access = seq,
	                                               .until = h->now,
	                                               .count = 3,
	                                               .known = 1,
	                                               .bytes_read = 70,
	                                               .first = TIME_NONE,
	                                               .last = TIME_NONE}});
	history_event(h, (struct event){.kind = EVENT_io,
	                                .proc = p,
	                                .io = {.access = seq,
	                                       .api = TERM_ioapi_pread,
	                                       .calls = 4,
	                                       .failed = 1,
	                                       .bytes = 70,
	                                       .largest = 40,
	                                       .spent = 9000,
	                                       .first = at(100),
	                                       .last = at(101),
	                                       .size0 = 1,
	                                       .size1 = 2,
	                                       .size9 = 1}});
	history_write(h, p, out, 20);
	uint64_t pipe = history_file(h, TERM_kind_pipe, "", 13);
	history_access(
	    h, p,
	    (struct event_access){.file = pipe, .mode = ACCESS_WRITE, .via = TERM_via_descriptor, .api = TERM_api_inherit},
	    at(90));
	history_read(h, p, history_file(h, TERM_kind_absent, "/w/none", 0));
	uint64_t dir = history_file(h, TERM_kind_directory, "/w/d", 14),
	         inside = history_file(h, TERM_kind_regular, "/w/d/x", 15);
	history_write(h, p, inside, 1);
	history_name(h, TERM_nameop_rename, dir, "/w/e", "/w/d");
	history_name(h, TERM_nameop_link, out, "/w/also", "");
	history_name(h, TERM_nameop_unlink, out, "/w/out", "");
}

/* digest: the first digits of it; 0 follow. */
static void tell_digest(struct history *h, uint64_t ino, uint64_t size, int64_t mtime, unsigned usage, const char *path,
                        const char *digest)
{
	char text[7 + 64 + 1];
	snprintf(text, sizeof(text), "sha256:%s%060d", digest, 0);
	history_event(h, (struct event){.kind = EVENT_digest,
	                                .digest = {.run = str_of(HISTORY_RUN_A),
	                                           .domain = str_of("uuid:test"),
	                                           .ino = ino,
	                                           .size = size,
	                                           .mtime = mtime,
	                                           .usage = usage,
	                                           .path = str_of(path),
	                                           .digest = str_of(text)}});
}

void history_all_a(void)
{
	struct history h;
	history_begin(&h, "", "", 0);
	history_event(&h, (struct event){.kind = EVENT_run,
	                                 .run = {.id = str_of(HISTORY_RUN_A),
	                                         .outer = str_of(HISTORY_RUN_B),
	                                         .argv = LIST(S("./a"), S("two words")),
	                                         .cwd = str_of("/w/a"),
	                                         .user = str_of("ann"),
	                                         .group = str_of("lab"),
	                                         .uid = 1000,
	                                         .gid = 1001,
	                                         .host = LIST(S("machine=x86_64"), S("cpus=8")),
	                                         .label = LIST(S("sample=B7"), S("plain"))}});
	uint64_t p = history_process(&h, 0), q;
	history_event(&h, (struct event){.kind = EVENT_exec,
	                                 .proc = p,
	                                 .exec = {.n = 1,
	                                          .exe = history_file(&h, TERM_kind_regular, "/usr/bin/a", 10),
	                                          .argv = LIST(S("a"), S("-x"), S("two words")),
	                                          .cwd = str_of("/w/a"),
	                                          .env = LIST(S("LANG=C"), S("SLURM_JOB_ID=77"), S("SLURM_PROCID=3"),
	                                                      S("SLURM_STEP_ID=2")),
	                                          .uid = 1000,
	                                          .gid = 7,
	                                          .run = str_of(HISTORY_RUN_A)}});
	tell_files(&h, p);
	q = history_process(&h, p);
	history_event(&h, (struct event){.kind = EVENT_link, .proc = q, .link = {.other = p, .via = TERM_via_socket}});
	history_event(
	    &h, (struct event){.kind = EVENT_gap,
	                       .proc = p,
	                       .gap = {.reason = TERM_gap_io_uring, .count = 2, .from = at(30), .text = str_of("a ring")}});
	history_event(&h,
	              (struct event){.kind = EVENT_gap, .gap = {.reason = TERM_gap_lost, .count = 5, .from = TIME_NONE}});
	history_exit(&h, q, TERM_ending_signaled, 9);
	history_event(&h, (struct event){.kind = EVENT_exit,
	                                 .proc = p,
	                                 .exit = {.ending = TERM_ending_exited,
	                                          .code = 3,
	                                          .cpu = 30,
	                                          .user = 20,
	                                          .system = 10,
	                                          .rss = 4096,
	                                          .rchar = 71,
	                                          .wchar = 21,
	                                          .read_bytes = 512,
	                                          .write_bytes = 1024,
	                                          .known = 0x1fe & ~(1 << 4)}}); /* rss was not read */
	tell_digest(&h, 11, 100, at(-5), TERM_usage_input, "/w/in", "1111");
	tell_digest(&h, 12, 20, at(13), TERM_usage_output, "/w/out", "2222");
	tell_digest(&h, 10, 30, at(-9), TERM_usage_program, "/usr/bin/a", "3333");
	history_event(
	    &h,
	    (struct event){
	        .kind = EVENT_run_end,
	        .proc = p,
	        .run_end = {.id = str_of(HISTORY_RUN_A), .ending = TERM_ending_exited, .code = 3, .cpu = 55, .traps = 66}});
	history_end(&h, p);
}

static const char summary[] =
    "{\"format\": 1, \"run\": \"" HISTORY_RUN_B
    "\", \"command\": [\"b\", \"two words\"], \"cwd\": \"/w/b\", \"user\": \"ann\", "
    "\"exit_type\": \"limit\", \"exit_status\": null, \"signal\": 15, \"oom\": true, "
    "\"wall_time\": {\"value\": 1.5, \"unit\": \"s\", \"method\": \"clock\", \"complete\": true}, "
    "\"cpu_time\": {\"value\": 2, \"low\": 1, \"high\": 4, \"unit\": \"s\", \"method\": \"samples\", \"complete\": "
    "false}, "
    "\"swap_peak\": {\"value\": null, \"unit\": \"B\", \"absent\": \"no swap\"}, "
    "\"limits\": {\"memory\": {\"limit\": 1000, \"peak\": 1200, \"unit\": \"B\"}}, "
    "\"limits_exceeded\": [{\"name\": \"memory\", \"limit\": 1000, \"peak\": 1200, \"unit\": \"B\"}], "
    "\"host\": {\"name\": \"h1\", \"load\": \"3\"}, \"label\": {\"sample\": \"B7\"}}";

/* Later: finds /w/in changed unseen, tells what was measured and said. */
void history_all_b(void)
{
	struct history h;
	history_begin(&h, HISTORY_RUN_B, "b", 1000);
	uint64_t p = history_process(&h, 0), in = history_file(&h, TERM_kind_regular, "/w/in", 11);
	history_exec(&h, p, "b", 0, 0);
	history_event(&h, (struct event){.kind = EVENT_state, .state = {.file = in, .size = 101, .mtime = at(500)}});
	history_access(
	    &h, p, (struct event_access){.file = in, .mode = ACCESS_READ | ACCESS_STATE, .sure = 1, .api = TERM_api_open},
	    at(1012));
	history_event(&h, (struct event){.kind = EVENT_machine,
	                                 .machine = {.run = str_of(HISTORY_RUN_B),
	                                             .moment = TERM_moment_after,
	                                             .invariant = LIST(S("cpu=fast")),
	                                             .variant = LIST(S("load=0.5"), S("free=1=2")),
	                                             .parameter = LIST(S("n=3"))}});
	history_event(&h, (struct event){.kind = EVENT_result,
	                                 .result = {.run = str_of(HISTORY_RUN_B),
	                                            .source = str_of("stdout"),
	                                            .value = LIST(S("time=1.5"), S("time=1.6")),
	                                            .missing = LIST(S("rate=not there"))}});
	uint64_t app = history_event(
	    &h,
	    (struct event){
	        .kind = EVENT_app,
	        .proc = p,
	        .app = {.run = str_of(HISTORY_RUN_B), .pid = 1101, .started = at(1003), .image = 5, .tool = str_of("C")}});
	history_event(&h, (struct event){.kind = EVENT_app_word,
	                                 .app_word = {.app = app,
	                                              .thread = 8,
	                                              .activity = 4,
	                                              .said = TERM_said_config,
	                                              .name = str_of("rate"),
	                                              .value = str_of("0.1"),
	                                              .version = str_of("v2"),
	                                              .whole = 900}});
	double figure = 0.1;
	uint64_t bits;
	memcpy(&bits, &figure, sizeof(bits));
	history_event(
	    &h,
	    (struct event){
	        .kind = EVENT_app_metric,
	        .app_metric = {.app = app, .thread = 8, .name = str_of("loss"), .number = bits, .stepped = 1, .step = -7}});
	history_event(&h,
	              (struct event){
	                  .kind = EVENT_app_activity,
	                  .app_activity = {
	                      .app = app, .thread = 8, .activity = 3, .n = 4, .name = str_of("epoch"), .until = at(1030)}});
	history_event(
	    &h, (struct event){.kind = EVENT_mpi_rank,
	                       .mpi_rank = {.app = app, .rank = 2, .size = 4, .level = 3, .library = str_of("MPI 4")}});
	history_event(&h, (struct event){.kind = EVENT_mpi_io,
	                                 .mpi_io = {.app = app,
	                                            .path = str_of("/w/shared"),
	                                            .op = TERM_mpiop_open,
	                                            .collective = 1,
	                                            .ranks = 4,
	                                            .calls = 6,
	                                            .failed = 1,
	                                            .bytes = 4000,
	                                            .spent = 70,
	                                            .first = at(1020),
	                                            .last = at(1021)}});
	history_event(&h, (struct event){.kind = EVENT_h5_object,
	                                 .h5_object = {.run = str_of(HISTORY_RUN_B),
	                                               .path = str_of("/w/f.h5//d"),
	                                               .kind = TERM_kind_dataset,
	                                               .type = str_of("float:8"),
	                                               .shape = LIST(S("4"), S("5")),
	                                               .most = LIST(S("4"), S("unlimited"))}});
	history_event(&h, (struct event){.kind = EVENT_h5_part,
	                                 .h5_part = {.run = str_of(HISTORY_RUN_B),
	                                             .path = str_of("/w/f.h5//d"),
	                                             .pid = 1101,
	                                             .started = (uint64_t)at(1003),
	                                             .n = 1,
	                                             .write = 1,
	                                             .from = LIST(S("0"), S("1")),
	                                             .to = LIST(S("3"), S("4")),
	                                             .calls = 2,
	                                             .elements = 16,
	                                             .field = LIST(S("x"), S("y"))}});
	history_event(
	    &h, (struct event){.kind = EVENT_summary,
	                       .summary = {.run = str_of(HISTORY_RUN_B), .text = str_of(summary), .set = str_of("a set")}});
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* A build, in a session of no run. */
void history_all_build(void)
{
	struct history h;
	char digest[32];
	for (int i = 0; i < 32; i++)
		digest[i] = (char)i;
	history_begin(&h, "", "", 2000);
	history_event(&h, (struct event){.kind = EVENT_build,
	                                 .build = {.pid = 50,
	                                           .started = 60,
	                                           .argv = LIST(S("cc"), S("@args"), S("a.c")),
	                                           .args = LIST(S("cc"), S("-O2"), S("a.c")),
	                                           .cwd = str_of("/w"),
	                                           .compiler = str_of("/usr/bin/cc"),
	                                           .version = str_of("cc 12"),
	                                           .target = str_of("x86_64"),
	                                           .env = LIST(S("CPATH=/i")),
	                                           .user = str_of("ann"),
	                                           .uid = 1000,
	                                           .began = at(2001),
	                                           .ending = TERM_ending_exited,
	                                           .code = 1,
	                                           .commit = str_of("abc123"),
	                                           .tree = TERM_tree_dirty,
	                                           .gaps = LIST(S("plugin x")),
	                                           .files = 3}});
	history_event(&h, (struct event){.kind = EVENT_build_file,
	                                 .build_file = {.role = TERM_role_source,
	                                                .path = str_of("/w/a.c"),
	                                                .size = 9,
	                                                .mtime = at(1),
	                                                .digest = str_n(digest, 32)}});
	history_event(&h, (struct event){.kind = EVENT_build_file,
	                                 .build_file = {.role = TERM_role_header,
	                                                .path = str_of("/w/a.h"),
	                                                .size = 8,
	                                                .mtime = TIME_NONE,
	                                                .detail = str_of("it was gone")}});
	history_event(&h, (struct event){.kind = EVENT_build_file,
	                                 .build_file = {.role = TERM_role_output,
	                                                .path = str_of("/w/a.o"),
	                                                .size = 7,
	                                                .mtime = at(2),
	                                                .digest = str_n(digest, 32),
	                                                .id = str_of("\x01\xff")}});
	history_end(&h, 0);
}

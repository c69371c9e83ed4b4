/* An index of any bytes: it is read, or refused; nothing is read beyond what there is.
 *
 * The index is one that is made here from a small log, and an input what is changed in it: an offset (3 bytes,
 * little-endian, modulo the file's size) and a byte, again and again. It is opened as one that the daemon hands over,
 * for those pages have no checksums that would refuse it first. */
#include "event/log_writer.h"
#include "fuzz_file.h"
#include "store/dump.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char *base;
static size_t base_n;

static void write_log(const char *path)
{
	struct log_writer *w;
	struct err err = {0};
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct str argv[] = {str_of("sort"), str_of("in")};
	must(fd >= 0 && log_writer_fdopen(fd, 7, &err, &w) == 0);
	struct event events[] = {
	    {.kind = EVENT_session,
	     .session =
	         {.run = str_of("01AAAAAAAAAAAAAAAAAAAAAAAA"), .host = str_of("h"), .boot = str_of("b"), .pidns = 1}},
	    {.kind = EVENT_domain, .domain = {.num = 1, .name = str_of("uuid:1"), .type = str_of("ext4")}},
	    {.kind = EVENT_run,
	     .run = {.id = str_of("01AAAAAAAAAAAAAAAAAAAAAAAA"), .argv = {.items = argv, .count = 2}, .cwd = str_of("/w")}},
	    {.kind = EVENT_process, .proc = 1, .process = {.pid = 9, .started = 5}},
	    {.kind = EVENT_file,
	     .file = {.num = 1, .kind = TERM_kind_regular, .domain = 1, .ino = 4, .path = str_of("/w/in")}},
	    {.kind = EVENT_file,
	     .file = {.num = 2, .kind = TERM_kind_regular, .domain = 1, .ino = 5, .path = str_of("/w/out")}},
	    {.kind = EVENT_exec, .proc = 1, .exec = {.n = 1, .argv = {.items = argv, .count = 2}, .cwd = str_of("/w")}},
	    {.kind = EVENT_access, .proc = 1, .access = {.file = 1, .mode = ACCESS_READ, .via = TERM_via_data, .sure = 1}},
	    {.kind = EVENT_access,
	     .proc = 1,
	     .access = {.file = 2, .mode = ACCESS_WRITE | ACCESS_CREATE, .via = TERM_via_data, .sure = 1}},
	    {.kind = EVENT_gap, .gap = {.reason = TERM_gap_lost, .count = 1, .text = str_of("why")}},
	    {.kind = EVENT_exit, .proc = 1, .exit = {.ending = TERM_ending_exited}},
	    {.kind = EVENT_session_end},
	};
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		events[i].time = 1000 + (int64_t)i;
		must(log_writer_add(w, &events[i]) != 0);
	}
	must(log_writer_close(w) == 0);
}

static void make_base(void)
{
	char home[] = "/dev/shm/stemma-fuzz.XXXXXX", path[256];
	struct err err = {0};
	struct store *s;
	must(mkdtemp(home) != NULL);
	static const char *const folders[] = {"logs", "logs/h", "logs/h/d"};
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", home, folders[i]);
		must(mkdir(path, 0700) == 0);
	}
	snprintf(path, sizeof(path), "%s/logs/h/d/0.stl", home);
	write_log(path);
	must(store_open(home, STORE_WRITE, &err, &s) == 0 && store_index(s, NULL, &err, NULL) == 0);
	snprintf(path, sizeof(path), "%s", store_index_path(s));
	store_close(s);
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &st) == 0);
	base_n = (size_t)st.st_size;
	base = malloc(base_n);
	must(base && read(fd, base, base_n) == (ssize_t)base_n);
	close(fd);
	snprintf(path, sizeof(path), "rm -rf %s", home);
	must(system(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	struct store *s;
	struct store_damage d;
	if (!base)
		make_base();
	int fd = memfd_create("index", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, base, base_n) == (ssize_t)base_n);
	for (; size >= 4; size -= 4, data += 4) {
		size_t at = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % base_n;
		must(pwrite(fd, data + 3, 1, (off_t)at) == 1);
	}
	if (store_open_fd(fd, &err, &s) < 0)
		return 0;
	struct canon c = {0};
	struct run_info run;
	struct exec_info exec;
	struct file_info file;
	struct version_info version;
	store_canon(s, &c);
	store_damage(s, &d);
	for (store_id id = 0; id < 40; id++) {
		store_run(s, id, &run);
		store_file(s, id, &file);
		store_exec(s, id << 20 | 1, &exec);
		store_version(s, id << 24 | 1, &version);
	}
	canon_release(&c);
	store_close(s);
	return 0;
}

#include "trace_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int64_t trace_epoch = 1767225600000000000; /* 2026-01-01 */

size_t trace_words(char *line, char *ret[64])
{
	char *rest = line, *word;
	size_t n = 0;
	memset(ret, 0, 64 * sizeof(*ret));
	while (n < 63 && (word = strtok_r(rest, " \n", &rest)))
		ret[n++] = word;
	return n && ret[0][0] != '#' ? n : 0;
}

const char *trace_value(char *const *words, const char *key)
{
	size_t n = strlen(key);
	for (; *words; words++)
		if (!strncmp(*words, key, n) && (*words)[n] == '=')
			return *words + n + 1;
	return NULL;
}

int64_t trace_time(char *const *words, const char *key, const char *other)
{
	const char *v = trace_value(words, key);
	if (!v && other)
		v = trace_value(words, other);
	return v ? trace_epoch + (int64_t)(strtod(v, NULL) * 1e6 + 0.5) : 0;
}

uint64_t trace_number(char *const *words, const char *key)
{
	const char *v = trace_value(words, key);
	return v ? strtoull(v, NULL, 0) : 0;
}

/* Unescapes into room; commas become `separator`, and there is one at the end. */
static struct str text(char *const *words, const char *key, char *room, size_t size, int separator)
{
	const char *v = trace_value(words, key);
	size_t n = 0;
	for (; v && *v && n + 1 < size; v++) {
		unsigned byte;
		if (*v == '%' && sscanf(v + 1, "%2x", &byte) == 1) {
			room[n++] = (char)byte;
			v += 2;
		} else {
			room[n++] = *v == ',' && separator >= 0 ? (char)separator : *v;
		}
	}
	if (v && separator >= 0 && n < size)
		room[n++] = (char)separator;
	return str_n(room, n);
}

static uint32_t bits(char *const *words, const char *key, const char *const *names, const uint32_t *bit)
{
	const char *v = trace_value(words, key);
	uint32_t ret = 0;
	for (size_t i = 0; v && names[i]; i++) {
		const char *at = strstr(v, names[i]);
		size_t n = strlen(names[i]);
		if (at && (at[n] == ',' || at[n] == '\0') && (at == v || at[-1] == ','))
			ret |= bit[i];
	}
	return ret;
}

static size_t descriptors(char *const *words, struct tracer_fd *ret, size_t max)
{
	const char *v = trace_value(words, "fds");
	size_t n = 0;
	unsigned fd;
	unsigned long long ino;
	char mode[4], type[8];
	int used;
	for (; v && n < max && sscanf(v, "%u:%3[rw]:%llu:%7[a-z]%n", &fd, mode, &ino, type, &used) == 4; n++) {
		bool file = type[0] == 'f';
		ret[n] = (struct tracer_fd){.fd = fd,
		                            .opened = (strchr(mode, 'r') ? 1u : 0u) | (strchr(mode, 'w') ? 2u : 0u),
		                            .file = {.dev = file ? 1 : 9,
		                                     .ino = ino,
		                                     .mode = file             ? S_IFREG
		                                             : type[0] == 'p' ? S_IFIFO
		                                                              : S_IFSOCK}};
		v += used;
		v += *v == ',';
	}
	return n;
}

bool trace_event(char **words, tracer_each *each, void *arg)
{
	static const char *const kinds[] = {"alive", "fork",  "exec", "exit",  "fds",   "file", "rename",
	                                    "bytes", "uring", "lost", "watch", "clock", "user", NULL};
	static const char *const ops[] = {"open", "exec", "closew", "closer", "create", "delete", "from", "to", NULL};
	static const uint32_t op_bits[] = {TRACER_OPENED,  TRACER_EXECUTED, TRACER_CLOSED_WRITE, TRACER_CLOSED_READ,
	                                   TRACER_CREATED, TRACER_DELETED,  TRACER_MOVED_FROM,   TRACER_MOVED_TO};
	static const char *const flags[] = {"exec", "again", "late", "cut", "unread", "unseen", NULL};
	static const uint32_t flag_bits[] = {TRACER_SPANS_EXEC, TRACER_AGAIN,  TRACER_LATE,
	                                     TRACER_CUT,        TRACER_UNREAD, TRACER_UNSEEN};
	char exe[4096], name[4096], argv[65536], env[65536], cwd[4096], path[4096], old[4096];
	struct tracer_fd fds[64];
	unsigned kind = 0;
	while (kinds[kind] && strcmp(kinds[kind], words[0]) != 0)
		kind++;
	if (!kinds[kind])
		return false;
	struct tracer_event ev = {.kind = kind + 1,
	                          .lo = trace_time(words, "lo", "t"),
	                          .hi = trace_time(words, "hi", "t"),
	                          .until = trace_time(words, "until", NULL),
	                          .pid = (pid_t)trace_number(words, "pid"),
	                          .ppid = (pid_t)trace_number(words, "ppid"),
	                          .start = trace_number(words, "start"),
	                          .nexec = (uint32_t)trace_number(words, "nexec"),
	                          .uid = (uint32_t)trace_number(words, "uid"),
	                          .gid = (uint32_t)trace_number(words, "uid"),
	                          .flags = bits(words, "flags", flags, flag_bits)};
	if (!ev.start)
		ev.start = 1000000000ull * (uint64_t)ev.pid;
	switch (ev.kind) {
	case TRACER_ALIVE:
	case TRACER_EXEC:
		ev.exec.exe = (struct tracer_fileid){.dev = 1, .ino = trace_number(words, "ino"), .gen = 7, .mode = S_IFREG};
		ev.exec.exe_path = text(words, "exe", exe, sizeof(exe), -1);
		ev.exec.name = text(words, "name", name, sizeof(name), -1);
		ev.exec.argv = text(words, "argv", argv, sizeof(argv), 0);
		ev.exec.env = text(words, "env", env, sizeof(env), 0);
		ev.exec.cwd = text(words, "cwd", cwd, sizeof(cwd), -1);
		break;
	case TRACER_EXIT:
		ev.exit.status = (int)trace_number(words, "status");
		break;
	case TRACER_FDS:
		ev.fds.at_exit = trace_number(words, "exit");
		ev.fds.fd = fds;
		ev.fds.n = descriptors(words, fds, 64);
		break;
	case TRACER_FILE:
	case TRACER_RENAME:
		ev.file.ops = bits(words, "ops", ops, op_bits);
		ev.file.id = (struct tracer_fileid){
		    .dev = 1, .ino = trace_number(words, "ino"), .gen = trace_number(words, "gen"), .mode = S_IFREG};
		if (!ev.file.id.gen)
			ev.file.id.gen = 7;
		ev.file.path = text(words, "path", path, sizeof(path), -1);
		ev.file.old_path = text(words, "old", old, sizeof(old), -1);
		ev.file.have_state = trace_value(words, "size");
		ev.file.size = trace_number(words, "size");
		ev.file.mtime = trace_time(words, "mtime", NULL);
		ev.file.looked = trace_time(words, "looked", NULL);
		ev.file.directory = trace_number(words, "dir");
		break;
	case TRACER_ACCESS: {
		bool pipe = trace_number(words, "pipe");
		ev.access.id = (struct tracer_fileid){
		    .dev = pipe ? 9 : 1, .ino = trace_number(words, "ino"), .mode = pipe ? S_IFIFO : S_IFREG};
		ev.access.read = (struct tracer_side){trace_number(words, "rn"), trace_number(words, "rb"),
		                                      trace_time(words, "rf", NULL), trace_time(words, "rl", NULL)};
		ev.access.write = (struct tracer_side){trace_number(words, "wn"), trace_number(words, "wb"),
		                                       trace_time(words, "wf", NULL), trace_time(words, "wl", NULL)};
		ev.access.final = trace_number(words, "final");
		ev.access.nexec = ev.nexec;
		break;
	}
	case TRACER_LOST:
		ev.pid = 0;
		ev.lost.what = TRACER_LOST_FILE;
		ev.lost.count = trace_number(words, "count");
		ev.lost.text = "queue full";
		break;
	case TRACER_CLOCK:
		ev.pid = 0;
		ev.clock.by = -1000000 * (int64_t)trace_number(words, "back");
		break;
	default:
		break;
	}
	each(arg, &ev);
	return true;
}

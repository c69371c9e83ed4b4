/* sessions N FILE: a segment of N sessions, each a run of which nothing but its beginning and end is recorded. */
#include "event/log_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return 1;
	for (long i = 0; i < atol(argv[1]); i++) {
		struct log_writer *w;
		char run[27];
		snprintf(run, sizeof(run), "01%024ld", i);
		if (log_writer_fdopen(dup(fd), 0, NULL, &w) < 0)
			return 1;
		struct event ev[] = {{.kind = EVENT_session,
		                      .time = i,
		                      .session = {.run = str_of(run),
		                                  .host = str_of("host"),
		                                  .boot = str_of("00112233445566778899aabbccddeeff"),
		                                  .mode = str_of("complete/notify")}},
		                     {.kind = EVENT_run,
		                      .time = i,
		                      .run = {.id = str_of(run), .cwd = str_of("/home/me/work"), .user = str_of("me")}},
		                     {.kind = EVENT_session_end, .time = i}};
		for (int k = 0; k < 3; k++)
			log_writer_add(w, &ev[k]);
		if (log_writer_close(w) < 0)
			return 1;
	}
	return close(fd) < 0;
}

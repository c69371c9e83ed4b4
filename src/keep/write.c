#include "keep/write.h"

#include "base/fileid.h"
#include "event/log_place.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* From the file first: the name service begins with a socket to a daemon (0.1 ms). false: it is not in the file, or
 * does not fit in n. */
static bool user_in_file(uid_t uid, char *ret, size_t n)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw;
	bool found = false;
	while (f && !found && (pw = fgetpwent(f)))
		if (pw->pw_uid == uid && pw->pw_name && *pw->pw_name)
			found = snprintf(ret, n, "%s", pw->pw_name) < (int)n;
	if (f)
		fclose(f);
	return found;
}

const char *keep_user(void)
{
	static char text[64];
	if (user_in_file(geteuid(), text, sizeof(text)))
		return text;
	struct passwd *pw = getpwuid(geteuid());
	if (pw && pw->pw_name && *pw->pw_name)
		snprintf(text, sizeof(text), "%s", pw->pw_name);
	else
		snprintf(text, sizeof(text), "%lu", (unsigned long)geteuid());
	return text;
}

void keep_host(char *ret, size_t size)
{
	char host[LOG_PLACE_HOST];
	log_place_own_host(host);
	snprintf(ret, size, "%s", host);
}

/* CLOCK_REALTIME, ns. */
int64_t keep_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The first event of a log in which keeping says what it did. */
static void write_session_event(struct log_writer *w)
{
	char host[256];
	struct stat ns = {0};
	gethostname(host, sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	stat("/proc/self/ns/pid", &ns);
	struct event ev = {.kind = EVENT_session,
	                   .time = keep_now(),
	                   .session = {.host = str_of(host),
	                               .boot = str_of(host_boot_id()),
	                               .pidns = ns.st_ino,
	                               .tool = str_of("stemma " STEMMA_VERSION),
	                               .mode = str_of("keeping")}};
	log_writer_add(w, &ev);
}

int keep_begin(const char *home, struct err *err, struct log_writer **ret)
{
	char host[256], day[16] = "";
	time_t now = time(NULL);
	struct tm tm;
	keep_host(host, sizeof(host));
	if (gmtime_r(&now, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	mode_t mask = umask(077);
	int rc = log_writer_open(home, host, day, err, ret);
	umask(mask);
	if (rc == 0)
		write_session_event(*ret);
	return rc;
}

int keep_begin_at(int fd, struct err *err, struct log_writer **ret)
{
	int rc = log_writer_fdopen(fd, 0, err, ret);
	if (rc == 0)
		write_session_event(*ret);
	return rc;
}

/* Closes w in any case. durable: it is on the disk. -errno, reported; -EFBIG: events were lost. */
static int write_session_end(struct log_writer *w, bool durable, struct err *err)
{
	struct event ev = {.kind = EVENT_session_end, .time = keep_now()};
	log_writer_add(w, &ev);
	int rc = durable ? log_writer_sync(w) : log_writer_flush(w);
	uint64_t lost = log_writer_lost(w);
	if (rc < 0)
		err_set(err, -rc, "cannot write to the store: %s", log_writer_path(w));
	else if (lost)
		rc = err_set(err, EFBIG, "cannot write to the store");
	log_writer_close(w);
	return rc;
}

/* Closes the session in any case. 0; -errno with a sentence; -EFBIG: events were lost. */
int keep_end(struct log_writer *w, struct err *err)
{
	return write_session_end(w, false, err);
}

int keep_end_durable(struct log_writer *w, struct err *err)
{
	return write_session_end(w, true, err);
}

int keep_note(const char *home, const struct keep_note *n, struct err *err)
{
	struct log_writer *w;
	int rc = keep_begin(home, err, &w);
	if (rc < 0)
		return rc;
	int64_t now = keep_now();
	if (!n->run.n) {
		struct event domain = {.kind = EVENT_domain, .time = now, .domain = {.num = 1, .name = n->domain}};
		/* No path: that the file has a name now is not what is said. */
		struct event file = {.kind = EVENT_file,
		                     .time = now,
		                     .file = {.num = 1,
		                              .kind = n->kind,
		                              .domain = n->kind == TERM_kind_absent ? 0 : 1,
		                              .ino = n->ino,
		                              .gen = n->gen,
		                              .path = n->path}};
		log_writer_add(w, &domain);
		log_writer_add(w, &file);
	}
	struct event note = {.kind = EVENT_note,
	                     .time = now,
	                     .note = {.run = n->run,
	                              .file = n->run.n ? 0 : 1,
	                              .text = n->text,
	                              .version = n->version,
	                              .user = str_of(keep_user())}};
	log_writer_add(w, &note);
	return keep_end_durable(w, err);
}

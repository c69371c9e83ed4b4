#include "keep/drop.h"

#include "keep/rewrite.h"

#include <errno.h>

int keep_drop_sessions(const char *home, const uint64_t *sessions, size_t n, struct err *err)
{
	struct keep_logs *l;
	struct edits e = {0};
	struct rewritten done = {0};
	int rc = keep_logs_open(home, err, &l);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const size_t before = e.wholes.n;
		edits_whole(&e, e.n, sessions[i]);
		rc = e.wholes.n > before ? 0 : -ENOMEM;
	}
	rc = rc < 0 ? rc : edits_ready(&e);
	if (rc < 0)
		err_set(err, -rc, "cannot list the log segments to rewrite");
	rc = rc < 0 ? rc : rewrite_touched(l, &e, false, NULL, NULL, err, &done);
	edits_release(&e);
	keep_logs_close(l);
	return rc;
}

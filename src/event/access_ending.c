#include "event/access_ending.h"
#include "base/fileid.h"
#include "event/event.h"

#include <string.h>

/* Asks the owner of the access a question. False where there is nobody to ask. */
static bool was_asked(bool (*question)(void *arg), void *arg)
{
	return question && question(arg);
}

/* Returns what speaks for an unchanged file. Of a regular file that looks as it did before. */
static unsigned evidence_of_unchanged(const struct access_ending *e)
{
	if (e->appends)
		return TERM_evidence_none; /* bytes at the end would have made it longer */
	/* Unchanged is proof only if a write would have got a later time: the clock of file times had passed the old one.
	 */
	int64_t shows; /* times of files may be anything */
	if (!__builtin_add_overflow(e->before.ctime, e->slack, &shows) && shows < e->stamp)
		return TERM_evidence_none;
	/* Empty before and after, and nobody read it in between: whatever was written there, nothing holds it. Such are the
	 * files that a shell has just made for what a program prints. */
	if (e->before.size == 0 && e->unread)
		return TERM_evidence_none;
	return was_asked(e->is_silent, e->arg) ? TERM_evidence_none : TERM_evidence_may;
}

unsigned access_ending_evidence(const struct access_ending *e)
{
	if (e->written != ACCESS_BYTES_UNKNOWN)
		return e->written == ACCESS_BYTES_SOME ? TERM_evidence_must : TERM_evidence_none;
	if (e->made)
		return TERM_evidence_must;
	if (!e->regular)
		return was_asked(e->is_silent, e->arg) ? TERM_evidence_none : TERM_evidence_may;
	/* What it changed may be the times alone. */
	if (e->timed && e->before.known && e->after.known && e->before.size == e->after.size)
		return was_asked(e->is_silent, e->arg) ? TERM_evidence_none : TERM_evidence_may;
	if (e->mapped) /* whoever inherited the mapping may have stored through it, or not */
		return e->via == TERM_via_data ? TERM_evidence_must : TERM_evidence_may;
	if (e->fresh && e->after.known && e->after.size == 0)
		return TERM_evidence_none; /* it was new, and still has nothing in it */
	if (!e->before.known || !e->after.known)
		return TERM_evidence_may;
	if (e->before.size != e->after.size || e->before.mtime != e->after.mtime)
		return was_asked(e->is_alone, e->arg) ? TERM_evidence_must : TERM_evidence_may;
	if (e->before.ctime != e->after.ctime)
		return TERM_evidence_may; /* written, and the old time put back? */
	return evidence_of_unchanged(e);
}

bool access_ending_has_clock(const struct fs_domain *d)
{
	return d && !d->network && strncmp(d->type, "fuse", 4) != 0;
}

int64_t access_ending_until(int64_t start, int64_t until, int64_t passed)
{
	if (passed == TIME_NONE || passed < start || passed >= until)
		return until;
	return passed > start ? passed : start + 1;
}

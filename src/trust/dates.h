/* dates.h - do two texts differ only in dates and times of day? For outputs of a run that was made again: a header with
 * the day on which it was written is no other result.
 *
 * A date is 2026-11-28 (also with / or .), 20261128, 20261128T223001, 22:30:01, and what ctime(3) and RFC 2822 write
 * (Sat Nov 28 22:30:01 2026; 28 Nov 2026), with what follows of fractions and offsets. A number of seconds is none: it
 * looks like any other number. Bytes that are no text may stand between. Pure; linear. */
#ifndef STEMMA_TRUST_DATES_H
#define STEMMA_TRUST_DATES_H

#include "base/str.h"

/* Are they the same but for dates? False, too, where they are the same. */
bool dates_only(struct str a, struct str b);

#endif

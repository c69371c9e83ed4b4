/* report.h - a run, or a version of a file, as one HTML page that needs nothing else: what `stemma report` writes
 * (doc/report.md).
 *
 * The page is page/ (HTML, CSS, JavaScript), with the answer as JSON in the middle. All that comes from a record is in
 * that JSON and nowhere else: names are hostile. One thread; the whole page is made in memory. Cost: the walk, twice,
 * and about 20 us and 200 bytes of page for each node of it. */
#ifndef STEMMA_REPORT_REPORT_H
#define STEMMA_REPORT_REPORT_H

#include "answer/source.h"
#include "base/buf.h"
#include "base/err.h"
#include "query/target.h"

/* A picture in the place of a page. */
enum report_picture { REPORT_PAGE, REPORT_GANTT, REPORT_READS, REPORT_SERIES };

struct report_request {
	const char *name;     /* the word that was asked for */
	struct target target; /* a run, or a file that has a version */
	uint64_t most;        /* nodes, the nearest first; 0: as many as there are */
	const char *against;  /* the word for what it is compared with, NULL: with nothing */
	struct target other;  /* that, of the kind of target */
	bool served;          /* the page is one of `stemma serve` (report_page.h) */
	enum report_picture picture;
	const char *series; /* what `stemma run --series` wrote of the run; NULL: none */
};

/* Appends the page, or the picture as SVG, to ret. 0; -EINVAL, -EBADMSG: the series is none, or of another run; or
 * -errno, with a sentence. */
int report_make(const struct answer_source *a, const struct report_request *q, struct err *err, struct buf *ret);

#endif

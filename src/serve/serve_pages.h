/* serve_pages.h - pages for people: the run's and the file's are those of `stemma report` (src/report), made by a
 * worker; the others are files that ask the server for JSON (page/). */
#ifndef STEMMA_SERVE_SERVE_PAGES_H
#define STEMMA_SERVE_SERVE_PAGES_H

#include "lib/record.h"
#include "serve/serve_request.h"

#define SERVE_HTML "text/html; charset=utf-8"
enum { SERVE_PAGE_NODES = 10000 }; /* of a page: under 2 MB, and a browser shows it at once */

/* The bytes of a file, and its type; static. NULL: the route is none. */
struct str serve_shell(enum serve_route route, const char **ret_type);
/* The page of a run, a file, or of two compared: *ret is HTML. As stemma_show. */
int serve_page(struct stemma_record *r, const struct serve_request *q, char **ret, struct stemma_error *err);
/* An error as a page, appended. */
void serve_page_problem(const char *detail, const char *hint, struct buf *ret);

#endif

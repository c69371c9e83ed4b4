/* report_page.h - the page around the data, and the one encoder through which all data goes. */
#ifndef STEMMA_REPORT_REPORT_PAGE_H
#define STEMMA_REPORT_REPORT_PAGE_H

#include "base/buf.h"

/* Appends JSON as it may stand in a script element of HTML: outside of texts it has no <, > or & and no character of
 * base/unsafe_char.h but ends of lines, and in texts an escape stands for the same. So no tag, no end of the element
 * and no character that changes how a page is read can be in it, whatever the data is. Bytes that are no UTF-8, which
 * JSON cannot have, become U+FFFD. */
void report_page_data(struct str data, struct buf *ret);
/* Appends the page around data, a JSON text. served: it is sent by `stemma serve`; then script and style are the files
 * assets/report.js and assets/page.css beside it, and the navigation of the record stands first. */
void report_page(struct str data, bool served, struct buf *ret);
/* These files; static. */
struct str report_page_script(void);
struct str report_page_style(void);

#endif

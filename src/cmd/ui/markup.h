/* markup.h - text as HTML and as Graphviz's language have it. */
#ifndef STEMMA_CMD_UI_MARKUP_H
#define STEMMA_CMD_UI_MARKUP_H

#include <stdio.h>

/* On standard output; characters that HTML gives a meaning stand as their entities, in text and in attributes. */
void print_html_escaped(const char *text);
/* What stands between double quotes in a file for dot: quotes and backslashes are kept from it. text: of fmt_name,
 * which leaves nothing else that dot would read otherwise. */
void print_dot_quoted(FILE *to, const char *text);

#endif

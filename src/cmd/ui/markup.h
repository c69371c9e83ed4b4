/* markup.h - text as HTML has it, on standard output. */
#ifndef STEMMA_CMD_UI_MARKUP_H
#define STEMMA_CMD_UI_MARKUP_H

/* Characters that HTML gives a meaning stand as their entities, in text and in attributes. */
void print_html_escaped(const char *text);

#endif

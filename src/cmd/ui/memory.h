/* memory.h - tells base/memory.h of each allocation that fails in this program.
 *
 * The linker leads malloc and its kin here (--wrap in meson.build); jansson and SQLite tell by their own hooks. An
 * answer during which an allocation failed ends with 125 (main.c). */
#ifndef STEMMA_CMD_UI_MEMORY_H
#define STEMMA_CMD_UI_MEMORY_H

/* The libraries, too; before the first of their functions is called. */
void memory_watch(void);

#endif

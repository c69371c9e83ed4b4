/* site_tables.h - tables of use that a database has, for a computing centre. */
#ifndef STEMMA_CMD_SITE_TABLES_H
#define STEMMA_CMD_SITE_TABLES_H

#include "cmd/cmd.h"

/* Is it the name of a table: programs, libraries, compilers, built, files? */
bool site_is_table(const char *name);
/* Prints the rows that the role of the URL may see. The exit status; what failed was said. */
int site_print_table(struct cmd *c, const struct opts_site *o, const char *name, const char *url);

#endif

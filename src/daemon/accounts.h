/* accounts.h - whose a user id is. A user with a range of subordinate ids (/etc/subuid) can take any of them in a user
 * namespace, so what holds for one user (shares, rates, questions) holds for the user and that range together.
 *
 * One thread, and one table for the process. */
#ifndef STEMMA_DAEMON_ACCOUNTS_H
#define STEMMA_DAEMON_ACCOUNTS_H

#include <stdint.h>

enum { ACCOUNTS_MAX = 1024 }; /* ranges; those above are users of their own */

/* Reads the file again; NULL: /etc/subuid. What is not a line of it is passed over. */
void accounts_read(const char *path);
/* The user who owns the range in which uid lies; uid itself if it lies in none. */
uint32_t accounts_of(uint32_t uid);

#endif

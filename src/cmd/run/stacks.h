/* stacks.h - the program stemma-stacks (src/capture/stacks), which unwinds stacks and names their addresses. It is one
 * of its own: what it reads may be damaged, and its libraries would make each start of stemma slower. */
#ifndef STEMMA_CMD_RUN_STACKS_H
#define STEMMA_CMD_RUN_STACKS_H

#include <stdbool.h>

#define STACKS_NAMES "names" /* beside the traces: what their addresses are */

/* Starts an unwinder in the background. The socket to it; 0: there is none, and if not quiet it was said why. */
int stacks_begin(bool quiet);
/* Names the addresses of the traces of calls in a folder, into a file there. A failure leaves them without names. */
void stacks_name(const char *folder);
/* Does it work here? ret_what: the version of its library, or why not; static. */
bool stacks_works(const char **ret_what);
/* Why a program of ours did not say whether it works, from its wait status, or -errno. */
const char *stacks_unstarted(int status);

#endif

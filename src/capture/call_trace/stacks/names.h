/* names.h - what the addresses of stacks are: function, file and line, by debug information and symbols (libdw).
 *
 * Reads traces of calls (doc/format/calls.md) and prints the names of their frames (doc/format/calls.md, "Names"), each
 * once. A module whose file is another by now, or is gone, is left out, and so is the C library (library.h): naming
 * what is in that, with its debug information, took longer than all else. Nothing is fetched over a network. */
#ifndef STEMMA_CAPTURE_CALL_TRACE_STACKS_NAMES_H
#define STEMMA_CAPTURE_CALL_TRACE_STACKS_NAMES_H

#include <stdio.h>

/* Traces, or folders of them (NAME.calls). 0, or -errno. A trace that cannot be read is passed over. */
int names_print(char *const *traces, size_t n, FILE *to);

#endif

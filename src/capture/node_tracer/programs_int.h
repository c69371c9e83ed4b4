/* programs_int.h - what both sets of programs need to be loaded. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_PROGRAMS_INT_H
#define STEMMA_CAPTURE_NODE_TRACER_PROGRAMS_INT_H

#include "base/err.h"

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

/* The object in these bytes, opened; NULL and errno. */
struct bpf_object *programs_object(const void *bytes, size_t size);
/* libbpf's result r as a sentence that begins with what; with what libbpf said of it. */
int programs_refused(struct err *err, int r, const char *what);
/* The map of a section (".bss", ".rodata"); NULL if there is none. */
struct bpf_map *programs_section(const struct bpf_object *o, const char *section);
/* Maps the variables of a loaded object, which the programs see too. 0 or -errno. */
int programs_shared(const struct bpf_object *o, size_t size, void **ret, struct err *err);
void programs_unshare(void *p, size_t size);
/* Bytes of all its maps, about. */
uint64_t programs_maps(const struct bpf_object *o);

#endif

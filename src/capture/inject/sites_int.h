/* sites_int.h - what the readers of call sites share. Internal to capture/inject. */
#ifndef STEMMA_CAPTURE_INJECT_SITES_INT_H
#define STEMMA_CAPTURE_INJECT_SITES_INT_H

#include "capture/inject/sites.h"

#include <elf.h>

/* A file in memory, all of whose tables lie inside. */
struct image {
	unsigned char *p;
	size_t n;
	const Elf64_Shdr *sh;
	size_t nsh;
	const Elf64_Phdr *ph;
	size_t nph;
	bool alone; /* a static program */
	bool moves; /* ... that may lie anywhere */
};

/* What is looked for: a function, the call that it makes. One function may be known by several names. */
struct wanted {
	const char *name;
	int nr;
	enum site_kind kind;
	uint8_t from, to, positional;
};
extern const struct wanted sites_wanted[];
extern const size_t sites_nwanted;

/* The bytes of a segment that is loaded to be executed; NULL: there are none, or it is none. */
const unsigned char *sites_code(const struct image *im, size_t segment, size_t *ret_n, uint64_t *ret_addr);
/* `syscall`, and its result compared: the bytes of a site. */
bool sites_is_call(const unsigned char *code, size_t n, size_t at);
/* May anything near go to the middle of the bytes that change, however the bytes around are read? */
bool sites_is_entered(const unsigned char *code, size_t n, size_t at);
/* The length of the instruction there; 0: it is none that is known, or goes on behind n. */
size_t sites_length(const unsigned char *code, size_t n);
/* Adds a site; one that is there already, or has no room, is not. */
void sites_add(struct sites *s, const struct wanted *w, uint64_t offset, unsigned taken, const unsigned char *code);

/* What the call of that number is counted as; NULL: not at all. */
const struct wanted *sites_what(int nr);
/* May anything near go to the middle of the bytes that change? load: an instruction begins there, too; or as at. */
bool sites_is_entered_near(const unsigned char *code, size_t n, uint64_t addr, size_t load, size_t at, size_t taken);
/* A site to the middle of which a jump goes, from anywhere in the program; s->n: there is none. The sites are put in
 * order. One to the middle of the load of its number: that is not known to be one from then on. */
size_t sites_reached(const struct image *im, struct sites *s);
/* Where these bytes can be executed, and are no site's: of a call that returns at once, or what else is looked for.
 * False: there is no such place. */
bool sites_find_gadget(const struct image *im, const unsigned char *tail, size_t size, const struct sites *s,
                       uint64_t *ret);
/* Where a handler of a signal returns by. */
bool sites_find_sigreturn(const struct image *im, struct sites *s);

/* The sites of musl, be it a library or in a static program. False: it is not known to be one, or has not enough of
 * them. */
bool sites_musl(const struct image *im, struct sites *s);
/* The sites of a static program that has no names left. False: it has not enough of them, or has one that changes
 * descriptors and cannot be changed. */
bool sites_bare(const struct image *im, struct sites *s);

#endif

#include "answer/trace/demangle.h"

#include "answer/fmt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 1024   /* bytes: libstdc++ goes a frame deeper for each, at most */
#define SHOWN_MOST 65536 /* bytes; beyond it is of no use to anybody */
/* References to what stood before (S1_, T_): each can double what is said, so that n of them make at most 3^(n/3) times
 * the name; that is 59,049. A pack (Dp) can say it once for each of its members. */
#define REFERENCES_MOST 30
#define REFERENCES_OF_PACK 14

typedef char *demangler(const char *, char *, size_t *, int *);

/* The function of libstdc++ that demangles names. NULL: there is no libstdc++. It is looked for once, and never
 * unloaded. */
static demangler *find_demangler(void)
{
	static demangler *found;
	static bool looked;
	if (!looked) {
		void *l = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
		void *at = l ? dlsym(l, "__cxa_demangle") : NULL;
		memcpy(&found, &at, sizeof(found));
		looked = true;
	}
	return found;
}

/* Has it so many references to earlier parts that the plain name might become very long? Then it is not made. */
static bool can_grow(const char *name)
{
	unsigned n = 0;
	for (const char *p = name; *p && n <= REFERENCES_MOST; p++) {
		if (p[0] == 'D' && p[1] == 'p')
			n += REFERENCES_OF_PACK;
		else if (*p == 'S' || *p == 'T' || *p == 'f')
			n += p[1] == '_' || p[1] == 'p' || p[1] == 'L' || (p[1] >= '0' && p[1] <= '9') ||
			     (*p == 'S' && p[1] >= 'A' && p[1] <= 'Z');
	}
	return n > REFERENCES_MOST;
}

bool demangle(struct buf *b, const char *name)
{
	int status = -1;
	if (strncmp(name, "_Z", 2) != 0 || strlen(name) > NAME_MOST || can_grow(name) || !find_demangler())
		return false;
	char *shown = find_demangler()(name, NULL, NULL, &status);
	size_t n = shown && status == 0 ? strlen(shown) : 0;
	if (n && n <= SHOWN_MOST)
		fmt_source(b, str_n(shown, n));
	free(shown);
	return n && n <= SHOWN_MOST;
}

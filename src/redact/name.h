/* name.h - is a value a secret, by the name it has and by how it looks: the rows of names.def. */
#ifndef STEMMA_REDACT_NAME_H
#define STEMMA_REDACT_NAME_H

#include "base/str.h"

enum name_sort { NAME_none, NAME_strong, NAME_some, NAME_path, NAME_random, NAME_pairs };

/* Which values with this name are secrets. A digit at its end does not count. */
enum name_sort name_sort(struct str name);
/* Is a value with a name of this sort one? NAME_strong: every one but an empty one and a variable of a script. */
bool name_sort_hides(enum name_sort sort, struct str value);
/* Is this value of this name one? Also a key of a service, and a random-looking value of an option. */
bool name_hides(struct str name, struct str value);
/* Only letters and digits (and + / = _ % -), at least so many, both of them there. */
bool name_looks_random(struct str v, size_t least);
/* Is it the name of a service's key: the service, and `key` as its last word? */
bool name_is_service_key(struct str name);
/* The least length of a secret behind this word of a header; 0: it is none. */
size_t name_scheme(struct str word);

#endif

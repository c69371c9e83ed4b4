/* shape.h - secrets that are known by the shape of the text around them. */
#ifndef STEMMA_REDACT_SHAPE_H
#define STEMMA_REDACT_SHAPE_H

#include "base/str.h"

/* Of an address that begins behind its "://" at v: the password of user:password@, or a token in the user's place, is
 * v[*ret_from .. *ret_to). False: it has none. */
bool shape_address(struct str v, size_t *ret_from, size_t *ret_to);
/* The first private key in s, from its BEGIN line to its END line, or to the end of s where that is missing. */
bool shape_private_key(struct str s, size_t *ret_from, size_t *ret_to);

#endif

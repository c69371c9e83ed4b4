/* strv.h - lists of strings as programs get them: pointers of their own, NULL behind the last. */
#ifndef STEMMA_BASE_STRV_H
#define STEMMA_BASE_STRV_H

/* A copy with all strings, or NULL without memory; never one that ends too early. */
char **strv_copy(char *const *v);
void strv_free(char **v); /* NULL is fine */

#endif

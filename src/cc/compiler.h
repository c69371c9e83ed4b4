/* compiler.h - what a compiler says of itself: asked for once, and kept by its bytes. */
#ifndef STEMMA_CC_COMPILER_H
#define STEMMA_CC_COMPILER_H

#include "base/digest.h"

#define COMPILER_LINE 256

/* The first line that a program prints on standard output, as much of it as there is room for with a NUL; "" none: it
 * could not be run, failed, or took longer than COMPILER_WAIT_MS. argv[0] is looked for in PATH. It has no standard
 * input, and no language. */
void compiler_ask(char *const *argv, char *ret, size_t n);

struct compiler {
	char version[COMPILER_LINE]; /* first line of --version; "" it does not say */
	char target[COMPILER_LINE];  /* of -dumpmachine */
};

/* Of the program at path. key: the digest of what decides the answer. cache: folder for what was answered, NULL none.
 * Asking costs two starts of the compiler, each of which is waited for COMPILER_WAIT_MS at most. What it does not say
 * is "". */
#define COMPILER_WAIT_MS 3000
void compiler_describe(const char *path, const struct digest *key, const char *cache, struct compiler *ret);

#endif

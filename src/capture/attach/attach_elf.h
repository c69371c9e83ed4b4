/* attach_elf.h - the image of a shared library, changed so that the dynamic linker loads another one with it and looks
 * for symbols in that one first (DT_AUXILIARY of the System V ABI). Internal to capture.
 *
 * Nothing is moved and nothing grows: the entry takes the place of one that ends the dynamic section, or of
 * DT_RELACOUNT, which only makes relocation faster; the name goes into bytes between two segments that are mapped and
 * belong to none. x86-64, 64-bit. */
#ifndef STEMMA_CAPTURE_ATTACH_ATTACH_ELF_H
#define STEMMA_CAPTURE_ATTACH_ATTACH_ELF_H

#include <stdbool.h>
#include <stddef.h>

/* Changes the file of n bytes at image: the library with that absolute path is its auxiliary one, and it is never
 * unloaded (DF_1_NODELETE). A linker that does not find the library goes on without it. 0; -ENOEXEC: it is no such
 * file, or is damaged; -EEXIST: it has an auxiliary library, or is a filter; -ENOSPC: there is no room. Other than at 0
 * the image is as it was. */
int attach_elf_add(unsigned char *image, size_t n, const char *library);

/* Does the library define or need a symbol of that name? False, too, if the file is damaged. */
bool attach_elf_names(const unsigned char *image, size_t n, const char *symbol);

#endif

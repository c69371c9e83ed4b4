/* h5_words.h - what of HDF5 is recorded, as it is asked for: the words of `run --hdf5=`, of the setting `hdf5` and of
 * STEMMA_HDF5, with commas between them. A list that names no class asks for all of them; `untimed` among the words
 * asks for no clock to be looked at, `auto` for no library in programs that do not load HDF5 or netCDF
 * (capture/attach).
 */
#ifndef STEMMA_CAPTURE_HDF5_H5_WORDS_H
#define STEMMA_CAPTURE_HDF5_H5_WORDS_H

#include <stdint.h>
#include <string.h>

/* Classes; the first four in the order of the terms of kind. */
#define H5_GROUP 1u
#define H5_DATASET 2u
#define H5_ATTRIBUTE 4u
#define H5_DATATYPE 8u
#define H5_LINK 16u
#define H5_OBJECTS (H5_GROUP | H5_DATASET | H5_DATATYPE) /* what an identifier of any kind may lead to */
#define H5_CLASSES 5
#define H5_ALL ((1u << H5_CLASSES) - 1)

static const char *const h5_class_word[H5_CLASSES] = {"group", "dataset", "attribute", "datatype", "link"};

#define H5_UNTIMED_WORD "untimed"
#define H5_AUTO_WORD "auto"

/* Is the word in the list? */
static inline int h5_has_word(const char *list, const char *word)
{
	size_t n = strlen(word), k;
	for (; *list; list += k + (list[k] == ',')) {
		k = strcspn(list, ",");
		if (k == n && !strncmp(list, word, n))
			return 1;
	}
	return 0;
}

/* Is it recorded only of programs that load the library themselves, by a library that is loaded with it? */
static inline int h5_is_attached(const char *list)
{
	return h5_has_word(list, H5_AUTO_WORD);
}

static inline uint32_t h5_classes_of(const char *list)
{
	uint32_t classes = 0;
	for (int i = 0; list && i < H5_CLASSES; i++)
		if (h5_has_word(list, h5_class_word[i]))
			classes |= 1u << i;
	return classes ? classes : H5_ALL;
}

#endif

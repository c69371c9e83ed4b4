/* The file of a shared library, changed so that another one is loaded with it: any bytes. What comes out is either as
 * it was, or the same but for the dynamic section and one name. */
#include "capture/attach/attach_elf.h"
#include "fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char library[] = "/opt/lib/stemma/libstemma-hdf5-attach.so";
	unsigned char *image = malloc(size + 1);
	must(image != NULL);
	memcpy(image, data, size);
	attach_elf_names(image, size, "H5Dwrite");
	must(memcmp(image, data, size) == 0);
	const int rc = attach_elf_add(image, size, library);
	size_t changed = 0;
	for (size_t i = 0; i < size; i++)
		changed += image[i] != data[i];
	must(rc == 0 ? changed > 0 && changed <= sizeof(library) + 32 : changed == 0);
	free(image);
	return 0;
}

/* Programs whose functions are asked for by name: any bytes, read as ELF by libelf and by what goes on from there. What
 * is found lies in the file. */
#include "capture/function_trace/functions_find.h"
#include "fuzz_file.h"

#include <fcntl.h>
#include <string.h>

static char path[] = "/dev/shm/stemma-fuzz-elf.XXXXXX"; /* its name is read */

static void clean(void)
{
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char wish[64];
	struct found f = {0};
	struct err err = {0};
	if (fd < 0) {
		fd = mkostemp(path, O_CLOEXEC);
		atexit(clean);
	}
	must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(wish, sizeof(wish), "%s:*,main", path);
	int r = functions_found_add(&f, wish, &err);
	must(r == 0 || err.text[0]);
	for (size_t i = 0; i < f.n; i++) {
		const struct found_function *v = &f.v[i];
		must(v->name && v->program < f.n_programs && v->offset < size);
		must(i == 0 || v[-1].program != v->program || v[-1].address < v->address);
		functions_found_at(&f, v->program, v->address);
		functions_found_call(&f.programs[v->program], v->address);
	}
	functions_found_release(&f);
	return 0;
}

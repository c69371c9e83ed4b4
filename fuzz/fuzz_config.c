/* Files of settings: what is taken is a value of its setting and is taken again; what is not has a line that says why,
 * or was written over by a later line. */
#include "base/config.h"
#include "fuzz_file.h"

#include <string.h>

static void count(void *arg, const char *line)
{
	must(line[0] != '\0');
	++*(unsigned *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config a = {0}, b = {0};
	struct err err = {0};
	char path[32];
	unsigned said = 0, again = 0;
	int fd = fuzz_file(data, size, path);
	must(config_load_file(&a, path, "/base", count, &said) == 0);
	must(config_load_file(&b, path, "/base", count, &again) == 0);
	must(said == again);
	for (int k = 0; k < CONFIG_COUNT; k++) {
		enum config_key key = (enum config_key)k;
		must(config_allows(key, config_get(&a, key)) && config_duration(&a, key) >= 0);
		must(!strcmp(config_get(&a, key), config_get(&b, key)));
		if (!a.value[k])
			continue;
		must(!strncmp(config_origin(&a, key), path, strlen(path)));
		must(config_set(&b, key, a.value[k], "again", &err) == 0 && !strcmp(b.value[k], a.value[k]));
	}
	close(fd);
	config_release(&a);
	config_release(&b);
	return 0;
}

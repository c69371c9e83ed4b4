/* What the daemon reads at its start: its settings, and the ranges of subordinate ids (the first byte says which).
 * Figures are none below 0 and no infinite ones; a range belongs to whom the file names, or is passed over. */
#include "daemon/accounts.h"
#include "daemon/settings.h"
#include "fuzz_file.h"

#include <math.h>
#include <string.h>

static void say(void *arg, const char *line)
{
	must(line[0] != '\0');
	++*(unsigned *)arg;
}

static void each(void *arg, const char *item)
{
	must(item[0] && !strchr(item, '\n'));
	++*(unsigned *)arg;
}

static void settings(const char *path)
{
	struct settings s = {0}, now = {0};
	struct err err = {0};
	unsigned said = 0, items = 0;
	must(settings_read(&s, path, say, &said, &err) == 0);
	for (int k = 0; k < SETTING_COUNT; k++) {
		enum setting key = (enum setting)k;
		double v = settings_figure(&s, key);
		must(settings_text(&s, key) != NULL && isfinite(v) && v >= 0 && v <= 1e18);
		settings_list(&s, key, each, &items);
	}
	must(settings_keep(&s, &now, say, &said) == 0);
	must(!strcmp(settings_text(&s, SETTING_base), settings_text(&now, SETTING_base)));
	settings_release(&s);
	settings_release(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t some[] = {0, 1000, 65534, 100000, 165535, 231072, UINT32_MAX - 1};
	char path[32];
	if (!size)
		return 0;
	int fd = fuzz_file(data + 1, size - 1, path);
	if (data[0] & 1) {
		accounts_read(path);
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
			must(some[i] || accounts_of(some[i]) == 0); /* nobody is given root's number */
	} else {
		settings(path);
	}
	close(fd);
	return 0;
}

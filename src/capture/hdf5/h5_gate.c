/* Where the connector (vol) takes the place of this library: HDF5 asks for HDF5_VOL_CONNECTOR as it sets itself up, and
 * is answered with ours if, and only if, it is of a version that the connector fits, has just taken it in, and is the
 * first of this process. Nothing stands in the environment, so that an HDF5 that cannot load it, or a program that
 * cannot carry this library, never hears of it: for those a name that is not found would be the end. */
#include "capture/hdf5/h5.h"
#include "capture/interpose/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define VARIABLE "HDF5_VOL_CONNECTOR"
#define CONNECTOR "stemma"
#define PLUGINS_OF_VOL 2 /* H5PL_VOL_PLUGIN */

extern char **environ;
static char *(*real)(const char *);
/* Of the connector: its class, for the HDF5 that has the address. NULL: there is no connector, or it is not wanted. */
static const void *(*class_for)(const void *address);
static struct h5_lib *connected;
static char words[4200];

/* As getenv, without a call. The value belongs to the environment; NULL if it is not set. */
__attribute__((no_sanitize("address", "undefined"))) static char *in_environment(const char *name)
{
	size_t n = strlen(name);
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* Loaded now: HDF5 would load it in the program's first call, while the dynamic linker's lock may be held by who waits
 * for that. */
__attribute__((constructor)) static void load_connector(void)
{
	static const char tail[] = "/vol/libstemma-hdf5-vol.so";
	char path[1024];
	int keep = errno;
	const char *asked = in_environment("STEMMA_HDF5"), *slash;
	const char *file = symbols_own_file();
	void *next = symbols_next_one("getenv");
	memcpy(&real, &next, sizeof(real));
	if (!asked || !strstr(asked, "vol") || !app_tape_on() || !file || !(slash = strrchr(file, '/')))
		return;
	size_t n = (size_t)(slash - file);
	if (n + sizeof(tail) > sizeof(path))
		return;
	memcpy(path, file, n);
	memcpy(path + n, tail, sizeof(tail));
	void *h = dlopen(path, RTLD_LAZY | RTLD_LOCAL), *f = h ? dlsym(h, "stemma_hdf5_vol") : NULL;
	memcpy(&class_for, &f, sizeof(class_for));
	if (!f)
		dlerror(); /* the program is not to find it */
	errno = keep;
}

/* What the program's user asked for stands under ours: NAME TEXT becomes under_vol=NAME;under_info={TEXT}. False: it
 * does not fit into `words`. */
static bool put_connector_first(const char *has)
{
	static const char head[] = CONNECTOR " under_vol=", info[] = ";under_info={";
	static const char white[] = " \t\n\r";
	has = has ? has + strspn(has, white) : "";
	size_t n = strcspn(has, white), at = sizeof(head) - 1;
	if (n == strlen(CONNECTOR) && !strncmp(has, CONNECTOR, n)) { /* it is there already */
		if (strlen(has) >= sizeof(words))
			return false;
		memcpy(words, has, strlen(has) + 1);
		return true;
	}
	const char *text = has + n + strspn(has + n, white), *name = n ? has : "0";
	size_t ntext = strcspn(text, white);
	n = n ? n : 1;
	if (n + ntext + 64 > sizeof(words))
		return false;
	memcpy(words, head, at);
	memcpy(words + at, name, n);
	at += n;
	memcpy(words + at, info, sizeof(info) - 1);
	at += sizeof(info) - 1;
	memcpy(words + at, text, ntext);
	memcpy(words + at + ntext, "}", 2);
	return true;
}

/* HDF5 knows it by its name from now on, and the connector understands what it will be told. False: this HDF5 takes no
 * connector, or not ours; nothing is said of it. */
static bool register_connector(struct h5_lib *l)
{
	herr_t (*allowed)(unsigned *) = H5CALL(l, H5PLget_loading_state, herr_t(*)(unsigned *));
	hid_t (*enter)(const void *, hid_t) = H5CALL(l, H5VLregister_connector, hid_t(*)(const void *, hid_t));
	herr_t (*understand)(const char *, hid_t, void **) =
	    H5CALL(l, H5VLconnector_str_to_info, herr_t(*)(const char *, hid_t, void **));
	herr_t (*forget)(hid_t, void *) = H5CALL(l, H5VLfree_connector_info, herr_t(*)(hid_t, void *));
	unsigned mask = 0;
	struct h5_quiet q;
	const void *class = class_for(l->fn[H5FN_H5get_libversion]);
	if (!class || !allowed || !enter || !understand || !forget)
		return false;
	h5_hush(l, &q);
	bool ok = allowed(&mask) >= 0 && mask & PLUGINS_OF_VOL;
	hid_t id = ok ? enter(class, 0) : -1;
	const char *text = words + sizeof(CONNECTOR) - 1;
	void *info = NULL;
	text += strspn(text, " \t\n\r");
	ok = id >= 0 && (!*text || understand(text, id, &info) >= 0);
	if (info)
		forget(id, info);
	h5_unhush(l, &q);
	return ok;
}

/* What HDF5 is told of HDF5_VOL_CONNECTOR: `has`, or with our connector first, where the caller is an HDF5 that fits.
 * */
static char *for_hdf5(char *has, const void *caller)
{
	static bool within;
	unsigned v[3];
	struct h5_lib *l = within ? NULL : h5_lib_at(caller);
	if (!l || !l->fn[H5FN_H5Dread_multi] || (connected && connected != l))
		return has;
	within = true;
	h5_lib_ask(l, v);
	bool fits = v[0] == 1 && v[1] == 14 && put_connector_first(has) && register_connector(l);
	within = false;
	if (!fits)
		return has;
	connected = l;
	l->connected = true;
	l->known = false;
	return words;
}

/* Others' constructors call it before a sanitizer that this library may be built with has set itself up. */
EXPORT char *getenv(const char *name);
__attribute__((no_sanitize("address", "undefined"))) EXPORT char *getenv(const char *name)
{
	char *has = real ? real(name) : in_environment(name);
	if (__builtin_expect(class_for != NULL, 0) && name[0] == 'H' && !strcmp(name, VARIABLE))
		return for_hdf5(has, __builtin_return_address(0));
	return has;
}

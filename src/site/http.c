#include "site/http.h"

#include "base/io.h"
#include "site/http_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Loads the module that speaks HTTP. NULL, reported with a hint: it is not installed. */
static const struct http_module *load_module(struct err *err)
{
	static const struct http_module *loaded;
	char path[PATH_MAX];
	if (loaded)
		return loaded;
	void *h = io_own("../site/stemma-http.so", "../" STEMMA_LIBDIR "/stemma/stemma-http.so", path, sizeof(path))
	              ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
	              : NULL;
	loaded = h ? dlsym(h, HTTP_MODULE_SYMBOL) : NULL;
	if (!loaded) {
		const char *why = h ? "its module belongs to another version of stemma" : dlerror();
		err_set(err, 0, "stemma cannot speak HTTP%s%s", why ? ": " : "", why ? why : "");
		err_hint(err, "install libcurl and libmicrohttpd and build stemma with them, or use a shared folder");
	}
	return loaded;
}

bool http_is_there(void)
{
	struct err err = {0};
	return load_module(&err) != NULL;
}

int http_post(const struct http_post *p, struct err *err, struct http_reply *ret)
{
	const struct http_module *m = load_module(err);
	return m ? m->post(p, err, ret) : -ENOSYS;
}

static const struct http_module *serving;

int http_start(const struct http_server *s, struct err *err, struct http_running **ret, unsigned *ret_port)
{
	serving = load_module(err);
	return serving ? serving->start(s, err, ret, ret_port) : -ENOSYS;
}

/* NULL is no error. */
void http_stop(struct http_running *r)
{
	if (r)
		serving->stop(r);
}

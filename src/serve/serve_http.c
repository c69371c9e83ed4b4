#include "serve/serve_http.h"

#include "base/io.h"
#include "serve/serve_http_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>

static const struct serve_http_module *serve_module;

/* Loads the module that speaks HTTP. -ENOSYS with a sentence and a hint: it is not installed. */
static int load_module(struct err *err)
{
	char path[PATH_MAX];
	if (serve_module)
		return 0;
	void *h = io_own("../serve/stemma-serve.so", "../" STEMMA_LIBDIR "/stemma/stemma-serve.so", path, sizeof(path))
	              ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
	              : NULL;
	serve_module = h ? dlsym(h, SERVE_HTTP_SYMBOL) : NULL;
	if (serve_module)
		return 0;
	const char *why = h ? "its module is of another version" : dlerror();
	err_set(err, 0, "stemma cannot serve HTTP%s%s", why ? ": " : "", why ? why : "");
	err_hint(err, "install libmicrohttpd and build stemma with it");
	return -ENOSYS;
}

int serve_http_start(int fd, const struct serve_http_events *e, struct err *err, struct serve_http **ret)
{
	int rc = load_module(err);
	return rc < 0 ? rc : serve_module->start(fd, e, err, ret);
}

int serve_http_fd(const struct serve_http *h)
{
	return serve_module->fd(h);
}

int serve_http_timeout(struct serve_http *h)
{
	return serve_module->timeout(h);
}

/* Handles what waits, without waiting. */
void serve_http_run(struct serve_http *h)
{
	serve_module->run(h);
}

/* The exchange is over then. out's body is taken over. */
void serve_http_reply(struct serve_exchange *x, const struct serve_outgoing *out)
{
	serve_module->reply(x, out);
}

bool serve_http_stream(struct serve_exchange *x, const char *type)
{
	return serve_module->stream(x, type);
}

bool serve_http_push(struct serve_exchange *x, struct str text)
{
	return serve_module->push(x, text);
}

void serve_http_finish(struct serve_exchange *x)
{
	serve_module->finish(x);
}

bool serve_http_left(struct serve_exchange *x)
{
	return serve_module->left(x);
}

size_t serve_http_pending(const struct serve_http *h)
{
	return serve_module->pending(h);
}

/* NULL is no error. Ends all connections. */
void serve_http_stop(struct serve_http *h)
{
	if (h)
		serve_module->stop(h);
}

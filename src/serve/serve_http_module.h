/* serve_http_module.h - what the module exports: one table. Private to serve. */
#ifndef STEMMA_SERVE_SERVE_HTTP_MODULE_H
#define STEMMA_SERVE_SERVE_HTTP_MODULE_H

#include "serve/serve_http.h"

#define SERVE_HTTP_SYMBOL "stemma_serve_http_2"

struct serve_http_module {
	int (*start)(int fd, const struct serve_http_events *e, struct err *err, struct serve_http **ret);
	int (*fd)(const struct serve_http *h);
	int (*timeout)(struct serve_http *h);
	void (*run)(struct serve_http *h);
	void (*reply)(struct serve_exchange *x, const struct serve_outgoing *out);
	bool (*stream)(struct serve_exchange *x, const char *type);
	bool (*push)(struct serve_exchange *x, struct str text);
	void (*finish)(struct serve_exchange *x);
	bool (*left)(struct serve_exchange *x);
	size_t (*pending)(const struct serve_http *h);
	void (*stop)(struct serve_http *h);
};
extern const struct serve_http_module stemma_serve_http_2 __attribute__((visibility("default")));

#endif

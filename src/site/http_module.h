/* http_module.h - what the module for HTTP exports: one table. Private to site. */
#ifndef STEMMA_SITE_HTTP_MODULE_H
#define STEMMA_SITE_HTTP_MODULE_H

#include "site/http.h"

#define HTTP_MODULE_SYMBOL "stemma_http_module_1"

struct http_module {
	int (*post)(const struct http_post *p, struct err *err, struct http_reply *ret);
	int (*start)(const struct http_server *s, struct err *err, struct http_running **ret, unsigned *ret_port);
	void (*stop)(struct http_running *r);
};
extern const struct http_module stemma_http_module_1 __attribute__((visibility("default")));

#endif

/* pq_module.h - what the module for PostgreSQL exports: one table. Private to site. */
#ifndef STEMMA_SITE_PQ_MODULE_H
#define STEMMA_SITE_PQ_MODULE_H

#include "site/database.h"

#define PQ_MODULE_SYMBOL "stemma_pq_module_2"

struct pq_module {
	int (*open)(const char *url, struct err *err, struct database **ret);
	void (*close)(struct database *d);
	int (*version)(const struct database *d);
	int (*exec)(struct database *d, const char *sql, struct err *err);
	int (*query)(struct database *d, const char *sql, const char *const *params, struct err *err,
	             int (*row)(void *arg, const char *const *columns), void *arg);
	int (*copy)(struct database *d, const char *sql, struct err *err);
	int (*put)(struct database *d, const void *p, size_t n, struct err *err);
	int (*copied)(struct database *d, struct err *err);
	int (*write)(struct database *d, const char *sql, const char *const *params, const void *p, size_t n,
	             struct err *err);
	int (*fetch)(struct database *d, const char *sql, const char *const *params, struct err *err,
	             int (*row)(void *arg, const struct str *columns), void *arg);
	int (*ask)(struct database *d, const char *sql, struct err *err, int (*row)(void *arg, const char *const *columns),
	           void *arg);
	void (*send)(struct database *d, const char *sql);
	bool (*has_password)(const char *url);
};
extern const struct pq_module stemma_pq_module_2 __attribute__((visibility("default")));

#endif

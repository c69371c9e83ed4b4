/* nats_module.h - what the module for NATS exports: one table. Private to site. */
#ifndef STEMMA_SITE_NATS_MODULE_H
#define STEMMA_SITE_NATS_MODULE_H

#include "site/broker.h"

#define NATS_MODULE_SYMBOL "stemma_nats_module_1"

/* A URL in parts. */
struct broker_place {
	char name[BROKER_NAME + 1];   /* "": none */
	char stream[BROKER_NAME + 1]; /* "STEMMA" where none is named */
	char hosts[8][264];           /* nats://HOST:PORT */
	unsigned n_hosts;
	bool local; /* all of them are this machine */
	bool tls;   /* tls:// was written */
};
struct nats_module {
	int (*open)(const struct broker_at *at, const struct broker_place *place, bool collects, unsigned replicas,
	            struct err *err, struct broker **ret);
	void (*close)(struct broker *b);
	const char *(*name)(const struct broker *b);
	size_t (*room)(const struct broker *b);
	int (*put)(struct broker *b, const char *id, const void *p, size_t n, struct err *err, uint64_t *ret_number);
	int (*answer)(struct broker *b, unsigned ms, struct err *err, char ret_id[BROKER_ID], char ret[BROKER_ANSWER + 1]);
	int (*waits)(struct broker *b, uint64_t number);
	int (*next)(struct broker *b, unsigned ms, struct err *err, struct broker_message *ret);
	int (*done)(struct broker *b, const char *answer, struct err *err);
};
extern const struct nats_module stemma_nats_module_1 __attribute__((visibility("default")));

#endif

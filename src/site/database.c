#include "site/database.h"

#include "base/io.h"
#include "site/pq_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct pq_module *module;

/* The module beside the library that this is part of, where a program has loaded it (libstemma). */
static bool beside_library(char *ret, size_t size)
{
	static const char *const places[] = {"../site/stemma-pq.so", "stemma/stemma-pq.so"};
	char exe[PATH_MAX];
	Dl_info here;
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	if (!dladdr((const void *)&module, &here) || !here.dli_fname || here.dli_fname[0] != '/' || !n ||
	    !strcmp(here.dli_fname, exe))
		return false; /* a program's own name may be a relative one, of another folder by now */
	const int folder = (int)(strrchr(here.dli_fname, '/') - here.dli_fname);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(ret, size, "%.*s/%s", folder, here.dli_fname, places[i]) < (int)size && access(ret, R_OK) == 0)
			return true;
	return false;
}

/* Loads the module once. 0, -ENOSYS with a sentence. */
static int load_pq(struct err *err)
{
	char path[PATH_MAX];
	if (module)
		return 0;
	void *h = beside_library(path, sizeof(path)) ||
	                  io_own("../site/stemma-pq.so", "../" STEMMA_LIBDIR "/stemma/stemma-pq.so", path, sizeof(path))
	              ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
	              : NULL;
	module = h ? dlsym(h, PQ_MODULE_SYMBOL) : NULL;
	if (module)
		return 0;
	const char *why = h ? "its module belongs to another version of stemma" : dlerror();
	err_set(err, 0, "stemma cannot speak to PostgreSQL%s%s", why ? ": " : "", why ? why : "");
	err_hint(err, "install libpq and build stemma with it");
	return -ENOSYS;
}

bool database_is_there(void)
{
	struct err err = {0};
	return load_pq(&err) == 0;
}

bool database_is_url(const char *url)
{
	return !strncmp(url, "postgresql://", 13) || !strncmp(url, "postgres://", 11);
}

int database_open(const char *url, struct err *err, struct database **ret)
{
	int rc = load_pq(err);
	if (rc == 0 && module->has_password(url)) {
		err_set(err, 0, "the database's URL has a password, which other users can see");
		err_hint(err, "put the password into ~/.pgpass, or into a file that PGPASSFILE names");
		return -EINVAL;
	}
	return rc < 0 ? rc : module->open(url, err, ret);
}

/* NULL is no error. */
void database_close(struct database *d)
{
	if (d)
		module->close(d);
}

int database_version(const struct database *d)
{
	return module->version(d);
}

int database_exec(struct database *d, const char *sql, struct err *err)
{
	return module->exec(d, sql, err);
}

int database_query(struct database *d, const char *sql, const char *const *params, struct err *err,
                   int (*row)(void *arg, const char *const *columns), void *arg)
{
	return module->query(d, sql, params, err, row, arg);
}

int database_copy(struct database *d, const char *sql, struct err *err)
{
	return module->copy(d, sql, err);
}

/* Within a copy. 0, -EIO with the server's sentence. */
int database_put(struct database *d, const void *p, size_t n, struct err *err)
{
	return module->put(d, p, n, err);
}

/* Ends the copy. 0, -EIO with the server's sentence. */
int database_copied(struct database *d, struct err *err)
{
	return module->copied(d, err);
}

int database_write(struct database *d, const char *sql, const char *const *params, const void *p, size_t n,
                   struct err *err)
{
	return module->write(d, sql, params, p, n, err);
}

int database_fetch(struct database *d, const char *sql, const char *const *params, struct err *err,
                   int (*row)(void *arg, const struct str *columns), void *arg)
{
	return module->fetch(d, sql, params, err, row, arg);
}

int database_ask(struct database *d, const char *sql, struct err *err,
                 int (*row)(void *arg, const char *const *columns), void *arg)
{
	return module->ask(d, sql, err, row, arg);
}

/* Whether it came is seen by the next call. */
void database_send(struct database *d, const char *sql)
{
	module->send(d, sql);
}

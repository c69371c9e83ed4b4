/* The functions of SQLite that are used, as late.h has it. One that is used and not here is not found by the linker. */
#include "base/late/late.h"

#include <sqlite3.h>
#include <stdarg.h>

LATE(late_sqlite, int, sqlite3_backup_finish, (sqlite3_backup * a), (a))
LATE(late_sqlite, sqlite3_backup *, sqlite3_backup_init, (sqlite3 * a, const char *b, sqlite3 *c, const char *d),
     (a, b, c, d))
LATE(late_sqlite, int, sqlite3_backup_step, (sqlite3_backup * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_bind_blob, (sqlite3_stmt * a, int b, const void *c, int d, void (*e)(void *)),
     (a, b, c, d, e))
LATE(late_sqlite, int, sqlite3_bind_int, (sqlite3_stmt * a, int b, int c), (a, b, c))
LATE(late_sqlite, int, sqlite3_bind_int64, (sqlite3_stmt * a, int b, sqlite3_int64 c), (a, b, c))
LATE(late_sqlite, int, sqlite3_bind_null, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_bind_text, (sqlite3_stmt * a, int b, const char *c, int d, void (*e)(void *)),
     (a, b, c, d, e))
LATE(late_sqlite, int, sqlite3_bind_zeroblob, (sqlite3_stmt * a, int b, int c), (a, b, c))
LATE(late_sqlite, int, sqlite3_blob_bytes, (sqlite3_blob * a), (a))
LATE(late_sqlite, int, sqlite3_blob_close, (sqlite3_blob * a), (a))
LATE(late_sqlite, int, sqlite3_blob_open,
     (sqlite3 * a, const char *b, const char *c, const char *d, sqlite3_int64 e, int f, sqlite3_blob **g),
     (a, b, c, d, e, f, g))
LATE(late_sqlite, int, sqlite3_blob_read, (sqlite3_blob * a, void *b, int c, int d), (a, b, c, d))
LATE(late_sqlite, int, sqlite3_blob_reopen, (sqlite3_blob * a, sqlite3_int64 b), (a, b))
LATE(late_sqlite, int, sqlite3_busy_timeout, (sqlite3 * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_close_v2, (sqlite3 * a), (a))
LATE(late_sqlite, const void *, sqlite3_column_blob, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_column_bytes, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_column_count, (sqlite3_stmt * a), (a))
LATE(late_sqlite, double, sqlite3_column_double, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_column_int, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, const char *, sqlite3_column_name, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, const unsigned char *, sqlite3_column_text, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_column_type, (sqlite3_stmt * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_create_module_v2,
     (sqlite3 * a, const char *b, const sqlite3_module *c, void *d, void (*e)(void *)), (a, b, c, d, e))
LATE(late_sqlite, int, sqlite3_declare_vtab, (sqlite3 * a, const char *b), (a, b))
LATE(late_sqlite, int, sqlite3_deserialize,
     (sqlite3 * a, const char *b, unsigned char *c, sqlite3_int64 d, sqlite3_int64 e, unsigned f), (a, b, c, d, e, f))
LATE(late_sqlite, int, sqlite3_errcode, (sqlite3 * a), (a))
LATE(late_sqlite, const char *, sqlite3_errmsg, (sqlite3 * a), (a))
LATE(late_sqlite, int, sqlite3_exec,
     (sqlite3 * a, const char *b, int (*c)(void *, int, char **, char **), void *d, char **e), (a, b, c, d, e))
LATE(late_sqlite, int, sqlite3_extended_result_codes, (sqlite3 * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_file_control, (sqlite3 * a, const char *b, int c, void *d), (a, b, c, d))
LATE(late_sqlite, int, sqlite3_finalize, (sqlite3_stmt * a), (a))
LATE(late_sqlite, void, sqlite3_free, (void *a), (a))
LATE(late_sqlite, int, sqlite3_get_autocommit, (sqlite3 * a), (a))
LATE(late_sqlite, sqlite3_int64, sqlite3_last_insert_rowid, (sqlite3 * a), (a))
LATE(late_sqlite, int, sqlite3_open_v2, (const char *a, sqlite3 **b, int c, const char *d), (a, b, c, d))
LATE(late_sqlite, int, sqlite3_prepare_v2, (sqlite3 * a, const char *b, int c, sqlite3_stmt **d, const char **e),
     (a, b, c, d, e))
LATE(late_sqlite, int, sqlite3_prepare_v3,
     (sqlite3 * a, const char *b, int c, unsigned int d, sqlite3_stmt **e, const char **f), (a, b, c, d, e, f))
LATE(late_sqlite, int, sqlite3_reset, (sqlite3_stmt * a), (a))
LATE(late_sqlite, void, sqlite3_result_double, (sqlite3_context * a, double b), (a, b))
LATE(late_sqlite, void, sqlite3_result_int64, (sqlite3_context * a, sqlite3_int64 b), (a, b))
LATE(late_sqlite, void, sqlite3_result_null, (sqlite3_context * a), (a))
LATE(late_sqlite, void, sqlite3_result_text, (sqlite3_context * a, const char *b, int c, void (*d)(void *)),
     (a, b, c, d))
LATE(late_sqlite, int, sqlite3_set_authorizer,
     (sqlite3 * a, int (*b)(void *, int, const char *, const char *, const char *, const char *), void *c), (a, b, c))
LATE(late_sqlite, int, sqlite3_sleep, (int a), (a))
LATE(late_sqlite, int, sqlite3_step, (sqlite3_stmt * a), (a))
LATE(late_sqlite, int, sqlite3_stmt_readonly, (sqlite3_stmt * a), (a))
LATE(late_sqlite, int, sqlite3_stricmp, (const char *a, const char *b), (a, b))
LATE(late_sqlite, int, sqlite3_system_errno, (sqlite3 * a), (a))
LATE(late_sqlite, const void *, sqlite3_value_blob, (sqlite3_value * a), (a))
LATE(late_sqlite, int, sqlite3_value_bytes, (sqlite3_value * a), (a))
LATE(late_sqlite, sqlite3_int64, sqlite3_value_int64, (sqlite3_value * a), (a))
LATE(late_sqlite, int, sqlite3_value_type, (sqlite3_value * a), (a))
LATE(late_sqlite, char *, sqlite3_vmprintf, (const char *a, va_list b), (a, b))

LATE(late_sqlite, sqlite3_vfs *, sqlite3_vfs_find, (const char *a), (a))
LATE(late_sqlite, int, sqlite3_vfs_register, (sqlite3_vfs * a, int b), (a, b))
LATE(late_sqlite, int, sqlite3_vfs_unregister, (sqlite3_vfs * a), (a))

/* Of its operations only the log's: a function and its argument. */
int sqlite3_config(int op, ...)
{
	va_list ap;
	static void *at;
	va_start(ap, op);
	void (*log)(void *, int, const char *) = va_arg(ap, void (*)(void *, int, const char *));
	void *arg = va_arg(ap, void *);
	va_end(ap);
	return ((__typeof__(&sqlite3_config))late_find(&late_sqlite, &at, "sqlite3_config"))(op, log, arg);
}

/* Only what takes an int, and where to put one. */
int sqlite3_db_config(sqlite3 *db, int op, ...)
{
	va_list ap;
	static void *at;
	va_start(ap, op);
	int value = va_arg(ap, int), *ret = va_arg(ap, int *);
	va_end(ap);
	return ((__typeof__(&sqlite3_db_config))late_find(&late_sqlite, &at, "sqlite3_db_config"))(db, op, value, ret);
}

/* The caller frees it with sqlite3_free; NULL without memory. */
char *sqlite3_mprintf(const char *f, ...)
{
	va_list ap;
	va_start(ap, f);
	char *ret = sqlite3_vmprintf(f, ap);
	va_end(ap);
	return ret;
}

/* schema.h - the tables (doc/format/store.md says what is in them). */
#ifndef STEMMA_STORE_SCHEMA_H
#define STEMMA_STORE_SCHEMA_H

static const char store_schema[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE shape(id INTEGER PRIMARY KEY, bits INTEGER NOT NULL);"
    "CREATE TABLE dict(id INTEGER PRIMARY KEY, text BLOB NOT NULL);"
    "CREATE TABLE domain(id INTEGER PRIMARY KEY, name BLOB NOT NULL, type BLOB NOT NULL, network INTEGER NOT NULL);"
    "CREATE TABLE key(k INTEGER PRIMARY KEY, pack BLOB NOT NULL);"
    "CREATE TABLE list(key INTEGER NOT NULL, first INTEGER NOT NULL, pack BLOB NOT NULL, PRIMARY KEY(key, first)) "
    "WITHOUT ROWID;"
    "CREATE TABLE segment(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, done INTEGER NOT NULL);"
    "CREATE TABLE session(id INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, info BLOB NOT NULL);"
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, ulid TEXT NOT NULL UNIQUE, began INTEGER, info BLOB NOT NULL);"
    "CREATE INDEX run_began ON runs(began);"
    "CREATE TABLE files(id INTEGER PRIMARY KEY, pack BLOB NOT NULL);"
    "CREATE TABLE more(v INTEGER PRIMARY KEY, pack BLOB NOT NULL);"
    "CREATE TABLE path(id INTEGER PRIMARY KEY, dir INTEGER NOT NULL, base BLOB NOT NULL, facts BLOB NOT NULL,"
    " names BLOB NOT NULL);"
    "CREATE TABLE path_fact(path INTEGER NOT NULL, session INTEGER NOT NULL, pack BLOB NOT NULL,"
    " PRIMARY KEY(path, session)) WITHOUT ROWID;"
    "CREATE TABLE move(old INTEGER NOT NULL, new INTEGER NOT NULL, PRIMARY KEY(old, new)) WITHOUT ROWID;"
    "CREATE TABLE process(id INTEGER PRIMARY KEY, pack BLOB NOT NULL);"
    "CREATE TABLE calls(session INTEGER NOT NULL, access INTEGER NOT NULL, kind INTEGER NOT NULL, first INTEGER,"
    " last INTEGER, calls INTEGER, failed INTEGER, bytes INTEGER, largest INTEGER, spent INTEGER, size0 INTEGER,"
    " size1 INTEGER, size2 INTEGER, size3 INTEGER, size4 INTEGER, size5 INTEGER, size6 INTEGER, size7 INTEGER,"
    " size8 INTEGER, size9 INTEGER, PRIMARY KEY(session, access, kind)) WITHOUT ROWID;"
    "CREATE TABLE summaries(id INTEGER PRIMARY KEY, session INTEGER NOT NULL, run INTEGER NOT NULL, pack BLOB NOT "
    "NULL);"
    "CREATE INDEX summary_session ON summaries(session);"
    "CREATE INDEX summary_run ON summaries(run) WHERE run;"
    "CREATE TABLE told(id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " run INTEGER NOT NULL, found_by INTEGER NOT NULL, event BLOB NOT NULL);"
    "CREATE INDEX told_session ON told(session, seq);"
    "CREATE INDEX told_run ON told(run, kind) WHERE run;"
    "CREATE INDEX told_by ON told(found_by) WHERE found_by;"
    "CREATE TABLE builds(id INTEGER PRIMARY KEY, session INTEGER NOT NULL, pub INTEGER NOT NULL, pack BLOB NOT NULL);"
    "CREATE INDEX build_session ON builds(session);"
    "CREATE INDEX build_pub ON builds(pub);"
    "CREATE TABLE build_key(k INTEGER NOT NULL, build INTEGER NOT NULL, PRIMARY KEY(k, build)) WITHOUT ROWID;"
    "CREATE INDEX build_key_build ON build_key(build);";

#endif

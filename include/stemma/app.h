/* stemma/app.h - what only the program knows: say it, and it stands in the record of the run.
 *
 *     stemma_app_type("training");
 *     stemma_app_config("learning_rate", "0.01", NULL);
 *     uint64_t epoch = stemma_app_begin("epoch");
 *     stemma_app_metric("accuracy", 0.93, 1);
 *     stemma_app_end(epoch);
 *
 * Link with -lstemma-app, and ship the calls: without `stemma run` around the program each of them returns at once (a
 * few ns). With it a call costs a copy into memory of the process's own (under 0.2 us); it takes no lock, waits for
 * nobody, calls neither malloc nor stdio, keeps errno, and never fails the program: what finds no room is dropped, and
 * the record says how much. What was said before a crash, an exec or a SIGKILL is kept. All of it may be called by any
 * thread, in any order, also after fork.
 *
 * Strings are bytes up to a NUL; NULL is as good as "". Of names and versions the first 1,024 bytes are kept, of values
 * the first 65,536; what was cut is said in the record. */
#ifndef STEMMA_APP_H
#define STEMMA_APP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEMMA_APP_NO_STEP INT64_MIN

/* Is somebody recording? 1 or 0. */
int stemma_app_present(void);
/* The id of the run, 26 characters; NULL: nobody is recording. The program's to the end. */
const char *stemma_app_run(void);

/* What kind of run this is: "training", "simulation", ... */
void stemma_app_type(const char *type);
/* A setting that the run depends on. version: of the setting, or NULL. Said again it is another value of the same name:
 * the last one counts, the others stay in the record. */
void stemma_app_config(const char *name, const char *value, const char *version);
/* What came out. step: of which epoch, iteration, ...; STEMMA_APP_NO_STEP: of the run as a whole. */
void stemma_app_metric(const char *name, double value, int64_t step);
/* A part of the program's work; what this thread says until its end is said in it. Returns its number, 0 where nobody
 * is recording. They nest. The end of one ends those that this thread began in it. */
uint64_t stemma_app_begin(const char *name);
void stemma_app_end(uint64_t activity);
/* The program read, or made, what is known by this name: a file, a table, a dataset, a model. */
void stemma_app_used(const char *name);
void stemma_app_generated(const char *name);
/* A word for whoever looks for the run later. */
void stemma_app_tag(const char *name, const char *value);

/* The same for other languages, whose strings have a length and may hold a NUL: kind is one of STEMMA_APP_TYPE ... .
 * Fields that a kind does not have are passed over. Returns the number of an activity that began, else 0. */
enum {
	STEMMA_APP_TYPE = 1,
	STEMMA_APP_CONFIG,
	STEMMA_APP_METRIC,
	STEMMA_APP_BEGIN,
	STEMMA_APP_END,
	STEMMA_APP_USED,
	STEMMA_APP_GENERATED,
	STEMMA_APP_TAG
};
uint64_t stemma_app_say(int kind, const char *name, size_t name_size, const char *value, size_t value_size,
                        const char *version, size_t version_size, double number, int64_t step, uint64_t activity);
/* What the record calls the words that follow: "python 3.11", ...; for bindings. Of 63 bytes. */
void stemma_app_tool(const char *tool);

#ifdef __cplusplus
}
#endif

#endif

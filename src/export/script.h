/* script.h - what a command line really runs: behind an interpreter its script. Pure: words in, words out; they point
 * into the arguments. */
#ifndef STEMMA_EXPORT_SCRIPT_H
#define STEMMA_EXPORT_SCRIPT_H

#include "base/buf.h"
#include "base/str.h"
#include "event/event.h"

enum script_kind {
	SCRIPT_NONE,   /* no interpreter, or one that reads its script elsewhere: the program is what runs */
	SCRIPT_FILE,   /* a file: `python3 -u fit.py`, `java -jar fit.jar` */
	SCRIPT_MODULE, /* by a name that the interpreter looks up: `python3 -m fit`, `java org.fit.Main` */
	SCRIPT_TEXT    /* in the arguments: `sh -c TEXT` */
};
struct script {
	enum script_kind kind;
	struct str name; /* the file, module or text; "" none */
	size_t rest;     /* the place of the first argument behind it */
};
/* Finds the script that a command line runs. argv: packed or not, as out_list_next takes it. */
struct script script_of(const struct strlist *argv);

/* The name under which the same job is found again, appended: the script's path, or the program, and the arguments,
 * quoted for sh. A path is made whole by cwd, so that `./fit.py` and `/w/fit.py` are one; of programs where the machine
 * has them only the last part is told. At most SCRIPT_JOB_MAX bytes and a hash of the whole. */
#define SCRIPT_JOB_MAX 240
void script_job_name(const struct strlist *argv, struct str cwd, struct buf *ret);
/* The path of a file as it was named in a folder: whole, without . and .. and doubled slashes. Appended. */
void script_path(struct str cwd, struct str name, struct buf *ret);

#endif

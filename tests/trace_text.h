/* trace_text.h - what a tracer says, as text: for tests that have no kernel to trace.
 *
 * A line is a kind and key=value words. %XX in a value is that byte, a comma separates the items of a list. Times are
 * ms since 2026-01-01 (UTC), with fractions; t= stands for lo= and hi=.
 *
 * clang-format off
 *     fork   t= pid= ppid= uid=              exit t= pid= status=
 *     exec   t= pid= uid= exe= ino= name= argv= env= cwd= nexec=
 *     alive  as exec, with ppid=             uring t= pid=
 *     fds    t= pid= exit=1 fds=FD:r|w|rw:INO:f|p|s,...
 *     file   lo= hi= pid= ino= gen= path= size= mtime= looked= until=
 *            ops=open,exec,closew,closer,create,delete,from,to flags=exec,again,late,unseen
 *     rename t= pid= ino= old= path= dir=1
 *     bytes  t= pid= ino= pipe=1 rn= rb= rf= rl= wn= wb= wf= wl= final=1 nexec=
 *     lost   lo= hi= count=
 * clang-format on */
#ifndef STEMMA_TESTS_TRACE_TEXT_H
#define STEMMA_TESTS_TRACE_TEXT_H

#include "capture/node_tracer/tracer.h"

/* What the times of lines are after. */
extern int64_t trace_epoch;

/* Splits a line (which is changed) into words; 0 if it is empty or a comment. */
size_t trace_words(char *line, char *ret[64]);
/* The value of a key, or NULL; as a time; as a number. */
const char *trace_value(char *const *words, const char *key);
int64_t trace_time(char *const *words, const char *key, const char *other);
uint64_t trace_number(char *const *words, const char *key);
/* Tells a line's event. False if its kind is not one of a tracer's. */
bool trace_event(char **words, tracer_each *each, void *arg);

#endif

/* answer.h - the process that brings one store up to date and hands a copy of it to who asked.
 *
 * It is started for one question and has no capability left; the daemon goes on meanwhile. What is handed over is a
 * file without a name, opened for reading: nobody can change it, lock it, or learn from it where the record is. */
#ifndef STEMMA_DAEMON_ANSWER_H
#define STEMMA_DAEMON_ANSWER_H

/* home: the store; sock: who asked. The exit status. */
int answer_store(const char *home, int sock);

#endif

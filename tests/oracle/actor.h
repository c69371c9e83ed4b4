/*
 * actor.h - what the files of the actor share: descriptors by letter, truths, and the end where a call fails (actor.c)
 */
#pragma once

struct end { /* what a letter stands for */
	int fd;
	char in[64], out[64]; /* the objects that it is read from and written to */
};

extern const char *actor_step; /* the number of the workflow's step */

/* What the letter that the word begins with stands for; it is there always. */
struct end *actor_end(const char *word);

/* The letter stands for a descriptor that is no socket; a negative one ends the program. */
void actor_set(const char *word, int fd);

/* One truth, without its beginning and the end of the line. */
void actor_truth(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The end, with errno's message: status 99. */
_Noreturn void actor_fail(const char *what);

/* Commands: w[0] is the command's name, its words stand behind. */
void actor_sockets(char **w);     /* X Y: a pair */
void actor_listen(char **w);      /* X PATH */
void actor_accept(char **w);      /* X Y: Y is the connection that came to X */
void actor_connect(char **w);     /* X PATH */
void actor_fin(char **w);         /* X: nothing more will be sent */
void actor_send_fd(char **w);     /* X Y: the descriptor Y over the socket X, with one byte */
void actor_receive_fd(char **w);  /* X Y */
void actor_try_connect(char **w); /* PATH: it must fail */

/* shares.h - what the record of each user takes of the disk, and what is taken away where it is too much.
 *
 * What counts for an account (accounts.h) are the logs and indexes of its users. An account may have its share: the
 * smaller of `user` and of `total` divided by the number of accounts that have a record. Above its share an account
 * loses its own oldest logs; above `total` the one that has most does. So nobody loses anything to another user while
 * below the share. Logs go by whole folders, a day or a part of one; a folder that is being written to stays. The
 * indexes that were made of them go, too. One thread. */
#ifndef STEMMA_DAEMON_SHARES_H
#define STEMMA_DAEMON_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shares_limits {
	uint64_t total, user; /* bytes; 0: no limit */
	int64_t max_age;      /* ns; 0: no limit */
};

enum shares_why { SHARES_AGE, SHARES_USER, SHARES_TOTAL };

/* A folder that was removed. */
struct shares_removed {
	uint32_t uid;
	const char *folder; /* its name */
	uint64_t bytes;
	int64_t from, until; /* what lay in it is of this time, ns since 1970 */
	enum shares_why why;
};

struct shares_hooks {
	void *arg;
	/* Is the folder of that name of this user's logs being written to? */
	bool (*in_use)(void *arg, uint32_t uid, const char *folder);
	void (*removed)(void *arg, const struct shares_removed *r);
};

struct shares_account {
	uint32_t account;
	unsigned users;
	uint64_t bytes;
};

struct shares {
	struct shares_account *v;
	size_t n, cap;
	uint64_t bytes;   /* of all, the store of all users among them */
	uint64_t removed; /* bytes, since the beginning */
};

/* Looks at what there is, and takes away what is too much. base: the daemon's folder. */
void shares_hold(struct shares *s, const char *base, const struct shares_limits *l, int64_t now,
                 const struct shares_hooks *h);
void shares_release(struct shares *s);
/* What an account had when last looked; its share; 0: no limit. */
uint64_t shares_of(const struct shares *s, uint32_t account);
uint64_t shares_share(const struct shares *s, const struct shares_limits *l);
/* The UTC day of a time, as the folders are called. */
void shares_day(int64_t t, char ret[16]);
/* Calls each(uid) for the users who have a log of the day that `since` is on, or of a later one. */
void shares_users(const char *base, int64_t since, void (*each)(void *arg, uint32_t uid), void *arg);

#endif

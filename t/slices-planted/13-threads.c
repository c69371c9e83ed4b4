/* Threads: shared memory, results, keys, locks that are tried, cancelling, who comes first. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int shared, cleaned;
static atomic_int turns;
static __thread int own = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static sem_t sem;
static void *work(void *p)
{
	shared = atoi(p);
	return (void *)(intptr_t)(shared + 1);
}
static void *spin(void *p)
{
	for (int i = 0; i < *(int *)p; i++)
		atomic_fetch_add(&turns, 1);
	own = 9;
	return &turns;
}
static void clean(void *p)
{
	cleaned = (int)(intptr_t)p;
}
static void *waits(void *p)
{
	pthread_cleanup_push(clean, p);
	pthread_testcancel();
	pause();
	pthread_cleanup_pop(0);
	return NULL;
}
static void *quits(void *p)
{
	pthread_exit(p);
}
static void *posts(void *p)
{
	if (atoi(p))
		sem_post(&sem);
	return NULL;
}
static void destroy(void *p)
{
	printf("%s\n", (char *)p); /* OUT destroyed */
}
static void *keeps(void *p)
{
	pthread_setspecific(key, p);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	void *r;
	(void)argc;
	/* -- */
	pthread_create(&t, NULL, work, argv[1]);
	pthread_join(t, &r);
	printf("%d\n", shared); /* OUT shared */
	printf("%d\n", (int)(intptr_t)r); /* OUT result */
	/* -- */
	int n = atoi(argv[2]);
	pthread_create(&t, NULL, spin, &n);
	pthread_join(t, &r);
	printf("%d\n", *(atomic_int *)r); /* OUT turns */
	/* -- */
	if (atoi(argv[3]))
		pthread_mutex_lock(&lock);
	puts(pthread_mutex_trylock(&lock) ? "busy" : "free"); /* OUT tried */
	/* -- */
	pthread_create(&t, NULL, waits, (void *)(intptr_t)atoi(argv[4]));
	pthread_cancel(t);
	pthread_join(t, &r);
	printf("%d\n", cleaned); /* OUT cleaned */
	/* -- */
	pthread_create(&t, NULL, quits, argv[5]);
	pthread_join(t, &r);
	puts(r); /* OUT quit */
	/* -- */
	sem_init(&sem, 0, 0);
	pthread_create(&t, NULL, posts, argv[6]);
	pthread_join(t, NULL);
	int value;
	sem_getvalue(&sem, &value);
	printf("%d\n", value); /* OUT posted */
	/* -- */
	pthread_key_create(&key, destroy);
	pthread_create(&t, NULL, keeps, argv[7]);
	pthread_join(t, NULL);
	printf("%d\n", own); /* OUT own */
	return 0;
}

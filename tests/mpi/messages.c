/* What the tests of messages do, a way each (argv[1]); what each rank sent and got goes into DIR/RANK (argv[2]), told
 * by the program itself: a line "send PEER TAG BYTES" or "receive PEER TAG BYTES ANY", or "NAME ROOT SIZE" each.
 *
 *   first N     rank 0 takes a word of each other rank, from any source (@recv); N's comes first, for the others wait
 * for it; goes another way if rank 1's did (@way) words N     rank 1 sends N words to rank 0 (@words) all         each
 * of the calls that are followed ring        to the next and from the one before */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rank, size;
static __thread FILE *f;

static void sent(int to, int tag, int bytes)
{
	fprintf(f, "send %d %d %d\n", to, tag, bytes);
}

static void got(const MPI_Status *st, int any)
{
	int n;
	MPI_Get_count((MPI_Status *)st, MPI_BYTE, &n);
	fprintf(f, "receive %d %d %d %d\n", st->MPI_SOURCE, st->MPI_TAG, n, any);
}

static void first(int n)
{
	int word = rank, k = 0;
	MPI_Status st;
	MPI_Comm workers;
	MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &workers);
	for (int turn = 0; turn < size - 1; turn++) {
		if (rank == 0) {
			MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &st); /* @recv */
			got(&st, 1);
			k += turn == 0 && st.MPI_SOURCE == 1;
		} else {
			if (1 + (n - 1 + turn) % (size - 1) == rank) {
				MPI_Ssend(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
				sent(0, 7, 4);
			}
			MPI_Barrier(workers);
			fprintf(f, "Barrier -1 %d\n", size - 1);
		}
	}
	MPI_Comm_free(&workers);
	if (k) /* @way */
		puts("one");
	else
		puts("another");
}

static void words(int n)
{
	int w[16] = {0};
	MPI_Status st;
	if (rank == 1) {
		MPI_Send(w, n, MPI_INT, 0, 5, MPI_COMM_WORLD); /* @words */
		sent(0, 5, 4 * n);
	} else if (rank == 0) {
		MPI_Recv(w, 16, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
		got(&st, 2);
		puts(st.MPI_TAG == 5 ? "five" : "other");
	}
}

static void value(int n)
{
	int w = 0;
	MPI_Status st;
	if (rank == 1) {
		if (n == 4) { /* @put */
			w = 1;
			puts("put one");
		}
		MPI_Send(&w, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
		sent(0, 5, 4);
	} else if (rank == 0) {
		MPI_Recv(&w, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &st);
		got(&st, 0);
		if (w) /* @got */
			puts("one");
		else
			puts("none");
	}
}

static const char *folder;

static void *talk(void *p)
{
	char name[4096];
	int tag = *(int *)p, out[5] = {0}, in[5];
	MPI_Request q;
	MPI_Status st;
	snprintf(name, sizeof(name), "%s/%d.%ld", folder, rank, (long)syscall(SYS_gettid));
	f = fopen(name, "w");
	for (int i = 0; f && i < 300; i++) {
		MPI_Irecv(in, 5, MPI_INT, 0, tag, MPI_COMM_SELF, &q);
		MPI_Send(out, i % 5, MPI_INT, 0, tag, MPI_COMM_SELF);
		sent(0, tag, 4 * (i % 5));
		MPI_Wait(&q, &st);
		got(&st, 0);
	}
	if (f)
		fclose(f);
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	int tag[4] = {1, 2, 3, 4};
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, talk, &tag[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void ring(void)
{
	int x[4] = {rank}, y[4], next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Status st;
	MPI_Sendrecv(x, 4, MPI_INT, next, 3, y, 4, MPI_INT, before, 3, MPI_COMM_WORLD, &st);
	sent(next, 3, 16);
	got(&st, 0);
}

static void all(void)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size, x[200], y[200], z[200 * 8], at[8], counts[8],
	    flag = 0, n = 0, which[4];
	MPI_Status st[100], one;
	MPI_Request q[100];
	MPI_Comm part;
	memset(x, 0, sizeof(x));
	for (int i = 0; i < 8; i++)
		counts[i] = 1, at[i] = i;
	/* One after the other, by turns: even ranks send first. */
	for (int way = 0; way < 4; way++) {
		MPI_Irecv(y, 10, MPI_INT, way & 1 ? before : MPI_ANY_SOURCE, 10 + way, MPI_COMM_WORLD, &q[0]);
		if (way == 0)
			MPI_Send(x, way + 1, MPI_INT, next, 10 + way, MPI_COMM_WORLD);
		else if (way == 1)
			MPI_Ssend(x, way + 1, MPI_INT, next, 10 + way, MPI_COMM_WORLD);
		else
			MPI_Isend(x, way + 1, MPI_INT, next, 10 + way, MPI_COMM_WORLD, &q[1]);
		sent(next, 10 + way, 4 * (way + 1));
		if (way >= 2)
			MPI_Wait(&q[1], MPI_STATUS_IGNORE);
		if (way == 3)
			while (!flag)
				MPI_Test(&q[0], &flag, &one);
		else
			MPI_Wait(&q[0], &one);
		got(&one, way & 1 ? 0 : 1);
	}
	/* Many at once: more than there is room for without malloc; with statuses and without. */
	for (int way = 0; way < 2; way++) {
		for (int i = 0; i < 80; i++)
			MPI_Irecv(y + i, 1, MPI_INT, before, i, MPI_COMM_WORLD, &q[i]);
		for (int i = 0; i < 80; i++) {
			MPI_Send(x + i, 1, MPI_INT, next, i, MPI_COMM_WORLD);
			sent(next, i, 4);
		}
		MPI_Waitall(80, q, way ? MPI_STATUSES_IGNORE : st);
		for (int i = 0; i < 80; i++)
			fprintf(f, "receive %d %d 4 0\n", before, i);
	}
	for (int way = 0; way < 2; way++) {
		MPI_Irecv(y, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &q[0]);
		q[1] = MPI_REQUEST_NULL;
		MPI_Send(x, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
		sent(next, 1, 4);
		if (way == 0)
			MPI_Waitany(2, q, &n, &one);
		else {
			MPI_Waitsome(2, q, &n, which, st);
			one = st[0];
		}
		got(&one, 0);
	}
	/* Again and again by one request. */
	MPI_Send_init(x, 2, MPI_INT, next, 20, MPI_COMM_WORLD, &q[0]);
	MPI_Recv_init(y, 2, MPI_INT, before, 20, MPI_COMM_WORLD, &q[1]);
	for (int i = 0; i < 3; i++) {
		if (i)
			MPI_Startall(2, q);
		else {
			MPI_Start(&q[0]);
			MPI_Start(&q[1]);
		}
		sent(next, 20, 8);
		MPI_Waitall(2, q, st);
		got(&st[1], 0);
	}
	MPI_Wait(&q[1], MPI_STATUS_IGNORE); /* there is nothing to wait for */
	MPI_Request_free(&q[0]);
	MPI_Request_free(&q[1]);
	MPI_Sendrecv_replace(x, 3, MPI_INT, next, 21, before, 21, MPI_COMM_WORLD, &one);
	sent(next, 21, 12);
	got(&one, 0);
	/* To nobody and from nobody. */
	MPI_Send(x, 3, MPI_INT, MPI_PROC_NULL, 21, MPI_COMM_WORLD);
	fprintf(f, "send -1 -1 0\n");
	MPI_Recv(x, 3, MPI_INT, MPI_PROC_NULL, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	fprintf(f, "receive -1 -1 0 0\n");
	MPI_Irecv(x, 3, MPI_INT, MPI_PROC_NULL, 21, MPI_COMM_WORLD, &q[0]);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	/* Taken back. */
	MPI_Irecv(x, 3, MPI_INT, before, 99, MPI_COMM_WORLD, &q[0]);
	MPI_Cancel(&q[0]);
	MPI_Wait(&q[0], &one);
	MPI_Test_cancelled(&one, &flag);
	fprintf(f, flag ? "receive -1 -1 0 4\n" : "not cancelled\n");
	/* Together. */
	MPI_Barrier(MPI_COMM_WORLD);
	fprintf(f, "Barrier -1 %d\n", size);
	MPI_Bcast(x, 4, MPI_INT, 1, MPI_COMM_WORLD);
	fprintf(f, "Bcast 1 %d\n", size);
	MPI_Reduce(x, y, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	fprintf(f, "Reduce 0 %d\n", size);
	MPI_Allreduce(MPI_IN_PLACE, y, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	fprintf(f, "Allreduce -1 %d\n", size);
	MPI_Scan(x, y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	fprintf(f, "Scan -1 %d\n", size);
	/* Where the library is not to look at a count and a type, there are none. */
	MPI_Gather(rank == 0 ? MPI_IN_PLACE : x, rank ? 1 : 0, rank ? MPI_INT : MPI_DATATYPE_NULL, z, rank ? 0 : 1,
	           rank ? MPI_DATATYPE_NULL : MPI_INT, 0, MPI_COMM_WORLD);
	fprintf(f, "Gather 0 %d\n", size);
	MPI_Scatter(z, 1, MPI_INT, y, 1, MPI_INT, 1, MPI_COMM_WORLD);
	fprintf(f, "Scatter 1 %d\n", size);
	MPI_Allgather(x, 1, MPI_INT, z, 1, MPI_INT, MPI_COMM_WORLD);
	fprintf(f, "Allgather -1 %d\n", size);
	MPI_Alltoall(z, 1, MPI_INT, y, 1, MPI_INT, MPI_COMM_WORLD);
	fprintf(f, "Alltoall -1 %d\n", size);
	MPI_Gatherv(x, 1, MPI_INT, z, counts, at, MPI_INT, 0, MPI_COMM_WORLD);
	fprintf(f, "Gatherv 0 %d\n", size);
	MPI_Scatterv(z, counts, at, MPI_INT, y, 1, MPI_INT, 0, MPI_COMM_WORLD);
	fprintf(f, "Scatterv 0 %d\n", size);
	MPI_Allgatherv(x, 1, MPI_INT, z, counts, at, MPI_INT, MPI_COMM_WORLD);
	fprintf(f, "Allgatherv -1 %d\n", size);
	MPI_Alltoallv(x, counts, at, MPI_INT, z, counts, at, MPI_INT, MPI_COMM_WORLD);
	fprintf(f, "Alltoallv -1 %d\n", size);
	MPI_Exscan(x, y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	fprintf(f, "Exscan -1 %d\n", size);
	MPI_Reduce_scatter(x, y, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	fprintf(f, "Reduce_scatter -1 %d\n", size);
	MPI_Reduce_scatter_block(x, y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	fprintf(f, "Reduce_scatter_block -1 %d\n", size);
	MPI_Ibcast(x, 4, MPI_INT, 1, MPI_COMM_WORLD, &q[0]);
	fprintf(f, "Ibcast 1 %d\n", size);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	MPI_Iallreduce(x, y, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[0]);
	fprintf(f, "Iallreduce -1 %d\n", size);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	MPI_Ibarrier(MPI_COMM_WORLD, &q[0]);
	fprintf(f, "Ibarrier -1 %d\n", size);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	/* In a communicator of its own. */
	MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &part);
	MPI_Bcast(x, 1, MPI_INT, 0, part);
	MPI_Comm_size(part, &n);
	fprintf(f, "Bcast 0 %d\n", n);
	MPI_Comm_free(&part);
	for (int i = 0; i < 3; i++)
		printf("%d %d\n", rank, y[i]);
}

int main(int argc, char **argv)
{
	char name[4096];
	int provided;
	folder = argv[2];
	if (argc > 3 && strcmp(argv[3], "threads") == 0)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(name, sizeof(name), "%s/%d", argv[2], rank);
	f = fopen(name, "w");
	if (!f)
		MPI_Abort(MPI_COMM_WORLD, 3);
	if (!strcmp(argv[1], "first"))
		first(atoi(argv[3]));
	else if (!strcmp(argv[1], "words"))
		words(atoi(argv[3]));
	else if (!strcmp(argv[1], "value"))
		value(atoi(argv[3]));
	else if (!strcmp(argv[1], "threads"))
		threads();
	else if (!strcmp(argv[1], "ring"))
		ring();
	else
		all();
	fclose(f);
	MPI_Finalize();
	return 0;
}

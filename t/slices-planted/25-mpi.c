/* MPI with one process: what a call returns by way of another. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int n = 0, got[4] = {0}, count = 0, flag = 0;
	MPI_Request requests[2];
	MPI_Status statuses[2], status;
	MPI_Init(NULL, NULL);
	/* -- */
	int data[4] = {1, 2, 3, 4};
	MPI_Irecv(got, 4, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(data, atoi(argv[1]), MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, statuses);
	MPI_Get_count(&statuses[0], MPI_INT, &count);
	printf("%d\n", count); /* OUT count */
	/* -- */
	n = atoi(argv[2]);
	MPI_Sendrecv(&n, 1, MPI_INT, 0, 2, got, 4, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
	printf("%d\n", got[0]); /* OUT exchanged */
	/* -- */
	n = 5;
	MPI_Sendrecv(&n, 1, MPI_INT, 0, atoi(argv[3]), got, 4, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	printf("%d\n", status.MPI_TAG); /* OUT tag */
	/* -- */
	n = atoi(argv[4]);
	MPI_Gather(&n, 1, MPI_INT, got, 1, MPI_INT, 0, MPI_COMM_WORLD);
	printf("%d\n", got[0]); /* OUT gathered */
	/* -- */
	got[0] = atoi(argv[5]);
	MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("%d\n", got[0]); /* OUT in_place */
	/* -- */
	n = 7;
	if (atoi(argv[6]))
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
	printf("%d\n", n); /* OUT aborted */
	/* -- */
	n = atoi(argv[7]);
	MPI_Bsend(&n, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
	MPI_Iprobe(0, 3, MPI_COMM_WORLD, &flag, &status);
	printf("%d\n", flag); /* OUT probed */
	MPI_Finalize();
	return 0;
}

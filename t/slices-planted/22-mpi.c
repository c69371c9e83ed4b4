/* MPI, with one process: messages, operations of the program, windows, attributes, requests, files. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int factor = 1;
static void combine(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i] * factor;
}
int main(int argc, char **argv)
{
	int rank, size, n, got = 0, sum = 0, *kept, found, place = 0, window[2] = {0, 0};
	char packed[64];
	MPI_Request request;
	MPI_Status status;
	MPI_Comm part;
	MPI_Op op;
	MPI_Win win;
	MPI_File f;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	/* -- */
	n = rank ? 0 : atoi(argv[1]);
	MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
	printf("%d\n", n); /* OUT cast */
	/* -- */
	factor = atoi(argv[2]);
	MPI_Op_create(combine, 1, &op);
	n = 3;
	MPI_Allreduce(&n, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
	printf("%d\n", sum); /* OUT reduced */
	/* -- */
	n = atoi(argv[3]);
	MPI_Irecv(&got, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request);
	MPI_Send(&n, 1, MPI_INT, rank, 7, MPI_COMM_WORLD); /* OUT sent */
	MPI_Wait(&request, &status);
	printf("%d\n", got); /* OUT received */
	/* -- */
	MPI_Win_create(window, sizeof(window), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	n = atoi(argv[4]);
	MPI_Win_fence(0, win);
	MPI_Put(&n, 1, MPI_INT, rank, 1, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	printf("%d\n", window[1]); /* OUT window */
	/* -- */
	int key, value = atoi(argv[5]);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
	MPI_Comm_get_attr(MPI_COMM_WORLD, key, &kept, &found);
	printf("%d\n", *kept); /* OUT kept */
	/* -- */
	int late = 0, arrived = 0;
	MPI_Request start;
	MPI_Send_init(&late, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &start);
	late = atoi(argv[6]);
	MPI_Irecv(&arrived, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &request);
	MPI_Start(&start);
	MPI_Wait(&request, &status);
	MPI_Wait(&start, &status);
	printf("%d\n", arrived); /* OUT persistent */
	/* -- */
	MPI_Comm_split(MPI_COMM_WORLD, atoi(argv[7]) ? 1 : MPI_UNDEFINED, 0, &part);
	puts(part == MPI_COMM_NULL ? "out" : "in"); /* OUT split */
	/* -- */
	n = atoi(argv[8]);
	MPI_File_open(MPI_COMM_SELF, "planted.mpi", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	MPI_File_write_at(f, 0, &n, 1, MPI_INT, &status);
	MPI_File_read_at(f, 0, &got, 1, MPI_INT, &status);
	MPI_File_close(&f);
	printf("%d\n", got); /* OUT file */
	/* -- */
	n = atoi(argv[9]);
	MPI_Pack(&n, 1, MPI_INT, packed, sizeof(packed), &place, MPI_COMM_WORLD);
	place = 0;
	MPI_Unpack(packed, sizeof(packed), &place, &got, 1, MPI_INT, MPI_COMM_WORLD);
	printf("%d\n", got); /* OUT unpacked */
	/* -- */
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	printf("%d\n", size); /* OUT size */
	MPI_Finalize();
	return 0;
}

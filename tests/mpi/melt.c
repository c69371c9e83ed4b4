/* What the tests of messages do, with four ranks (melt OLD: in the way of old programs, else with newer calls):
 *
 *   rank 0 reads in.melt and gives it to all; rank 2 writes dump.2 of it;
 *   rank 1 reads extra.1 and sends it to rank 3, which receives from whoever it is, and writes table.3 of both;
 *   then rank 0 reads late.txt and writes log.0 of what is there and of what ranks 1 and 3 had counted together.
 *
 * Ranks 1 and 3 have a communicator of their own. So dump.2 is of in.melt alone, table.3 of in.melt and extra.1, log.0
 * of all but nothing is of late.txt but log.0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[64];

static void read_file(const char *name)
{
	FILE *f = fopen(name, "r");
	if (!f || !fgets(text, sizeof(text), f))
		MPI_Abort(MPI_COMM_WORLD, 3);
	fclose(f);
}

static void write_file(const char *name, const char *more)
{
	FILE *f = fopen(name, "w");
	if (!f || fprintf(f, "%s%s", text, more) < 0 || fclose(f) != 0)
		MPI_Abort(MPI_COMM_WORLD, 4);
}

int main(int argc, char **argv)
{
	int rank, old = argc > 1 && strcmp(argv[1], "old") == 0, sum = 0;
	char extra[64] = "";
	MPI_Comm odd;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &odd);
	if (rank == 0)
		read_file("in.melt");
	if (old) {
		MPI_Bcast(text, sizeof(text), MPI_CHAR, 0, MPI_COMM_WORLD);
	} else {
		MPI_Request r;
		MPI_Ibcast(text, sizeof(text), MPI_CHAR, 0, MPI_COMM_WORLD, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	if (rank == 2)
		write_file("dump.2", "");
	if (rank == 1) { /* rank 3 is rank 1 of the two */
		char own[64];
		memcpy(own, text, sizeof(own));
		read_file("extra.1");
		memcpy(extra, text, sizeof(extra));
		memcpy(text, own, sizeof(own));
		MPI_Send(extra, sizeof(extra), MPI_CHAR, 1, 7, odd);
	}
	if (rank == 3) {
		if (old) {
			MPI_Recv(extra, sizeof(extra), MPI_CHAR, MPI_ANY_SOURCE, 7, odd, MPI_STATUS_IGNORE);
		} else {
			MPI_Status st;
			MPI_Message m;
			MPI_Mprobe(MPI_ANY_SOURCE, 7, odd, &m, &st);
			MPI_Mrecv(extra, sizeof(extra), MPI_CHAR, &m, &st);
		}
		write_file("table.3", extra);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		read_file("late.txt");
	rank = rank == 1 || rank == 3 ? (int)strlen(extra) : 0;
	MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		snprintf(extra, sizeof(extra), "%d\n", sum);
		write_file("log.0", extra);
	}
	MPI_Comm_free(&odd);
	MPI_Finalize();
	return 0;
}

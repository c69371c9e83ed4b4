#!/bin/sh
# What ranks of an MPI program sent each other before one of them wrote a file: whose input went into it, surely.
# Truths by hand (tests/mpi/melt.c).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none
export HYDRA_LAUNCHER=fork TMPDIR="$T"

why_is() { # FILE RANK SOURCES: the line, but for versions and who did it
	cmd 0 why "$1" && sed 's/@{[0-9]*}//g; s/ by [^ ]*@[^ ]*, .*//' "$out" | head -n 1 >"$T/why" && is "$T/why" "$1: made by melt $how [rank $2 of 4] from $3"
}
for mpi in openmpi mpich; do
	cc=$(command -v mpicc.$mpi) && launch=$(command -v mpirun.$mpi) || {
		skip "$mpi" "there is no mpicc.$mpi with mpirun.$mpi"
		continue
	}
	mkdir "$T/work/$mpi" && cd "$T/work/$mpi" || exit 1
	echo melt >in.melt && echo extra >extra.1 && echo late >late.txt
	"$cc" -O1 -o melt "$here/tests/mpi/melt.c" >"$out" 2>"$err" && timeout 60 "$launch" -n 4 ./melt old >"$T/plain" 2>"$err" && printf 'melt\nextra\n' | cmp - table.3 || {
		skip "$mpi" "its programs do not run here: $(head -n 1 "$err")"
		continue
	}
	for how in old new; do
		rm -rf "$STEMMA_HOME" dump.2 table.3 log.0
		cmd 0 run -q --mpi -- timeout 60 "$launch" -n 4 ./melt $how && printf 'melt\nextra\n' | cmp - table.3 && [ ! -s "$err" ]
		check "$mpi, $how: the program's results are the same"
		why_is dump.2 2 in.melt
		check "$mpi, $how: dump.2 is of what rank 0 broadcast, surely, and of nothing else"
		why_is table.3 3 'extra.1, in.melt' || why_is table.3 3 'in.melt, extra.1'
		check "$mpi, $how: table.3 is of what rank 1 sent, too"
		cmd 0 lineage --certain --json log.0 && json '[.entities[].path | select(endswith("in.melt") or endswith("extra.1") or endswith("late.txt")) | split("/")[-1]] | unique == ["extra.1", "in.melt", "late.txt"]'
		check "$mpi, $how: log.0 is of all"
		cmd 0 find --json 'from late.txt' && json '[.entities[].path | select(endswith("dump.2") or endswith("table.3"))] == []' && json '[.entities[].path | select(endswith("log.0"))] | length == 1'
		check "$mpi, $how: what was read later is in nothing that was written before"
		cmd 0 lineage dump.2 && says "$out" 'in.melt@{1}' '4 ranks' && says_not "$out" 'in.melt@{1}?' && says_not "$out" mpi: && says_not "$out" extra.1
		check "$mpi, $how: lineage has one node for the job"
	done
	# Two jobs of one run are told apart.
	rm -rf "$STEMMA_HOME" dump.2 && mkdir -p two && echo other >two/in.melt && echo 2 >two/extra.1 && echo 3 >two/late.txt && how=old
	cmd 0 run -q --mpi -- sh -c "timeout 60 '$launch' -n 4 ./melt old && cd two && timeout 60 '$launch' -n 4 ../melt old" && cmd 0 lineage --json two/dump.2 && json '[.entities[].path | select(endswith("in.melt"))] | length == 1'
	check "$mpi: a second job has nothing of the first one's messages"
	# A rank closes a file, and gets a message at once: when the file was closed is not known as well as that.
	rm -rf "$STEMMA_HOME" && echo 5 >in.dat && cat >early.c <<'END'
#include <mpi.h>
#include <stdio.h>

static void put(const char *name, int v)
{
	FILE *f = fopen(name, "w");
	fprintf(f, "%d\n", v);
	fclose(f);
}

int main(int argc, char **argv)
{
	int rank, v = 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		FILE *f = fopen("in.dat", "r");
		if (!f || fscanf(f, "%d", &v) != 1)
			return 1;
		fclose(f);
	} else {
		put("early.dat", v);
	}
	MPI_Bcast(&v, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 1)
		put("late.dat", v);
	return MPI_Finalize();
}
END
	"$cc" -o early early.c >"$out" 2>"$err" && cmd 0 run -q --mpi -- timeout 60 "$launch" -n 2 ./early && cmd 0 lineage --json --certain late.dat && json '[.entities[].path | select(endswith("/in.dat"))] | length == 1' &&
		cmd 0 lineage --json --certain early.dat && json '[.entities[].path | select(endswith("/in.dat"))] == []'
	check "$mpi: what a rank got right after it had closed a file is no sure source of that"
	cd "$T/work" || exit 1
done
finish

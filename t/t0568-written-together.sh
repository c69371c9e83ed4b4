#!/bin/sh
# A file that the ranks of an MPI job wrote together, each a part, came from what all of them had read. Truths by hand.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none
export HYDRA_LAUNCHER=fork TMPDIR="$T"

for mpi in openmpi mpich; do
	cc=$(command -v mpicc.$mpi) && launch=$(command -v mpirun.$mpi) || {
		skip "$mpi" "there is no mpicc.$mpi with mpirun.$mpi"
		continue
	}
	mkdir "$T/work/$mpi" && cd "$T/work/$mpi" || exit 1
	for r in 0 1 2 3; do echo "part $r" >part.$r; done
	"$cc" -O1 -o parts "$here/tests/mpi/parts.c" >"$out" 2>"$err" && timeout 60 "$launch" -n 4 ./parts together >"$out" 2>"$err" && [ "$(wc -c <all.dat)" = 32 ] || {
		skip "$mpi" "its programs do not run here: $(head -n 1 "$err")"
		continue
	}
	for how in independent together; do
		rm -rf "$STEMMA_HOME" all.dat
		cmd 0 run -q --mpi -- timeout 60 "$launch" -n 4 ./parts $how && cmd 0 why all.dat && sed 's/@{[0-9]*}//g; s/?//g; s/ by [^ ]*@[^ ]*, .*//' "$out" | head -n 1 >"$T/why"
		says "$T/why" "all.dat: made by parts $how [4 ranks] from part." part.0 part.1 part.2 part.3 && says_not "$T/why" earlier && says_not "$T/why" '4 ranks] ?'
		check "$mpi, $how: what all ranks wrote, from what all of them read"
		cmd 0 why --json all.dat && [ "$(jq -r '.answers[0].inputs[].entity.path // .answers[0].inputs[].path' "$out" | sed 's|.*/||' | grep -c '^part\.[0-3]$')" = 4 ]
		check "$mpi, $how: as JSON"
	done
	cd "$T/work" || exit 1
done
finish

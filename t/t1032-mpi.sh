#!/bin/sh
# MPI: the rank and the number of ranks of each process, from the launcher and confirmed by MPI; MPI-IO; one log a rank. Each
# library that is here, with its own compiler and launcher.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none
export HYDRA_LAUNCHER=fork TMPDIR="$T"
some=
for mpi in openmpi mpich; do
	cc=$(command -v mpicc.$mpi) && launch=$(command -v mpirun.$mpi) || {
		skip "$mpi" "there is no mpicc.$mpi with mpirun.$mpi"
		continue
	}
	mkdir "$T/work/$mpi" && cd "$T/work/$mpi" || exit 1
	"$cc" -O1 -o ranks "$here/tests/mpi/ranks.c" >"$out" 2>"$err" && timeout 60 "$launch" -n 3 ./ranks alone.dat >"$T/plain" 2>"$err" && sort "$T/plain" >"$T/sorted" && printf '0 3\n1 3\n2 3\n' | cmp - "$T/sorted" || {
		skip "$mpi" "its programs do not run here: $(head -n 1 "$err")"
		continue
	}
	some=1
	[ $mpi = openmpi ] && says=Open || says=MPICH

	rm -rf "$STEMMA_HOME" && cmd 0 run -q -- timeout 60 "$launch" -n 3 ./ranks one.dat && sort "$out" | cmp - "$T/sorted" && cmd 0 sql --csv "SELECT DISTINCT rank FROM execution WHERE argv LIKE './ranks%' AND n > 0 ORDER BY rank" && [ "$(tr -d '\r' <"$out" | tr '\n' ' ')" = 'rank 0 1 2 ' ] &&
		cmd 0 show --json @ && json '[.things[0].executions[] | select(.rank and .argv[0] == "./ranks")] | map(.rank + " of " + .ranks) | unique == ["0 of 3", "1 of 3", "2 of 3"]' && json '.things[0].ranks == null'
	check "$mpi: ranks by the launcher's word"

	rm -rf "$STEMMA_HOME" && cmd 0 run -q --mpi -- timeout 60 "$launch" -n 3 ./ranks two.dat threads && sort "$out" | cmp - "$T/sorted" && cmp two.dat alone.dat && [ ! -s "$err" ] && cmd 0 sql --csv "SELECT m.rank, m.size, x.rank = m.rank AS same, m.library LIKE '$says%', m.level FROM mpi_rank m JOIN execution x ON x.id = m.execution ORDER BY m.rank" &&
		tr -d '\r' <"$out" | tail -n +2 | diff - /dev/fd/3 3<<END >"$err"
0,3,1,1,1
1,3,1,1,1
2,3,1,1,1
END
	check "$mpi: confirmed when MPI was initialised; the program's results are the same"
	cmd 0 sql --csv "SELECT m.op, m.collective, m.ranks, x.rank, m.calls, m.failed, m.bytes, m.path = '$T/work/$mpi/two.dat', m.last >= m.first AND m.spent > 0 FROM mpi_io m JOIN execution x ON x.id = m.execution ORDER BY m.op, m.collective, x.rank" && tr -d '\r' <"$out" | tail -n +2 | diff - /dev/fd/3 3<<END >"$err"
close,1,3,0,1,0,0,1,1
close,1,3,1,1,0,0,1,1
close,1,3,2,1,0,0,1,1
open,1,3,0,1,0,0,1,1
open,1,3,1,1,0,0,1,1
open,1,3,2,1,0,0,1,1
read,0,3,0,2,0,800,1,1
read,0,3,1,2,0,800,1,1
read,0,3,2,2,0,800,1,1
sync,1,3,0,1,0,0,1,1
sync,1,3,1,1,0,0,1,1
sync,1,3,2,1,0,0,1,1
write,0,3,0,1,0,400,1,1
write,0,3,1,2,0,800,1,1
write,0,3,2,3,0,1200,1,1
write,1,3,0,1,0,8,1,1
write,1,3,1,1,0,8,1,1
write,1,3,2,1,0,8,1,1
END
	check "$mpi: calls of MPI-IO, by rank"
	cmd 0 show @ && says "$out" 'MPI ranks    3 of 3  '"$says" 'two.dat  write together  1 calls' && cmd 0 show --json @ && json '.things[0] | (.ranks | map(.rank) | sort == [0, 1, 2]) and (.mpi_io | length) == 18'
	check "$mpi: show"

	# A log for each rank: nothing of one is needed to record or join another.
	rm -rf "$STEMMA_HOME" && timeout 100 "$launch" -n 3 "$STEMMA" run -q --mpi -- ./ranks three.dat >"$out" 2>"$err" && sort "$out" | cmp - "$T/sorted" && cmp three.dat alone.dat && [ "$(find "$STEMMA_HOME/logs" -name '*.stl' | wc -l)" = 3 ] && cmd 0 sql --csv 'SELECT rank, size, count(DISTINCT ulid) FROM mpi_rank GROUP BY rank' && lines "$out" 4 && cmd 0 sql --csv 'SELECT count(DISTINCT ulid) FROM mpi_rank' && says "$out" 3 && cmd 0 why --json three.dat
	check "$mpi: a log for each rank"

	if [ -x "$(command -v mpifort.$mpi)" ]; then
		mpifort.$mpi -o ranks-f "$here/tests/mpi/ranks.f90" >"$out" 2>"$err" && rm -rf "$STEMMA_HOME" && cmd 0 run -q --mpi -- timeout 60 "$launch" -n 2 ./ranks-f && cmd 0 sql --csv "SELECT (SELECT count(*) FROM mpi_rank), op, collective, sum(calls), sum(bytes) FROM mpi_io GROUP BY op, collective" && tr -d '\r' <"$out" | tail -n +2 | diff - /dev/fd/3 3<<END >"$err"
2,close,1,2,0
2,open,1,2,0
2,write,1,2,160
END
		check "$mpi: the same from Fortran"
	else
		skip "$mpi: the same from Fortran" "there is no mpifort.$mpi"
	fi
	# A rank that is killed: the others' words are there, and its own up to then.
	rm -rf "$STEMMA_HOME" && "$STEMMA" run -q --mpi -- timeout 60 "$launch" -n 2 sh -c './ranks k.dat; [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || kill -9 $$' >"$out" 2>"$err"
	cmd 0 sql --csv 'SELECT count(*) FROM mpi_rank' && says "$out" 2
	check "$mpi: a rank that is killed"
	cd "$T/work" || exit 1
done
# Programs without MPI do not notice the library, nor do those that cannot have it.
rm -rf "$STEMMA_HOME" && cmd 0 run -q --mpi -- sh -c 'echo "$1"; exit 0' - hello && is "$out" hello && cmd 0 show --json @ && json '.things[0] | .ranks == null and .mpi_io == null and .annotations == null'
check 'a program without MPI'
[ -n "$some" ] || echo '# no MPI could be tested'

# The launcher before the batch system (B11), without any MPI.
job() { env -i PATH="$PATH" HOME="$HOME" STEMMA_HOME="$STEMMA_HOME" "$@" "$STEMMA" run -q -- true && cmd 0 show --json @ && jq -r '.things[0].executions[] | select(.argv[0] == "true") | "\(.job) \(.step) \(.rank) \(.ranks)"' "$out" | tail -n 1 >"$T/got"; }
job SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_PROCID=9 SLURM_NTASKS=16 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 && is "$T/got" '7 1 2 4' && job SLURM_JOB_ID=7 SLURM_PROCID=9 SLURM_NTASKS=16 && is "$T/got" '7 null 9 16' && job PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=9 SLURM_NTASKS=16 && is "$T/got" 'null null 1 2' && job PALS_RANKID=3 PALS_APID=a PBS_JOBID=5 && is "$T/got" '5 a 3 null' && job FLUX_JOB_ID=f FLUX_TASK_RANK=0 FLUX_JOB_SIZE=8 && is "$T/got" 'f null 0 8'
check 'rank and ranks by environment, the launcher first'
finish

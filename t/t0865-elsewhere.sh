#!/bin/sh
# Where work leaves what is recorded (ssh, srun, sbatch, containers): show and why say so, and what to write.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

# Programs of these names, which do here what they are given to do there, and are seen doing it.
mkdir bin
for p in ssh srun sbatch docker; do printf '#!/bin/sh\n[ -z "$OUT" ] || echo done >"$OUT"\n' >bin/$p && chmod +x bin/$p; done
PATH=$PWD/bin:$PATH
export PATH

# says_line WORDS...: of a run of these words show has the line, which is read from standard input
line()
{
	cmd 0 run -q -- "$@" && cmd 0 show @ && grep '^elsewhere' "$out" >"$T/line"
	cat >"$T/want"
	sed 's/^.*to record it: //' "$T/line" | cmp -s - "$T/want" || {
		cat "$T/line" >>"$err"
		return 1
	}
}
line ssh -p 22 -t node2 'sort data >far.txt' <<'END'
ssh -p 22 -t node2 stemma run -- 'sort data >far.txt'
END
check 'ssh: the command line as it was, with stemma before the command'
line ssh -oPort=22 -- me@node2 ls -l <<'END'
ssh -oPort=22 -- me@node2 stemma run -- ls -l
END
check 'with an option that has its value in it, and --'
line ssh node2 <<'END'
ssh HOST stemma run -- COMMAND
END
check 'without a command'
line srun -n 4 -c2 --mem=1G ./solve -n 3 in.dat <<'END'
srun -n 4 -c2 --mem=1G stemma run -- ./solve -n 3 in.dat
END
check 'srun'
line srun --ntasks 4 ./solve <<'END'
srun stemma run -- COMMAND
END
check 'an option of which nobody can tell whether the next word is its value'
line sbatch job.sh <<'END'
in the job's script: stemma run -- COMMAND
END
check 'sbatch'
line docker run --rm image make <<'END'
in the container: stemma run -- COMMAND
END
check 'a container'
nothing()
{
	cmd 0 run -q -- "$@" && cmd 0 show @ && ! grep -q '^elsewhere' "$out"
}
nothing docker ps && nothing ssh -V && nothing ssh node2 stemma run -- ls && nothing ssh node2 'stemma run -- ls' && nothing srun stemma run -- ./solve && nothing sh -c ':'
check 'nothing is said of what does nothing there, or has stemma there'
printf '#!/bin/sh\nfor i in 1 2 3 4 5 6 7; do ssh node$i ls; ssh node$i ls; done\n' >many.sh && chmod +x many.sh
cmd 0 run -q -- ./many.sh && cmd 0 show @ && [ "$(grep -c 'to record it: ssh node' "$out")" = 5 ] && says "$out" 'and 2 more'
check 'each line once, and five of them'
OUT=made.txt && export OUT
cmd 0 run -q -- ssh node2 make made.txt && cmd 0 why made.txt && says "$out" 'made.txt@{1}: made by ssh node2 make made.txt' && lines "$out" 1 && says "$err" 'hint: what ssh started elsewhere is not recorded; to record it: ssh node2 stemma run -- make made.txt'
check 'why has it as a hint'
finish

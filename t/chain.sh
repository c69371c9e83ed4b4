# shellcheck shell=sh disable=SC2034,SC2154 # names of lib.sh and of the scripts
# chain.sh - for the tests that attack a chain of seals (sourced after lib.sh). ./bench.sh, run twelve times, gives 1.10,
# 1.17, 1.12, ...: each of 1.10 to 1.21 once. A folder is no input, so all have the same.
#
#   keep                the record as it is by now: its events are in $T/text, its segment and what the host knows of it
#                       in $seg and $known
#   back                puts that record back
#   run VALUE           the id of the run that gave 1.VALUE
#   attacker WHAT...    changes the segment
export EVTEXT

cat >bench.sh <<'END'
#!/bin/sh
n=$(ls done | wc -l)
mkdir "done/$n"
echo "time: 1.$((10 + n * 7 % 12))"
END
chmod +x bench.sh
mkdir "done"

keep()
{
	seg=$(echo "$STEMMA_HOME"/logs/*/*/0.stl)
	known=$(echo "$STEMMA_HOME"/seals/*)
	"$EVTEXT" dump "$seg" >"$T/text"
	cp -a "$STEMMA_HOME" "$T/kept"
}

back()
{
	rm -rf "$STEMMA_HOME" && cp -a "$T/kept" "$STEMMA_HOME"
}

run()
{
	jq -rs '.[] | select(.k == "result" and .value == ["time=1.'"$1"'"]) | .run' "$T/text"
}

attacker()
{
	$PYTHON -B "$here/t/chain_attack.py" "$seg" "$@" 2>>"$err"
}

#!/bin/sh
# --count of programs with several threads: what the log says of a file is what the calls returned to them; cancellation works as
# without, and where which file a byte went to cannot be told, nothing is said.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"
# shellcheck source=tests/prog/count.sh
. "$(dirname "$0")/../tests/prog/count.sh"

needs_count

for c in $("$PROGS/p-crowd"); do
	case $c in
	own | churn) counted p-crowd "$c" in0:read in5:read in0:written out3:written out7:written ;;
	shared | signals) counted p-crowd "$c" in:read in:written out:written ;;
	stdio) counted p-crowd "$c" in0:read in0:written in7:read ;;
	cancel | pool) counted p-crowd "$c" in:read in:written ;;
	*) counted p-crowd "$c" ;;
	esac
done

if [ -x "$PROGS/p-crowd-static" ]; then
	counted p-crowd-static own in0:read in5:read in0:written out3:written out7:written
	counted p-crowd-static shared in:read in:written out:written
	counted p-crowd-static cancel in:read in:written
	counted p-crowd-static pool in:read in:written
else
	skip_ "p-crowd-static" "not built: the tool chain for it is not here"
fi

# real NAME COMMAND...: under --count; what the log says of files is in $T/tsv.
real()
{
	(cd "$D" && STEMMA_HOME=$D/home "$STEMMA" run --count -- "$@") >"$T/why" 2>&1 || return 1
	STEMMA_HOME=$D/home "$STEMMA" stat --tsv @ >"$T/tsv" 2>>"$T/why"
}

# moved PATH WAY: bytes, "?" where that is not known.
moved()
{
	awk -F'\t' -v f="/$1" -v w="$2" \
		'substr($4, length($4) - length(f) + 1) == f && $5 == w && $6 != "mmap" { if ($9 == "?") bad = 1; n += $9; some = 1 } END { print bad || !some ? "?" : n }' "$T/tsv"
}

# A library that is loaded meanwhile is read by the loader, and then nothing is proved: what is said is true, or "?".
D=$T/real
mkdir -p "$D"
cat >"$T/pool.py" <<'PY'
import threading
moved = []
def work(i):
    n = 0
    with open(f'in{i % 3}', 'rb', buffering=0) as f, open(f'out{i}', 'wb', buffering=0) as g:
        while b := f.read(1000 + i):
            n += g.write(b)
    moved.append(n)
threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert moved == [111111] * 12
PY
for i in 0 1 2; do head -c 111111 /dev/zero >"$D/in$i"; done
real "$PYTHON" "$T/pool.py"
result $? "python's threads run" "$T/why"
: >"$T/why"
for f in in0:read:444444 in2:read:444444 out0:write:111111 out11:write:111111; do
	IFS=: read -r path way want <<END
$f
END
	got=$(moved "$path" "$way")
	[ "$got" = "$want" ] || [ "$got" = "?" ] || echo "$path $way: $got, it was $want" >>"$T/why"
done
[ ! -s "$T/why" ]
result $? "python's threads: nothing false is said" "$T/why"

if command -v samtools >/dev/null; then
	awk 'BEGIN { srand(7); print "@SQ\tSN:a\tLN:100000"; for (i = 0; i < 20000; i++) print "r" i "\t0\ta\t" int(rand() * 99000) + 1 "\t60\t20M\t*\t0\t0\tACGTACGTACGTACGTACGT\tIIIIIIIIIIIIIIIIIIII" }' >"$T/in.sam"
	for _ in 1 2 3 4 5; do
		rm -rf "$D"
		mkdir -p "$D"
		cp "$T/in.sam" "$D"
		real samtools sort -@ 2 -o sorted.bam in.sam || break
		[ "$(moved sorted.bam write)" != "?" ] && break
	done
	got="$(moved in.sam read) $(moved sorted.bam write)"
	want="$(wc -c <"$D/in.sam") $(wc -c <"$D/sorted.bam")"
	[ "$got" = "$want" ] || echo "$got, it was $want" >>"$T/why"
	[ "$got" = "$want" ]
	result $? "samtools sort with threads" "$T/why"
else
	skip_ "samtools sort with threads" "samtools is not installed"
fi
finish

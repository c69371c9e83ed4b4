#!/bin/sh
# diff by content: files of one size and different times, where the record has digests or the files still are as recorded.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

cat >work.sh <<'END'
#!/bin/sh
sort -n numbers.txt >sorted.txt
END
chmod +x work.sh
# beside FOLDER TEXT: a run of it in a folder of its own
beside()
{
	mkdir "$1" && printf '%s' "$2" >"$1/numbers.txt" && (cd "$1" && cmd 0 run -q -- ../work.sh)
}
beside one '3
1
2
' && beside two '3
1
2
' && cmd 1 diff --json && json '.first_cause == null or .first_cause.rung == "machine"' && json '([.rungs[] | select(.name == "inputs" or .name == "outputs") | .differences[]] | length) == 0'
check 'equal bytes in two folders are the same, as input and as output'
beside three '3
1
4
' && cmd 1 diff --json && json '.first_cause.rung == "inputs" and .first_cause.content == "differs"' && cmd 1 diff && says "$out" 'equal size, different bytes'
check 'other bytes of the same size are the cause'

cmd 0 run -q --digest -- ./work.sh 2>/dev/null
printf '2\n1\n' >numbers.txt
cmd 0 run -q --digest -- ./work.sh && cmd 0 run -q --digest -- ./work.sh && cmd 0 diff && says "$out" 'No recorded difference.'
check 'identical runs with digests are the same, though one wrote over the other'
touch numbers.txt && cmd 0 run -q --digest -- ./work.sh && cmd 0 diff && says "$out" 'No recorded difference.'
check 'so are those with a file that was only touched in between'

seq 40 >values
cmd 0 run -q -- sh -c 'sort -n values | head -n 3 >top' && touch values && cmd 0 run -q -- sh -c 'sort -n values | head -n 7 >top' && cmd 1 diff --json && json '.first_cause.rung == "options"'
check 'a file that was touched does not win over an option'
touch values && cmd 0 run -q -- sh -c 'sort -n values | head -n 7 >top' && cmd 1 diff --json && json '.first_cause.rung == "inputs"'
check 'but is the cause where nothing else is'
cat >own.py <<'END'
import os
open("top", "w").writelines(list(open("values"))[:int(os.environ.get("TOP", "3"))])
END
cmd 0 run -q -- "$PYTHON" own.py && TOP=15 cmd 0 run -q -- "$PYTHON" own.py && cmd 1 diff && says "$out" 'No recorded difference reaches the outputs.' && says "$out" 'Not recorded: time, random numbers, the network, and environment variables that are not listed under ENVIRONMENT in stemma-run(1)'
check 'an unrecorded variable is said to be not recorded'

cmd 0 run -q --digest -- sh -c 'sort -n numbers.txt -o /tmp/ccmmqeuv.$$; cp /tmp/ccmmqeuv.$$ sorted.txt; rm /tmp/ccmmqeuv.$$' && cmd 0 run -q --digest -- sh -c 'sort -n numbers.txt -o /tmp/ccmWLay5.$$; cp /tmp/ccmWLay5.$$ sorted.txt; rm /tmp/ccmWLay5.$$' && "$STEMMA" diff --json >"$out" 2>"$err"; json '[.rungs[] | select(.name == "options") | .differences[] | select(.subject | IN("sh", "dash", "bash") | not)] | length == 0'
check 'a temporary name of small letters only is one, too'

# As the demo has it: an input is edited without changing its size, and a part of the work is done again.
cat >parts.sh <<'END'
#!/bin/sh
for name; do
	part=$(mktemp part.XXXXXX)
	sort values >"$part"
	mv "$part" "$name.part"
done
cat ./*.part >parts
END
chmod +x parts.sh
seq 40 >values
cmd 0 run -q -- ./parts.sh a b c
sed -i 's/^17$/71/' values
cmd 0 run -q -- ./parts.sh b && cmd 1 diff parts --json && json '.first_cause.rung == "inputs"' && json '.first_cause.subject | endswith("values")'
check 'an edited file goes before a program that only one side ran'
head -c 2100 /dev/zero >size.bin && cmd 0 run -q -- cp size.bin size.out && head -c 2105 /dev/zero >size.bin && cmd 0 run -q -- cp size.bin size.out && cmd 1 diff && says "$out" 'size.out  2100 B -> 2105 B'
check 'sizes that look the same when rounded are written with all digits'
finish

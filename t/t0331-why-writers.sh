#!/bin/sh
# Who wrote, and who only opened the file for it: real shells and programs, recorded, with inputs known by construction.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for x in a b c; do
	echo "$x" >"$x"
done
rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
inputs()
{ # FILE WANT: why FILE names exactly these inputs, with ? where it says that one only may be
	cmd 0 why --json "$1" && got=$(jq -r '[.answers[0].inputs[] | (.path | sub(".*/"; "")) + (if .certainty == "may" then "?" else "" end)] | sort | join(" ")' "$out")
	[ "$got" = "$2" ] || {
		echo "the inputs of $1 are '$got', not '$2'" >>"$err"
		return 1
	}
}

for sh in dash bash; do
	if ! command -v $sh >/dev/null; then
		skip "redirections of $sh" 'it is not installed'
		continue
	fi
	rec $sh -c 'cat b > y1' && inputs y1 b
	check "$sh: cat b > y"
	rec $sh -c 'read x < a; cat b > y2; true' && inputs y2 b && json '[.answers[0].opener_inputs[].path | sub(".*/"; "")] == ["a"]' &&
		cmd 0 why y2 && says "$out" "made by cat b in $sh" && says "$out" 'from b@{1} by'
	check "$sh: what only the shell read is no input of what another wrote, and stands apart in the JSON"
	rec $sh -c 'read x < a; cat b > y3' && inputs y3 b
	check "$sh: also where the shell became the program"
	rec $sh -c 'read x < c; { cat a; cat b; } > y4' && inputs y4 'a b' && cmd 0 why y4 && says "$out" 'made by cat a and cat b in'
	check "$sh: { cat a; cat b; } > y"
	rec $sh -c 'read x < a; { cat b; echo $x; } > y5' && inputs y5 'a? b'
	check "$sh: a shell of which bytes are in the file may have read them"
	rec $sh -c 'read x < a; echo begun; cat b > y15; echo done; { cat b; cat c; } > y16; echo "$x"' && inputs y15 b && inputs y16 'b c'
	check "$sh: a shell that talks, but not into the file"
	rec $sh -c 'read x < a; echo $x > y6' && inputs y6 a
	check "$sh: a shell that alone wrote"
	rec $sh -c 'read x < c; cat a | tee y7' && inputs y7 'a' && cmd 0 why y7 && says "$out" 'made by cat a | tee y7 from'
	check "$sh: cat a | tee y"
	rec $sh -c 'read x < c; cat < b > y8' && inputs y8 b
	check "$sh: an input that the shell opened for the program"
	rec $sh -c 'read x < a; : > y9; cat b >> y9' && inputs y9 b
	check "$sh: a file that the shell emptied"
	rec $sh -c 'read x < a; echo $x > y10; cat b >> y10; true' && cmd 0 why y10 && says "$out" 'a@{1}' && says "$out" 'b@{1}'
	check "$sh: two writers of one version, each of which opened it"
	rec $sh -c 'read x < c; for f in a b; do cat $f; done > y11' && inputs y11 'a b'
	check "$sh: a loop"
	rec $sh -c 'cat a > y12 & cat b > y13; wait' && inputs y12 a && inputs y13 b
	check "$sh: in the background"
	rec $sh -c 'read x < a; exec 3> y14; cat b >&3' && inputs y14 b
	check "$sh: a descriptor by number"
	rm -f y*
done
printf '#!/bin/sh\nread x < a\ncat b > y1\n' >s.sh
chmod +x s.sh
rec ./s.sh && inputs y1 b && cmd 0 why y1 && says "$out" 'in s.sh from b@{1} by'
check 'a script is named as where it was done'
cat >copy.py <<'END'
print(open('a').read())
END
rec sh -c "read x < c; $PYTHON -I copy.py > y2" && inputs y2 'a copy.py'
check 'a script of Python'
cat >both.py <<'END'
import subprocess, sys
sys.stdout.write(open('a').read()); sys.stdout.flush()
subprocess.run(['cat', 'b'])
END
rec sh -c "$PYTHON -I both.py > y3" && cmd 0 why y3 && says "$out" 'python3 -I both.py' && says "$out" 'a@{1}' && says "$out" 'b@{1}' &&
	cmd 0 lineage y3 && says "$out" 'a@{1}' && says "$out" 'b@{1}'
check 'a program that writes and lets another write: the lineage has both'
cat >other.py <<'END'
import os, subprocess
os.write(2, open('a').read().encode())
subprocess.run(['cat', 'b'])
END
rec sh -c "$PYTHON -I other.py > y4" && inputs y4 b && cmd 0 why y4 && says "$out" 'made by cat b in'
check 'a program that writes elsewhere and lets another write'
finish

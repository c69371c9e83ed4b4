#!/bin/sh
# What a program reads after it has written the last byte of a file did not go into the file, though the file is still open and no time
# has passed.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for name in early late; do
	echo $name >$name
done
cat >write.py <<'END_PY'
import sys
o = open('out', 'w')
for word in sys.argv[1:]:
    if word == 'write':
        o.write('x')
        o.flush()
    else:
        with open(word) as f:
            f.read()
o.close()
END_PY

# sources: which of early and late the output may have come from; a `?` behind what is not certain
sources()
{
	jq -r --arg work "$T/work/" '([.edges[] | select(.type == "used") | {(.to): .certainty}] | add) as $sure |
		.entities[] | select(.path == $work + "early" or .path == $work + "late") | (.path | ltrimstr($work)) + (if $sure[.id] == "must" then "" else "?" end)' "$out" |
		sort | tr '\n' ' '
	rm -f out
}
# came FROM WORDS...: the program does these, and its output came from FROM
came()
{
	from=$1
	shift
	cmd 0 run -q -- $PYTHON -S write.py "$@" || return 1
	cmd 0 lineage --json out
	got=$(sources)
	[ "$got" = "$from " ] || { echo "'$got', not '$from '" >"$err"; false; }
}

# Without times that are fine nobody can say.
version=$(uname -r)
major=${version%%.*} minor=${version#*.}
minor=${minor%%[!0-9]*}
case $(stat -f -c %T .) in
ext2/ext3 | xfs | btrfs | tmpfs) fine=1 ;;
*) fine= ;;
esac
if [ "$major" -lt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -lt 13 ]; } || [ -z "$fine" ]; then
	skip 'the last write' 'times of files are coarse here (Linux before 6.13, or another file system)'
else
	came early early write late
	check "read after the last write"
	came 'early late' early write late write
	check "read before the last write"
	came 'early late' late early write
	check "both read before"
	came early early write late late late
	check "the same file again and again"
	came 'early late' early write early write late write
	check "written again and again"
fi

finish

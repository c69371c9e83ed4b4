#!/bin/sh
# What shows that a file was read: opened, mapped, read or counted (doc/graph.md, rule 7), and the walk that follows only
# what was read.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

echo a >in
echo b >unread
echo prog >mapped
cat >map.py <<'END_PY'
import mmap
with open('mapped', 'r+b') as f, mmap.mmap(f.fileno(), 0) as m, open('unread'), open('out', 'w') as o:
    o.write('1')
END_PY

# evidence FILE: of the latest run's uses of it
evidence()
{
	cmd 0 sql --csv "SELECT DISTINCT u.evidence FROM edge u JOIN version v ON v.id = u.to_id JOIN file f ON f.id = v.file
	       JOIN execution x ON x.id = u.from_id WHERE u.type = 'used' AND f.path LIKE '%/$1' AND f.kind = 'regular' AND x.run =
	       (SELECT id FROM run ORDER BY began DESC LIMIT 1) ORDER BY 1"
	got=$(tail -n +2 "$out" | tr -d '\r"' | tr '\n' ' ')
	[ "$got" = "$2 " ] || { echo "$1: '$got', not '$2'" >"$out"; false; }
}
# only OPTION FILE NAMES: which of in, unread and mid the lineage names
only()
{
	cmd 0 lineage --json $1 "$2" || return 1
	$PYTHON - "$out" "$3" <<'END_PY'
import json, os, sys
with open(sys.argv[1]) as f:
    answer = json.load(f)
got = sorted({os.path.basename(e['path']) for e in answer['entities'] if e.get('path')} & {'in', 'unread', 'mid'})
uses = [e for e in answer['edges'] if e['type'] == 'used']
assert got == sys.argv[2].split(), (got, sys.argv[2])
assert all(e['evidence'] in ('opened', 'mapped', 'read', 'counted') for e in uses), uses
assert not any('evidence' in e for e in answer['edges'] if e['type'] != 'used'), answer['edges']
left = answer['omitted']['unread']
assert ('unread' in got or 'in' in got or left > 0) and (not sys.argv[2] or left >= 0), answer['omitted']
END_PY
}

cmd 0 run -- sh -c 'cat in >mid; cat mid >out; exec 3<unread'
check 'a run that counts nothing'
evidence in opened
check 'a file that a program opened by itself may not have been read'
only --certain out 'in mid' && only --certain=read out ''
check '--certain=read leaves it out'
grep -q '"unread": *[1-9]' "$out"
check 'and says how many it left out'
cmd 0 lineage --certain=read out && grep -q 'opened and may not have been read (shown by --certain without =read)' "$out"
check 'in words, too'

if "$STEMMA" run --count -- cat in >/dev/null 2>&1 && cmd 0 sql --csv "SELECT count(*) FROM access WHERE bytes_read = 2" &&
   [ "$(tail -n 1 "$out" | tr -d '\r')" != 0 ]; then
	cmd 0 run --count -- sh -c 'cat in >mid; cat mid >out; exec 3<unread'
	check 'a run that counts'
	evidence in counted
	check 'bytes that were counted'
	only --certain=read out 'in mid'
	check '--certain=read goes through counted bytes'
else
	skip 'counted bytes' 'this machine cannot count'
fi

$PYTHON -c 'import mmap' 2>/dev/null && cmd 0 run -- $PYTHON map.py && evidence mapped mapped
check 'memory that is shared with a file'
evidence map.py opened
check 'a script that an interpreter opened'

cmd 0 run -- sh -c 'cat in <unread >out'
evidence unread opened
check 'what a shell opened for a program may not have been read'
only --certain=read out ''
check '--certain=read leaves it out'

cmd 0 run -- cat in && evidence 'bin/cat' read
check 'a program that ran was read'
cmd 0 show @ && grep -q '/in@{.*' "$out"
cmd 2 lineage --certain=never out
check 'another word is refused'
finish

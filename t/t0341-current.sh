#!/bin/sh
# Which of the versions that are listed are still there: overwritten, replaced, removed, renamed; whatever order logs come in.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
marks()
{ # WANT: of the entities in the output, those that are no more
	got=$(jq -r '[.entities[] | select(.current == false) | (.path | sub(".*/"; "")) + "@\(.version)"] | sort | join(" ")' "$out")
	[ "$got" = "$1" ] || {
		echo "no more current are '$got', not '$1'" >>"$err"
		return 1
	}
}

echo 1 >in
rec sh -c 'for o in kept over moved gone place; do cat in > $o; done; cat in > t'
rec sh -c 'echo new > over; mv moved there; rm gone; mv t t.old; echo new > new; mv new place'
cmd 0 find 'used in@{1}' && is "$out" 'gone@{1}  (removed since)
kept@{1}
over@{1}  (replaced since)
place@{1}  (replaced since)
t.old@{1}
there@{1}'
check 'what was overwritten, replaced or removed is marked'
cmd 0 find --json 'used in@{1}' && marks 'gone@1 over@1 place@1' && json '[.entities[] | has("current")] | all'
check 'and in the JSON'
cmd 0 find --jsonl 'used in@{1}' && lines "$out" 6 && [ "$(jq -c .current "$out" | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = ' 3 false; 3 true;' ]
check 'line by line'
cmd 0 find 'path place' && is "$out" 'place@{1}  (replaced since)
place@{1}'
check 'two files of one name'
cmd 0 find -0 'used in@{1}' && [ "$(tr '\0' '\n' <"$out" | grep -c since)" = 0 ]
check '--null has the paths only'
cmd 0 lineage --down 'in@{1}' && grep -q 'over@{1}.*, replaced since)' "$out" && grep -q 'gone@{1}.*, removed since)' "$out" && ! grep -q 'kept.*since' "$out" &&
	cmd 0 lineage --down --json 'in@{1}' && marks 'gone@1 over@1 place@1' && cmd 0 lineage --down --format dot 'in@{1}' && [ "$(grep -c 'since' "$out")" = 3 ]
check 'descendants'
cmd 0 show @~1 && grep -q 'over@{1}.*, replaced since)' "$out" && ! grep -q 'kept.*since' "$out"
check 'what a run made'
rec sh -c 'cat over; cat kept >> over'
cmd 0 find 'path over' && is "$out" 'over@{1}  (replaced since)
over@{2}  (replaced since)
over@{3}'
check 'what was appended to'

# A rebuild, and two logs in both orders: one answer.
cmd 0 find --all --json 'path *' && jq -S . "$out" >"$T/before" && cmd 0 index --rebuild && cmd 0 find --all --json 'path *' &&
	jq -S . "$out" | cmp -s - "$T/before"
check 'after a rebuild'
rm -rf "$STEMMA_HOME"
history <<'END'
for i, name in enumerate(('1', '0')):
    h = History('01CCCCCCCCCCCCCCCCCCCCCCC%d' % i, argv=['x'], start=1000 * i, boot='b1')
    h.pids += 100 * i
    p = h.process(); h.exec(p, ['x'], exe='/usr/bin/x')
    h.write(p, h.file('/w/o', ino=500 + i), size=1); h.write(p, h.file('/w/p', ino=600), size=1, mode=WRITE | TRUNC)
    h.write(p, h.file('/w/q%d' % i, ino=700 + i), size=1)
    h.exit(p); h.end()
    h.save(work, evtext, name)
END
for order in '0 1' '1 0' 'both'; do
	rm -rf "$STEMMA_HOME"
	mkdir -p "$STEMMA_HOME"
	for one in $order; do
		for f in "$T"/work/logs/*/*/*.stl; do
			rel=${f#"$T/work/"}
			case "$one ${f##*/}" in
			both* | "0 0.stl" | "1 1.stl") mkdir -p "$STEMMA_HOME/${rel%/*}" && cp "$f" "$STEMMA_HOME/$rel" ;;
			esac
		done
		cmd 0 index
	done
	cmd 0 find --json 'path /w/*' && jq -S -c '[.entities[] | [.id, .path, .version, .current]] | sort' "$out" >"$T/answer.${order% *}"
done
cmp -s "$T/answer.0" "$T/answer.1" && cmp -s "$T/answer.0" "$T/answer.both" && [ "$(jq -c '[.[] | .[1:]] | sort' "$T/answer.0")" = \
	'[["/w/o",1,false],["/w/o",1,true],["/w/p",1,false],["/w/p",2,true],["/w/q0",1,true],["/w/q1",1,true]]' ]
check 'logs in either order, or at once'
finish

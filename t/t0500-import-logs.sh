#!/bin/sh
# import: event logs of another machine; what is whole is taken in once, and joins what is here.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# Two laptops and one disk: ann's made the file, bob's read it. Each has its own record.
history <<'END'
def disk(h, path, **more):
    return h.file(path, ino=77, **more)
a = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['make-it'], host='anns', boot='ba')
p = a.process(); a.exec(p, ['make-it'], exe='/usr/bin/make-it')
a.write(p, disk(a, '/media/disk/data'), size=5); a.exit(p); a.end(); a.save(work + '/anns', evtext)
b = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['use-it'], host='bobs/../x', user='bob', boot='bb', start=1000)
p = b.process(); b.exec(p, ['use-it'], exe='/usr/bin/use-it')
b.read(p, disk(b, '/mnt/data')); b.write(p, b.file('/home/bob/result'), size=3); b.exit(p); b.end(); b.save(home, evtext)
b.save(work + '/bobs', evtext)
END
cmd 0 lineage /home/bob/result && says_not "$out" 'make-it'
check 'before: nothing is known of who made the file on the disk'
cmd 0 import anns && says "$out" 'anns: 1 of 1 frame added (1 session)' && [ ! -s "$err" ]
check 'a folder of logs'
cmd 0 lineage /home/bob/result && says "$out" 'make-it' && cmd 0 log && says "$out" 'AAAAAAAA' && says "$out" 'BBBBBBBB'
check 'two records of one shared disk are one'
cmd 0 why /home/bob/result && says "$out" '/mnt/data'
check 'why: by the name that it has here'
[ "$(find "$STEMMA_HOME/logs" -name '*.stl' -path '*/logs/anns/import/*' | wc -l)" = 1 ]
check 'it lies under the host that it came from'
[ -z "$(find "$STEMMA_HOME/logs/anns" -type d ! -perm 700 -o -type f ! -perm 600)" ]
check 'nobody else can read it'
find "$STEMMA_HOME/logs" -type f -exec cksum {} + | sort >before
cmd 0 import anns && says "$out" 'nothing new, all 1 frame (1 session) are present' && cmd 0 import anns/logs/h1/2026-01-01/0.stl anns "$STEMMA_HOME" &&
	find "$STEMMA_HOME/logs" -type f -exec cksum {} + | sort >after && cmp -s before after
check 'the same again adds nothing, wherever it comes from'
cmd 0 import --json anns && json '.format == 1 and (.imports | length) == 1 and .imports[0].kind == "log" and .imports[0].blocks == 1 and .imports[0].new_blocks == 0'
check 'import --json'

# The other way round, and into a record that is empty: the same graph.
dump()
{
	cmd 0 --store "$1" index --rebuild && cmd 0 --store "$1" lineage --json "$2" && jq -S '[.entities, .edges] | map(sort_by(tostring))' "$out" >"$3"
}
cmd 0 --store empty import bobs anns && dump empty /home/bob/result one && dump "$STEMMA_HOME" /home/bob/result two && cmp one two
check 'into a record that is not there yet: the same graph'
[ "$(ls -A empty/logs)" = "$(printf 'anns\nbobs_.._x')" ]
check 'a host cannot name a place outside of the record'

# Damage: what is whole is used, what is not is said.
printf 'rubbish in front' >torn.stl
cat anns/logs/h1/2026-01-01/0.stl >>torn.stl
head -c 100 bobs/logs/h1/2026-01-01/0.stl >>torn.stl
cmd 0 --store torn import torn.stl && says "$out" '1 of 1 frame added' && says "$err" '16 bytes were damaged and skipped' && says "$err" 'the last 100 bytes were an incomplete frame and skipped'
check 'damaged and torn: said, and passed over'
cmd 0 --store torn fsck && cmd 0 --store torn lineage /media/disk/data && says "$out" 'make-it'
check 'what was taken in is whole'
printf 'STL1 and nothing more' >bad.stl
cmd 1 --store none import bad.stl && says "$err" "'bad.stl' contains no event log" && [ ! -e none/logs ]
check 'a file without a whole block'
cmd 125 --store none import nosuch anns && says "$err" "cannot open 'nosuch'" && cmd 2 import && [ -d none/logs/anns ]
check 'what is not there, and what is'
mkdir links && ln -s "$T/work/anns" links/a && ln -s "$T/work/anns/logs/h1/2026-01-01/0.stl" links/b.stl
cmd 1 --store none import links && says "$err" 'skipped 1 symbolic link or folder nested too deeply'
check 'links in a folder are not followed'

# A log that grew: only what is behind is new. One that says otherwise is not believed.
history <<'END'
import copy
h = History('01GGGGGGGGGGGGGGGGGGGGGGGG', argv=['grows'], host='grown')
p = h.process(); h.exec(p, ['grows'], exe='/usr/bin/grows'); h.write(p, h.file('/w/first', ino=501), size=1)
h.save(work + '/grow1', evtext)
lie = copy.deepcopy(h)
h.write(p, h.file('/w/second', ino=502), size=2); h.exit(p); h.end()
h.save(work + '/grow2', evtext)
for line in lie.lines:
    if line.get('path') == '/w/first':
        line['path'] = '/w/forged'
lie.save(work + '/lie', evtext)
lie.lines = lie.lines[3:]
for line in lie.lines:
    line.pop('session')
lie.lines[0]['session'] = '%016x' % lie.session
lie.save(work + '/lie2', evtext)
END
cmd 0 --store g import grow1 && cmd 0 --store g import grow2 && says "$out" '1 of 1 frame added' && cmd 0 --store g show /w/second && cmd 0 --store g show /w/first
check 'a log that has grown'
cmd 0 --store g import lie && says "$err" 'skipped 1 frame that contradicts' && says "$out" 'nothing new' && cmd 0 --store g import lie2 && says "$err" 'skipped 1 frame that contradicts' &&
	cmd 1 --store g show /w/forged && cmd 0 --store g fsck
check 'a log that says otherwise is not believed'
# Nor one that forgets what others recorded. What it may forget is of its own host.
history <<'END'
own = History('01HHHHHHHHHHHHHHHHHHHHHHHH', argv=['recorded-here'], host='here')
p = own.process(); own.exec(p, ['recorded-here'], exe='/usr/bin/x'); own.exit(p); own.end()
own.save(work + '/h', evtext)
sessions = [own.session]
for host in ('third', 'fourth'):
    h = History('01JJJJJJJJJJJJJJJJJJJJJJ%02d' % len(host), argv=['of-' + host], host=host)
    p = h.process(); h.exec(p, ['of-' + host], exe='/usr/bin/x'); h.exit(p); h.end()
    h.save(work + '/of-' + host, evtext)
    sessions.append(h.session)
for name, host, dead in (('lie3', 'third', sessions[:1]), ('lie4', 'third', sessions[2:]), ('lie5', 'third', sessions[1:]), ('right', 'third', sessions[1:2])):
    k = History(host=host, session=hash_of(name))
    k.lines[0]['mode'] = 'keeping'
    for d in dead:
        k.add('tombstone', what=1, dead=d)
    k.end()
    k.save(work + '/' + name, evtext)
END
cmd 0 --store h log && cmd 0 --store h import of-third && cmd 0 --store h import of-fourth
refused=0
for lie in lie3 lie4 lie5; do cmd 0 --store h import $lie && says "$err" 'skipped 1 frame that would remove records of another host' 'hint: ' && says "$out" 'nothing new' || break; refused=$((refused + 1)); done
[ $refused = 3 ] && cmd 0 --store h log && says "$out" recorded-here && says "$out" of-third && says "$out" of-fourth && cmd 0 --store h import --json lie3 && json '.imports[0] | .forgetting_blocks == 1 and .new_blocks == 0'
check 'a log forgets nothing that another host, or this record, has recorded'
cmd 0 --store h import right && says "$out" '1 of 1 frame added' && cmd 0 --store h log && says "$out" recorded-here && says_not "$out" of-third && says "$out" of-fourth
check 'what it forgets of its own host goes'
# What was forgotten here does not come back.
cp -r "$STEMMA_HOME" kept && cmd 0 --store kept forget 01AAAAAAAAAAAAAAAAAAAAAAAA && cmd 0 --store kept import anns && says "$err" 'of forgotten records' &&
	! holds make-it kept/logs && cmd 0 --store kept log && says_not "$out" AAAAAAAA
check 'what was forgotten here does not come back'
finish

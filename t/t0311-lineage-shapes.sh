#!/bin/sh
# What a lineage looks like: the tree, marks, folding, gaps, dot, svg, the JSON's contract.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['./all.sh', 'x y'])
sh = h.process(); h.exec(sh, ['/bin/sh', './all.sh', 'x y'], exe='/usr/bin/dash', script='/w/all.sh')
a = h.process(sh); h.exec(a, ['sort', '-n', 'in.csv'], exe='/usr/bin/sort')
h.read(a, h.file('/usr/lib/libc.so.6')); h.read(a, h.file('/etc/passwd')); h.read(a, h.file('/w/none', ABSENT), api=1)
h.read(a, h.file('/w/in.csv', size=2048)); h.write(a, h.file('/w/mid'), size=5); h.exit(a)
b = h.process(sh); h.exec(b, ['join', 'mid', 'in.csv'], exe='/usr/bin/join')
h.read(b, h.file('/w/mid'), sure=0, via=DESCRIPTOR); h.read(b, h.file('/w/in.csv'))
h.write(b, h.file('/w/out'), size=7); h.add('gap', p=b, reason=2, count=1, text='io_uring')
h.exit(b, code=3)
h.exit(sh); h.end(); h.save(home, evtext)
END
cmd 0 lineage /w/out && is "$out" '/w/out@{1}  (7 B, 2026-01-01T00:00:49)
└─ join mid in.csv  (2026-01-01T00:00:38, 13.0 s, exit 3)
   ├─ ? /w/mid@{1}  (5 B, 2026-01-01T00:00:34)  via descriptor
   │  └─ sort -n in.csv  (2026-01-01T00:00:14, 21.0 s)
   │     └─ /w/in.csv@{1}  [1]  (2.0 KiB, 2025-12-31T23:59:59, external)
   └─ /w/in.csv@{1}  [1] above
+ 4 system files, 1 absent path (--all)
left out: 2 possible edges through fork or exec (--fork)
all by ann on h1
gaps:
  its use of io_uring was not observed, or only in part (join mid in.csv)'
check 'the tree'
cmd 0 lineage --bytes --depth 1 /w/out && says "$out" '2048 bytes' && says_not "$out" 'sort' && says "$out" 'there is more beyond depth 1'
check '--bytes and --depth'
cmd 0 lineage --all /w/out && says "$out" '/etc/passwd@{1}' && says "$out" 'absent /w/none' && says "$out" '/usr/bin/join@{1}' && says_not "$out" '(--all)'
check '--all'
cmd 0 lineage --certain /w/out && says_not "$out" '/w/mid' && says "$out" 'left out: 1 possible edge (shown without --certain)'
check '--certain'
cmd 0 lineage --fork /w/out && says "$out" 'informed by' && says "$out" '/w/all.sh@{1}' && says_not "$out" '(--fork)'
check '--fork leads to the script'
cmd 0 lineage --down /w/in.csv && says "$out" '/w/out@{1}' && says "$out" '/w/mid@{1}' && says_not "$out" 'passwd'
check '--down'
LC_ALL=C cmd 0 lineage /w/out && says "$out" '`- join' && ! grep -q '├' "$out"
check 'without UTF-8 the branches are ASCII'
STEMMA_COLOR=always cmd 0 lineage /w/out && grep -q "$(printf '\033\\[')" "$out" && cmd 0 lineage /w/out && ! grep -q "$(printf '\033')" "$out"
check 'colour only where it is wanted'

cmd 0 lineage --json /w/out && json '.format == 1 and (.root | startswith("v"))' &&
	json '[.entities[] | has("id","path","version","size","time","origin")] | all' &&
	json '[.executions[] | has("id","run","pid","exe","argv","cwd","user","group","host","start","end","exit","completeness")] | all' &&
	json '[.edges[] | has("type","from","to","certainty")] | all' &&
	json '[.omitted | has("system","fork","shm","sync")] | all' && json '.omitted.system == 4 and .omitted.fork == 2'
check 'the fields of the JSON'
json '.executions[] | select(.argv[0] == "join") | .exit == {"status":3} and .completeness == ["io_uring"] and .run == "01AAAAAAAAAAAAAAAAAAAAAAAA"'
check 'an execution'
json '.entities[] | select(.path == "/w/in.csv") | .size == 2048 and .origin == "external" and .mtime == "2025-12-31T23:59:59.000000000Z" and (.inode | type) == "string"'
check 'an entity'
# shellcheck disable=SC2016 # jq's variable
json '. as $all | [.edges[] | select(.type == "used" and .certainty == "may")] | length == 1 and .[0].via == "descriptor" and
	(.[0].from | startswith("x")) and (.[0].to as $to | $all.entities[] | select(.id == $to) | .path) == "/w/mid"'
check 'from is the later thing, to the earlier'
json '[.edges[] | select(.type == "wasGeneratedBy") | (.from | startswith("v")) and (.to | startswith("x")) and (.time | length) == 2] | length == 2 and all'
check 'generations, with their time'
json '[.agents[] | .kind + ":" + .name] | contains(["user:ann", "program:/usr/bin/join"])'
check 'agents'

cmd 0 lineage --format dot /w/out && says "$out" 'digraph' && says "$out" 'style=dashed' && [ "$(grep -c ' -> ' "$out")" = 5 ]
check 'dot'
cmd 0 lineage --format svg /w/out && says "$out" '<svg' && says "$out" 'join mid in.csv' && says "$out" '</svg>'
check 'svg'

# A chain of 3000 and a fan of 300: what is too deep is printed as trees of their own, and nothing is recursed into.
# Files of its own: the histories before have used the first inodes.
history <<'END'
import history; history._inodes[0] = 100000
h = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['./deep.sh'], start=10000)
sh = h.process(); h.exec(sh, ['deep.sh'], exe='/w/deep')
for i in range(3000):
    p = h.process(sh); h.exec(p, ['step', str(i)], exe='/usr/bin/step')
    h.read(p, h.file('/w/c/%d' % i)); h.write(p, h.file('/w/c/%d' % (i + 1)), size=1); h.exit(p)
p = h.process(sh); h.exec(p, ['fan'], exe='/usr/bin/fan')
for i in range(300):
    h.read(p, h.file('/w/f/%d' % i))
h.write(p, h.file('/w/fan'), size=1); h.exit(p)
h.exit(sh); h.end(); h.save(home, evtext)
END
cmd 0 lineage --lines 0 /w/c/3000 && [ "$(grep -c 'step [0-9]' "$out")" -ge 3000 ] && says "$out" '/w/c/0@{1}' && says "$out" ' below' && ! grep -q '^.\{200\}' "$out"
check 'a chain of 3000'
cmd 0 lineage --json /w/c/3000 && json '(.executions | length) == 3000 and (.entities | length) == 3001'
check 'its JSON'
cmd 0 lineage /w/fan && lines "$out" 9 && says "$out" "297 more like these" && cmd 0 lineage --all /w/fan && [ "$(grep -c "/w/f/" "$out")" = 300 ]
check 'a fan of 300'
finish

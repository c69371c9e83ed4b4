#!/bin/sh
# lineage as a picture that people publish: what is alike is one box, stages are frames, nothing is lost or covered, names are
# hostile, light and dark; png and pdf by a converter.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# drawn ARGUMENT... <PYTHON: the picture of `stemma lineage --format svg ARGUMENT...` is in $T/drawn.svg, and as p in Python
drawn()
{
	{
		echo "import sys; sys.path.insert(0, '$here/t'); from picture import *; T = '$T'; p = Picture(T + '/drawn.svg')"
		cat
	} >"$T/look.py"
	"$STEMMA" lineage --format svg "$@" >"$T/drawn.svg" 2>"$err" && $PYTHON -B "$T/look.py" >"$out" 2>"$err"
}

# 16 samples that go the same way and one that does not.
history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAWAYS', argv=['./all.sh'])
top = h.process(); h.exec(top, ['./all.sh'], exe='/usr/bin/dash', script='/w/all.sh')
for i in range(17):
    t = h.process(top); h.exec(t, ['trim', 'raw/s%02d.fq' % i], exe='/usr/bin/trim')
    h.read(t, h.file('/w/raw/s%02d.fq' % i, size=9)); h.write(t, h.file('/w/trim/s%02d.fq' % i), size=8); h.exit(t)
    a = h.process(top); h.exec(a, ['map', 'trim/s%02d.fq' % i], exe='/usr/bin/map')
    b = h.process(top); h.exec(b, ['sort', '-k1'], exe='/usr/bin/sort')
    h.read(a, h.file('/w/trim/s%02d.fq' % i)); h.read(a, h.file('/w/ref.fa', size=5))
    if i == 7: h.read(a, h.file('/w/extra.txt', size=3), sure=0)
    pipe = h.file('pipe:[%d]' % (100 + i), kind=3)
    h.write(a, pipe, mode=2); h.read(b, pipe)
    h.write(b, h.file('/w/map/s%02d.bam' % i), size=7); h.exit(a); h.exit(b)
m = h.process(top); h.exec(m, ['merge'], exe='/usr/bin/merge')
for i in range(17): h.read(m, h.file('/w/map/s%02d.bam' % i))
for name in ('a.x', 'b/c.y', 'd.z', 'e.w', 'f.v', 'g.u', '<img src=x onerror=alert(1)>&"\'', 'tab\there\x1b[31m', '\u202egnp.exe', ']]>', 'x' * 90, 'ä日🧬' * 20): h.read(m, h.file('/w/in/' + name, size=1))
h.read(m, h.file(b'/w/in/\xff\xfe.x', size=1))
h.write(m, h.file('/w/all.txt'), size=6); h.exit(m); h.exit(top); h.end(); h.save(home, evtext)
END
drawn /w/all.txt <<'END'
assert len(p.boxes) < 22, len(p.boxes)
[raw] = [b for b in p.named('raw/s00.fq') if 'source' in b.kind]
assert any('s16.fq' in t for t in raw.names) and '16 files, alike' in raw.names and raw.rects == 3, raw
[other] = [b for b in p.named('raw/s07.fq') if 'source' in b.kind]
assert other.rects == 1, other
assert '16 programs, alike' in p.named('trim raw/s00.fq')[0].names and '16 programs, alike' in p.named('map trim/s00.fq')[0].names
assert not [b for b in p.boxes if 'stream' in b.kind], 'a pipe is a link'
[lists] = p.named('not named here')
assert any(t.startswith('8 files, 3 not named') for t in lists.names), lists
assert [b for b in p.boxes if 'root' in b.kind] == [b for b in p.named('/w/all.txt') if 'file' in b.kind]
END
check 'what is alike is one box, what is not has its own; files of one program are a list'
drawn /w/all.txt <<'END'
flat = [b for b in p.boxes if b.kind != 'frame']
for i, a in enumerate(flat):
    for b in flat[:i]:
        assert a.x + a.w <= b.x or b.x + b.w <= a.x or a.y + a.h <= b.y or b.y + b.h <= a.y, (a, b)
assert p.links and all(a[1] < b[1] for _, a, b in p.links)
def met(at, low): return [b for b in p.boxes if b.x - 1 <= at[0] <= b.x + b.w + 1 and abs(at[1] - b.y - (b.h if low else 0)) < 0.2]
assert all(met(a, True) and met(b, False) for _, a, b in p.links)
assert {'possible' in kind for kind, a, b in p.links} == {True, False}
assert all(0 <= b.x and b.x + b.w <= p.width and b.y + b.h <= p.height for b in p.boxes)
assert all(len(t) <= 37 for b in p.boxes for t in b.names), [t for b in p.boxes for t in b.names if len(t) > 37]
for row in ('file from outside', 'program', 'several that are alike', 'what was asked for', 'data flowed', 'only possible'): assert row in p.words(), row
assert 'stage of a workflow' not in p.words() and 'prefers-color-scheme: dark' in p.said(p.of('style')[0])
END
check 'no box covers another, links go down from box to box, the legend has what there is; light and dark'
for all in '' --all; do
	# shellcheck disable=SC2086 # none, or a word
	drawn $all /w/all.txt <<'END' || break
assert '<img' not in p.text and not set('\x1b\u202e\t') & set(''.join(p.words() + [p.said(t) for t in p.of('title')])) and not p.of('script') and not p.of('image')
assert not [a for e in p.of('*') for a in e.attributes.keys() if a.startswith('on') or a == 'href']
END
done
check 'hostile names are texts'
"$STEMMA" lineage --all --json /w/all.txt | jq '(.entities | length) + (.executions | length)' >"$T/n" && drawn --all /w/all.txt <<'END'
assert len(p.boxes) == int(open(T + '/n').read()), len(p.boxes)
END
check '--all: a box for each'
drawn --down /w/ref.fa <<'END'
[root] = [b for b in p.boxes if 'root' in b.kind]
assert p.named('/w/ref.fa') == [root] and root.y == min(b.y for b in p.boxes) and p.named('/w/all.txt') and all(a[1] < b[1] for _, a, b in p.links)
END
check '--down: what was asked for stands above'
cmd 0 lineage --format svg /w/all.txt && cp "$out" "$T/once.svg" && cmd 0 lineage --format svg /w/all.txt && cmp "$out" "$T/once.svg" 2>"$err"
check 'the same each time'

# ---- stages ----

rm -rf "$STEMMA_HOME"
history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAMAKE', argv=['make'])
top = h.process(); h.exec(top, ['make'], exe='/usr/bin/make')
for i in range(5):
    sh = h.process(top); h.exec(sh, ['/bin/sh', '-c', 'a | b'], exe='/usr/bin/dash')
    a = h.process(sh); h.exec(a, ['grep', 'x', 'in%d' % i], exe='/usr/bin/grep'); b = h.process(sh); h.exec(b, ['sort'], exe='/usr/bin/sort')
    pipe = h.file('pipe:[%d]' % (100 + i), kind=3)
    h.read(a, h.file('/w/in%d.txt' % i, size=3)); h.write(a, pipe, mode=2); h.read(b, pipe)
    h.write(b, h.file('/w/tmp%d.txt' % i), size=2); h.exit(a); h.exit(b)
    c = h.process(sh); h.exec(c, ['uniq'], exe='/usr/bin/uniq'); h.read(c, h.file('/w/tmp%d.txt' % i)); h.write(c, h.file('/w/out%d.txt' % i), size=2); h.exit(c); h.exit(sh)
t = h.process(top); h.exec(t, ['cat'], exe='/usr/bin/cat')
for i in range(5): h.read(t, h.file('/w/out%d.txt' % i))
h.write(t, h.file('/w/all'), size=9); h.exit(t); h.exit(top); h.end(); h.save(home, evtext)
END
drawn /w/all <<'END'
frames = [b for b in p.boxes if b.kind == 'frame']
many = [f for f in frames if len(p.inside(f)) > 1]
assert many, p.boxes
for f in many:
    assert sorted(b.names[0].split()[0].split('@')[0].split('/')[-1][:3] for b in p.inside(f)) == ['gre', 'sor', 'tmp', 'uni'], p.inside(f)
assert len(many) == 5 or len(many) == 1 and many[0].rects == 3 and all('one in each' in b.names for b in p.inside(many[0])), frames
END
check 'programs of a stage stand in a frame, with the files that only they know'
drawn --stages /w/all <<'END'
assert [b for b in p.boxes if b.kind == 'stage'] and not [b for b in p.boxes if b.kind == 'frame'], p.boxes
END
check '--stages: a box for each stage'

# ---- too many, and other formats ----

rm -rf "$STEMMA_HOME"
history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAALONG', argv=['make'])
top = h.process(); h.exec(top, ['make'], exe='/usr/bin/make')
for i in range(1200):
    t = h.process(top); h.exec(t, ['step', str(i)], exe='/usr/bin/step')
    h.read(t, h.file('/w/f%d' % i, size=None if i else 1)); h.write(t, h.file('/w/f%d' % (i + 1)), size=2); h.exit(t)
h.exit(top); h.end(); h.save(home, evtext)
END
cmd 125 lineage --format svg /w/f1200 && says "$err" 'boxes' && says "$err" '--depth' && [ ! -s "$out" ] && cmd 0 lineage --depth 20 --format svg /w/f1200 && says "$out" '</svg>'
check 'too many boxes are no picture'
mkdir -p "$T/bin" "$T/none"
# shellcheck disable=SC2016 # the script's own $1
printf '#!/bin/sh\necho "$1" >"%s"; cat >"%s"; echo drawn\n' "$T/asked" "$T/given" >"$T/bin/rsvg-convert" && chmod +x "$T/bin/rsvg-convert"
old=$PATH
PATH=$T/bin:$old
cmd 0 lineage --depth 2 --format pdf /w/f9 && [ "$(cat "$out")" = drawn ] && [ "$(cat "$T/asked")" = --format=pdf ] && cmd 0 lineage --depth 2 --format svg /w/f9 && cmp "$out" "$T/given" 2>"$err"
check 'png and pdf are made of the same picture'
printf '#!/bin/sh\nexit 3\n' >"$T/bin/rsvg-convert"
cmd 125 lineage --depth 2 --format png /w/f9 && says "$err" 'status 3' && PATH=$T/none && ! "$STEMMA" lineage --depth 2 --format png /w/f9 >"$T/none.png" 2>"$err"
PATH=$old
[ ! -s "$T/none.png" ] && says "$err" 'librsvg2-bin'
check 'without a converter, and with one that fails'
if command -v rsvg-convert >/dev/null; then
	cmd 0 lineage --depth 2 --format png /w/f9 && [ "$(head -c 8 "$out" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] && cmd 0 lineage --depth 2 --format pdf /w/f9 && [ "$(head -c 5 "$out")" = %PDF- ]
	check 'rsvg-convert makes a PNG and a PDF of it'
else
	skip 'rsvg-convert makes a PNG and a PDF of it' 'it is not installed'
fi
finish

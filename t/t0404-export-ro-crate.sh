#!/bin/sh
# export: Process Run Crates, as directories and archives, with and without files.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

crate()
{ # CRATE ARG...: exports it and PROV-JSON of the same, and holds one against the other
	to=$1
	shift
	cmd 0 export -f prov-json -o "$T/all.json" "$@" && cmd 0 export -f ro-crate -o "$to" "$@" && $PYTHON -B "$here/t/export_check.py" crate "$to" "$T/all.json" >"$out" 2>"$err"
}
id()
{ # NAME: the @id of the entity of that name in crate $T/files
	jq -r --arg n "$1" '.["@graph"][] | select(.name == $n) | .["@id"]' "$T/files/ro-crate-metadata.json"
}

history <<'END'
from export_record import *
make(home, evtext)
END
crate "$T/all"
check 'everything'
crate "$T/everything" --all --fork
check 'everything, with the system files'
crate "$T/part" --certain '/w/top.csv@{1}' && is "$out" '2 actions, 2 files'
check 'a lineage'
rm -rf "$STEMMA_HOME"

# Files that are there, some of them as recorded.
mkdir -p sub "$T/work/a b" && printf 'input\n' >in && printf 'made\n' >'a b/100%.txt' && printf 'x\n' >changed && printf 'y\n' >touched && printf 'z' >'sub/é' && printf 'twice' >twice && printf 'q' >"$(printf 'q\377')" &&
	ln -s in link && printf 'l' >target && touch -d 2026-01-01T00:00:00.123456789Z in 'a b/100%.txt' changed touched sub/é twice "$(printf 'q\377')" target
history <<'END'
import os, stat
h = History('01EEEEEEEEEEEEEEEEEEEEEEEE', argv=['make it'])
p = h.process(); h.exec(p, ['make', 'it'], exe='/usr/bin/make')
def of(name):
    st = os.stat(os.path.join(os.fsencode(work), os.fsencode(name)))
    return dict(size=st.st_size, mtime=st.st_mtime_ns)
w = os.fsencode(work) + b'/'
h.read(p, h.file(w + b'in', **of('in')))
f = h.file(w + b'twice'); h.write(p, f, size=1); h.read(p, f); h.write(p, f, mode=WRITE, **of('twice'))
for name in (b'a b/100%.txt', b'changed', b'touched', 'sub/é'.encode(), b'q\xff', b'target'):
    h.write(p, h.file(w + name), **of(name))
h.write(p, h.file(w + b'gone'), size=3)
h.write(p, h.file(w + b'link'), **of('in'))
h.write(p, h.file(w + b'../work/in'), **of('in'))
h.exit(p); h.end(); h.save(home, evtext)
END
echo more >>changed && touch -d 2026-01-01T00:00:00.123456780Z touched
crate "$T/without" && [ "$(find "$T/without" -type f | wc -l)" = 1 ]
check 'without --files there are none'
crate "$T/files" --files && find "$T/files" -type f -printf '%P\n' | sort >"$out" && (cd "$T/files" && LC_ALL=C ls "files$T/work") >"$out" && is "$out" "a b
in
$(printf 'q\377')
sub
target
twice" && cmp in "$T/files/files$T/work/in" && cmp 'a b/100%.txt' "$T/files/files$T/work/a b/100%.txt" && cmp sub/é "$T/files/files$T/work/sub/é"
check '--files: those that are as recorded, byte by byte'
[ "$(id "$T/work/a b/100%.txt@{1}")" = "files$T/work/a%20b/100%25.txt" ] && [ "$(id "$T/work/sub/é@{1}")" = "files$T/work/sub/%C3%A9" ] && id "$T/work/twice@{2}" | grep -q '^files/' && id "$T/work/twice@{1}" | grep -q '^urn:stemma:id:v'
check '--files: their names'
unsaid=
for f in changed touched gone link; do
	jq -r --arg n "$T/work/$f@{1}" '.["@graph"][] | select(.name == $n) | .description' "$T/files/ro-crate-metadata.json" >"$out"
	says "$out" 'not in the crate: ' || unsaid="$unsaid $f"
done
[ -z "$unsaid" ]
check '--files: those that are not say so'
[ -z "$(find "$T" -path "$T/files/*" -name '*..*')" ] && ! find "$T/files" -type l | grep -q .
check 'nothing outside of the crate, and no links'

# A record of somebody else names a file that the user alone may read, as it is: size and time can be seen by others.
mine=$STEMMA_HOME
STEMMA_HOME=$T/theirs
printf 'secret' >private && chmod 600 private
history <<'END'
import os
h = History('01FFFFFFFFFFFFFFFFFFFFFFFF', argv=['make it'])
p = h.process(); h.exec(p, ['make', 'it'], exe='/usr/bin/make')
for name in ('private', 'target'):
    st = os.stat(work + '/' + name)
    h.write(p, h.file(work + '/' + name), size=st.st_size, mtime=st.st_mtime_ns)
h.exit(p); h.end(); h.save(home, evtext)
END
crate "$T/received" --files && [ -e "$T/received/files$T/work/target" ] && ! [ -e "$T/received/files$T/work/private" ] && grep -q 'it is not public, and not all of the record is your own' "$T/received/ro-crate-metadata.json"
check '--files: of a received record no private files'
STEMMA_HOME=$T/own
if cmd 0 run -q -- sh -c 'umask 077; echo mine >mine.txt' && [ -s "$STEMMA_HOME/marks" ]; then
	crate "$T/kept" --files && [ "$(cat "$T/kept/files$T/work/mine.txt")" = mine ]
	check '--files: of an own one, them too'
else
	skip '--files: of an own one, them too' 'nothing can be recorded here'
fi
STEMMA_HOME=$mine
if "$STEMMA" doctor --json | jq -e '.checks[] | select(.name == "zip archives") | .state == "ok"' >"$out" 2>"$err"; then
	crate "$T/c.zip" --files && $PYTHON -c 'import sys, zipfile
print("\n".join(sorted(n.replace(sys.argv[2], "") for n in zipfile.ZipFile(sys.argv[1]).namelist())))' "$T/c.zip" "$T/work" >"$out" 2>"$err" && is "$out" 'files/a b/100%.txt
files/in
files/sub/é
files/target
files/twice
ro-crate-metadata.json'
	check 'a zip archive has the same, but for names that are not UTF-8'
	LC_ALL=C crate "$T/d.zip" --files
	check 'also where the locale is C'
	if command -v unzip >/dev/null; then
		unzip -tq "$T/c.zip" >"$out" 2>"$err"
		check 'unzip finds no fault'
	else
		skip 'unzip finds no fault' 'unzip is not installed'
	fi
	cmd 125 export -f ro-crate -o "$T/no/such.zip" && [ -z "$(find "$T" -name '*.zip.??????')" ]
	check 'mistakes leave no archive'
	mkdir "$T/e.zip"
	cmd 125 export -f ro-crate -o "$T/e.zip" && [ -d "$T/e.zip" ] && [ -z "$(find "$T" -name '*.zip.??????')" ]
	check '... nor does an archive that cannot get its name'
else
	skip 'zip archives' 'stemma was built without libarchive'
	cmd 125 export -f ro-crate -o "$T/c.zip" && says "$err" libarchive
	check 'without libarchive it says so'
fi
finish

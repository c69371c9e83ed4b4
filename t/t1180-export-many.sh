#!/bin/sh
# export: several documents that are checked, and many files that are put into a crate by few descriptors.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END2'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['make'])
p = h.process(); h.exec(p, ['make'], exe='/usr/bin/make')
h.read(p, h.file('/w/in', size=1)); h.write(p, h.file('/w/out'), size=2)
h.exit(p); h.end(); h.save(home, evtext)
END2

# What is wrong with one document is said under its name, also on standard output.
printf '{"prefix":{"x":"http://e/"},"wasDerivedFrom":{"_:1":{"prov:generatedEntity":"x:b","prov:usedEntity":"x:a"},"_:2":{"prov:generatedEntity":"x:a","prov:usedEntity":"x:b"}}}' >cycle.json
cmd 0 export -f prov-json -o good.json
cmd 1 export --check good.json cycle.json && says "$err" 'good.json: valid' && says "$err" 'cycle.json: 1 violation' && says "$out" 'cycle.json: ' && ! grep '^[^ ]' "$out" | grep -qv '^cycle.json: '
check 'several documents: each finding is under the name of its document'
rm -rf "$STEMMA_HOME"

# 90 files, each in two folders of its own, as they were recorded.
i=0
while [ $i -lt 90 ]; do
	mkdir -p "d$i/e" && echo "$i" >"d$i/e/f"
	i=$((i + 1))
done
touch -d 2026-01-01T00:00:00.123456789Z d*/e/f
history <<'END2'
import os
h = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['make', 'many'])
p = h.process(); h.exec(p, ['make', 'many'], exe='/usr/bin/make')
for n in range(90):
    path = '%s/d%d/e/f' % (work, n)
    st = os.stat(path)
    h.write(p, h.file(path), size=st.st_size, mtime=st.st_mtime_ns)
h.exit(p); h.end(); h.save(home, evtext)
END2
"$STEMMA" index >/dev/null
(ulimit -n 60 && exec "$STEMMA" export -f ro-crate --files -o crate) 2>"$err" && [ "$(find crate -name f -type f | wc -l)" = 90 ] && cmp d89/e/f "crate/files$T/work/d89/e/f"
check 'a crate of more files than there are descriptors'
if "$STEMMA" doctor --json | jq -e '.checks[] | select(.name == "zip archives") | .state == "ok"' >"$out" 2>"$err"; then
	(ulimit -n 60 && exec "$STEMMA" export -f ro-crate --files -o crate.zip) 2>"$err" && [ "$($PYTHON -c 'import sys, zipfile
print(sum(n.endswith("/f") for n in zipfile.ZipFile(sys.argv[1]).namelist()))' crate.zip)" = 90 ]
	check 'the same as an archive'
else
	skip 'the same as an archive' 'built without libarchive, or it is not installed'
fi
echo more | tee -a d*/e/f >/dev/null
(ulimit -n 60 && exec "$STEMMA" export -f ro-crate --files -o without) 2>"$err" && [ "$(find without -name f -type f | wc -l)" = 0 ] && [ "$(jq '[.["@graph"][] | select(.description? // "" | startswith("not in the crate"))] | length' without/ro-crate-metadata.json)" = 90 ]
check 'none of them as recorded: each is looked at, and left out with a reason'
finish

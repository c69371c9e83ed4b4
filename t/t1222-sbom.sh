#!/bin/sh
# stemma export -f cyclonedx, spdx: bills of materials of a result, held to their formats; the packages are those that dpkg says, of
# files that still are as recorded; equal records give equal documents.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$T/w/bin" && cd "$T/w" || exit 1
cp "$(command -v uniq)" bin/myuniq
printf 'b\na\nb\n' >in.txt
cat >fit.py <<'E'
import json, sys
open(sys.argv[2], 'w').write(json.dumps(open(sys.argv[1]).read()))
E
cat >run.sh <<'E'
#!/bin/sh
sort in.txt | bin/myuniq -c >u.txt
"$PYTHON" fit.py u.txt out.json
cat in.txt >other.txt
E
chmod +x run.sh
PYTHON=/usr/bin/python3
export PYTHON
cmd 0 run -q -- ./run.sh
check 'a run'

for kind in cyclonedx spdx; do
	cmd 0 export -f $kind out.json && cp "$out" "$T/$kind.json" && $PYTHON "$here/t/sbom.py" $kind "$T/$kind.json" >"$out" 2>"$err"
	check "$kind is as the format wants it"
	if says "$out" schema 2>/dev/null; then
		check "$kind is valid by the published schema"
	else
		skip "$kind is valid by the published schema" 'SBOM_SCHEMAS names no folder with it'
	fi
	cmd 0 export -f $kind out.json && cmp -s "$out" "$T/$kind.json"
	check "$kind twice is the same"
	cmd 0 index --rebuild && cmd 0 export -f $kind out.json && cmp -s "$out" "$T/$kind.json"
	check "$kind is the same with an index made anew"
	cmd 0 export -f $kind other.txt && ! cmp -s "$out" "$T/$kind.json" && says_not "$out" fit.py
	check "$kind of another result is another one, without what did not make it"
done

# The truth by hand: what dpkg says of the files.
package_of()
{
	p=$(dpkg-query -S "$1" 2>/dev/null || dpkg-query -S "${1#/usr}" 2>/dev/null) || return 1
	dpkg-query -W -f '${Package} ${Version}' "${p%%: /*}"
}
if sort=$(package_of "$(readlink -f "$(command -v sort)")") && python=$(package_of "$(readlink -f $PYTHON)"); then
	cp "$T/cyclonedx.json" "$out"
	for p in "$sort" "$python"; do
		json "[.components[] | select(.type == \"application\") | .name + \" \" + .version] | index(\"$p\") != null"
		check "CycloneDX has $p as an application"
	done
	json '[.components[] | select(.type == "application").components[].name] | any(endswith("/sort"))'
	check 'with the program in it'
	json '[.components[] | select(.type == "library")] | any(.name | startswith("libc6")) and all(.purl | startswith("pkg:deb/"))'
	check 'and the C library as a library'
	cp "$T/spdx.json" "$out"
	json "[.packages[] | .name + \" \" + (.versionInfo // \"\")] | (index(\"$sort\") != null) and (index(\"$python\") != null)"
	check 'SPDX has them, too'
else
	skip 'packages by dpkg' 'sort or python3 is of no package here'
fi
cp "$T/cyclonedx.json" "$out"
h=$(sha256sum bin/myuniq | cut -d ' ' -f 1)
json ".components | map(select(.name | endswith(\"/bin/myuniq\")))[0] | .type == \"file\" and .hashes[0].content == \"$h\"
  and (.properties | map(select(.name == \"stemma:package_unknown\"))[0].value == \"no-package\")"
check 'a program of no package says so, with its digest'
json '.components | map(select(.type == "file") | .name | split("/")[-1]) | (index("run.sh") != null) and (index("fit.py") != null) and (index("in.txt") == null)'
check 'scripts are there, data are not'
json '.metadata.component.name | endswith("/out.json")'
check 'the result is what it is about'
h=$(sha256sum out.json | cut -d ' ' -f 1)
json ".metadata.component.hashes[0].content == \"$h\" and .compositions[0].aggregate == \"incomplete\""
check 'with its digest; that a package is unknown makes it incomplete'

cp bin/myuniq bin/new && mv bin/new bin/myuniq && echo changed >>out.json
cmd 0 export -f cyclonedx out.json@{1} && json '.components | map(select(.name | endswith("/bin/myuniq")))[0] | (.hashes == null)
  and (.properties | map(select(.name == "stemma:package_unknown"))[0].value == "changed")' && json '.metadata.component.hashes == null'
check 'of what was replaced since neither package nor digest is told'
cmd 0 export -f spdx out.json@{1} && $PYTHON "$here/t/sbom.py" spdx "$out" >"$err" 2>&1 && says "$out" 'no longer as recorded'
check 'in SPDX, too'
cmd 0 export -f cyclonedx @ && $PYTHON "$here/t/sbom.py" cyclonedx "$out" >"$err" 2>&1 && json '.metadata.component.type == "data"'
check 'of a whole run'
cmd 0 export -f spdx && $PYTHON "$here/t/sbom.py" spdx "$out" >"$err" 2>&1
check 'of the whole record'

evil=$(printf 'ev"il\\\n\033[31m\377.py')
cp fit.py "$evil"
cmd 0 run -q -- $PYTHON "$evil" in.txt evil.json
for kind in cyclonedx spdx; do
	cmd 0 export -f $kind evil.json && $PYTHON "$here/t/sbom.py" $kind "$out" >"$err" 2>&1 && says_not "$out" "$(printf '\033')"
	check "a hostile name in $kind"
done

# A folder of a package that has no version in its name: it is of no package, and nothing else is told of it.
for d in foo - -1 bar- ''; do
	mkdir -p "lib/site-packages/$d.dist-info" && echo 'mod.py,,' >"lib/site-packages/$d.dist-info/RECORD"
done
cp fit.py lib/site-packages/mod.py
cmd 0 run -q -- $PYTHON lib/site-packages/mod.py in.txt mod.json && cmd 0 export -f cyclonedx mod.json && says_not "$out" pkg:pypi &&
	json '.components | map(select(.name | endswith("/mod.py")))[0].properties | map(select(.name == "stemma:package_unknown"))[0].value == "no-package"'
check 'a dist-info folder without a name and a version is of no package'
mkdir lib/site-packages/a_b-1.0.dist-info && echo 'mod.py,,' >lib/site-packages/a_b-1.0.dist-info/RECORD
cmd 0 export -f cyclonedx mod.json && says "$out" pkg:pypi && json '[.components[] | select(.name == "a_b") | .version] == ["1.0"]'
check 'one with both is of its package'
# With more files than are asked for at once, what a package left is read once.
seq 300 | sed 's/.*/m&.py,,/' >>lib/site-packages/a_b-1.0.dist-info/RECORD && (cd lib/site-packages && for i in $(seq 300); do echo "x = $i" >"m$i.py"; done)
{
	echo 'import sys'
	seq 300 | sed 's/.*/import m&/'
	echo 'open(sys.argv[1], "w").write("x")'
} >lib/site-packages/all.py
cmd 0 run -q -- $PYTHON -B lib/site-packages/all.py all.json && $PYTHON - "$STEMMA" lib/site-packages/a_b-1.0.dist-info/RECORD >"$out" 2>"$err" <<'E'
import ctypes, json, os, struct, subprocess, sys
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(os.O_NONBLOCK)
assert fd >= 0 and libc.inotify_add_watch(fd, sys.argv[2].encode(), 0x30) > 0 # IN_OPEN, IN_CLOSE_NOWRITE
a = json.loads(subprocess.check_output([sys.argv[1], 'export', '-f', 'cyclonedx', 'all.json']))
package = [c for c in a['components'] if c['name'] == 'a_b']
print(len(package), len(package[0].get('components', [])), [mask for _, mask, _, _ in struct.iter_unpack('IIII', os.read(fd, 65536))])
E
is "$out" '1 300 [32, 16]'
check 'what a package left is read once for all files'
finish

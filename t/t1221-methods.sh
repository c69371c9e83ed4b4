#!/bin/sh
# stemma methods: programs with the versions that package managers know of files that still are as recorded, settings, inputs with
# digests, modules, machine; unknown versions are said to be unknown; as text, Markdown, JSON and citation file.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$T/w/bin" "$T/fake" && cd "$T/w" || exit 1
unset LANG OMP_NUM_THREADS
# Programs of our own, each a copy of one that is there, so that each can be of a package of its own.
mkdir -p conda/bin conda/conda-meta opt/tool-2.7.1-abcdefghijklmnopqrstuvwxyz012345/bin site-packages/depth site-packages/depth_tools-4.2.dist-info
cp "$(command -v sort)" bin/mysort
cp "$(command -v uniq)" conda/bin/myuniq
cp "$(command -v cut)" bin/mycut
cp "$(command -v tr)" bin/mytr
cp "$(command -v wc)" opt/tool-2.7.1-abcdefghijklmnopqrstuvwxyz012345/bin/mywc
echo '{"name": "uniqtool", "version": "0.9", "build": "h1_0", "subdir": "linux-64", "files": ["bin/myuniq", "bin/other"]}' >conda/conda-meta/uniqtool-0.9-h1_0.json
echo '{"name": "hostile", "version": "1", "files": ["../bin/mycut", {"a": 1}, 7]}' >conda/conda-meta/hostile-1-0.json
echo 'not json' >conda/conda-meta/broken-1-0.json
echo 'def f(x): return x.upper()' >site-packages/depth/__init__.py
echo 'depth/__init__.py,sha256=x,1' >site-packages/depth_tools-4.2.dist-info/RECORD
printf 'b\na\nb\n' >in1.txt
printf 'd\nc\n' >in2.txt
cat >fit.py <<'E'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[3])
import depth
open(sys.argv[2], 'w').write(depth.f(open(sys.argv[1]).read()))
E
cat >run.sh <<'E'
#!/bin/sh
for i in 1 2; do
	bin/mysort -r --buffer-size=1M in$i.txt >s$i.tmp
done
cat s1.tmp s2.tmp >s.tmp
conda/bin/myuniq -c s.tmp | bin/mycut -c 1-20 | bin/mytr a-b x-y >u.tmp
OMP_NUM_THREADS=3 opt/tool-*/bin/mywc -l u.tmp >w.tmp
"$PYTHON" fit.py w.tmp out.txt site-packages
E
chmod +x run.sh
# dpkg-query of our own: mysort is of a package, cut is of two, and its answers are hostile, too.
cat >"$T/fake/dpkg-query" <<E
#!/bin/sh
echo "\$#" >>"$T/asked"
case \$1 in
-S)
	for f; do
		case \$f in
		$T/w/bin/mysort) echo "mysort:amd64: \$f" ;;
		$T/w/bin/mycut) echo "one, two: \$f" ;;
		$T/w/bin/mytool | $T/w/site-packages/twice/__init__.py) echo "mysort:amd64: \$f" ;;
		esac
	done
	echo "diversion by x from: $T/w/bin/mytr"
	echo "-evil: $T/w/bin/mytr"
	printf 'garbage \\377 without end: '
	exit 1 ;;
-W)
	printf 'mysort:amd64\\tmysort\\t1:2.3-4~rc1\\tamd64\\tmysrc\\thttps://example.org/mysort\\tA <a@example.org>\\tsorts | \\033[31m things\\n'
	printf 'other\\t\\t\\n' ;;
esac
E
chmod +x "$T/fake/dpkg-query"
PATH=$T/fake:$PATH
export PYTHON
cmd 0 run -q --digest --label exam=1 -- ./run.sh
check 'a run with seven programs'

cmd 0 methods out.txt && says "$out" 'out.txt (' 'from 2 input files with 7 programs.' 'mysort (mysort 1:2.3-4~rc1): mysort -r --buffer-size=1M ….txt (2 times)'
check 'how it was made; runs of one program with the same settings are one'
says "$out" 'myuniq (uniqtool 0.9): myuniq -c s.tmp'
check 'a version that conda knows'
says "$out" 'mywc (tool 2.7.1): mywc -l u.tmp'
check 'a version that the path of Spack tells'
says "$out" "mycut (version unknown: no package has the program's file): mycut -c 1-20" "mytr (version unknown: no package has the program's file): mytr a-b x-y"
check 'what two packages claim, or a diversion, is unknown'
says "$out" 'They loaded modules of' 'depth_tools 4.2'
check 'packages of modules'
says "$out" 'They were started by run.sh (' 'They ran on ' ' Linux ' ' cores'
check 'who started them, and where'
says "$out" 'Their environment had' 'OMP_NUM_THREADS=3'
check 'variables that change results'
for f in in1.txt in2.txt fit.py out.txt; do
	says "$out" "$f" "SHA-256 $(sha256sum $f | cut -d ' ' -f 1)"
done
check 'digests that were recorded'
says "$out" 'The inputs were in1.txt (6 bytes, SHA-256 ' 'in2.txt (4 bytes' 'The scripts were fit.py'
check 'inputs and scripts'

cmd 0 methods --format json out.txt && json '
  .format == 1 and (.file.digest | startswith("sha256:")) and (.inputs | map(select(.script | not) | .path | split("/")[-1]) == ["in1.txt", "in2.txt"])
  and (.programs | map(select(.name == "mysort")) | length == 1 and .[0].executions == 2 and .[0].package.version == "1:2.3-4~rc1" and .[0].package.manager == "dpkg"
       and .[0].package.source == "mysrc" and .[0].certain)
  and (.programs | map(select(.name == "mycut"))[0] | .package == null and .package_unknown == "no-package")
  and (.programs | map(select(.name == "mywc"))[0] | .environment.OMP_NUM_THREADS == "3" and .package.manager == "spack" and .command == ["mywc", "-l", "u.tmp"])
  and (.programs | map(select(.role == "shell"))[0] | .script | endswith("/run.sh"))
  and (.modules | map(select(.name == "depth_tools" and .version == "4.2" and .manager == "pip")) | length == 1)
  and (.machines | length == 1 and (.[0].machine.kernel | length > 0)) and .completeness == []'
check 'as JSON'
cp "$out" "$T/first"
cmd 0 methods -j out.txt && cmp -s "$out" "$T/first"
check 'twice the same'

cmd 0 methods --format markdown out.txt && says "$out" '| program | package | command |' '| `mysort` | `mysort 1:2.3-4~rc1` | `mysort -r --buffer-size=1M ….txt` (2 times) |' '| input | size | digest |' '| `in1.txt` | 6 bytes | SHA-256 '
check 'as Markdown'

cmd 0 methods --format cff out.txt && says "$out" 'cff-version: 1.2.0' 'title: "mysort"' 'version: "1:2.3-4~rc1"' 'url: "https://example.org/mysort"' 'notes: "The version is not known. Programs: mycut"'
check 'as a citation file'
if $PYTHON -c 'import yaml' 2>/dev/null; then
	$PYTHON - "$out" <<'E' >"$err" 2>&1
import sys, yaml
c = yaml.safe_load(open(sys.argv[1]))
assert c['cff-version'] == '1.2.0' and c['message'] and c['title'] == 'Software that made out.txt' and c['authors']
names = [r['title'] for r in c['references']]
assert len(names) == len(set(names)), names
assert all(r['type'] == 'software' and r['authors'][0]['name'] for r in c['references'])
assert {'mysort', 'uniqtool', 'mycut', 'mytr', 'tool', 'depth_tools'} <= set(names), names
E
	check 'which a reader of YAML takes'
else
	skip 'which a reader of YAML takes' 'python3-yaml is not installed'
fi

says_not "$T/first" "$(printf '\033')"
check 'no control character of a package gets through'
cp bin/mysort bin/mysort.new && mv bin/mysort.new bin/mysort
cmd 0 methods out.txt && says "$out" "mysort (version unknown: the program's file is no longer as recorded)"
check 'the version of a program that was replaced since is unknown, whatever dpkg says'
echo '{"name": "rival", "version": "3", "files": ["bin/myuniq"]}' >conda/conda-meta/rival-3-0.json
cmd 0 methods out.txt && says "$out" "myuniq (version unknown: no package has the program's file)"
check 'what two packages of conda claim is unknown'
rm -r conda/conda-meta && ln -s "$T/elsewhere" conda/conda-meta && mkdir "$T/elsewhere" && echo '{"name": "far", "version": "1", "files": ["bin/myuniq"]}' >"$T/elsewhere/far-1-0.json"
cmd 0 methods out.txt && says "$out" "myuniq (version unknown"
check 'no link is followed to what conda left'
[ "$(sort -n "$T/asked" | tail -1)" -le 600 ]
check 'dpkg is asked in parts'
PATH=/nonexistent "$STEMMA" methods out.txt >"$out" 2>"$err" && says "$out" 'version unknown'
check 'without any package manager'

evil=$(printf 'in|`x`\n\033[31m.txt')
echo x >"$evil"
cmd 0 run -q -- sh -c 'cat in\|* >evil.out' && cmd 0 methods -f markdown evil.out && lines "$out" 13 && says "$out" '\|' && says_not "$out" "$(printf '\033')"
check 'a hostile name stays in its cell'
cmd 1 methods in1.txt && says "$err" "no program was seen making 'in1.txt'" 'stemma why'
check 'a file that nobody made'
cmd 2 methods --format pdf out.txt && says "$err" "format 'pdf' is not one of text, markdown, json, cff"
check 'a format that is none'
cmd 2 methods && cmd 1 methods nothing.txt
check 'no file, no such file'

# A script of a package, a workflow system that no file leads to, and a module that two package managers know.
PATH=$T/fake:$PATH
printf '#!/bin/sh\nbin/mytr a-b x-y <in1.txt >tool.out\n' >bin/mytool && chmod +x bin/mytool
cmd 0 run -q -- bin/mytool && cmd 0 methods tool.out && says "$out" 'They were started by mytool (mysort 1:2.3-4~rc1)'
check 'of a script that a package has, its package, not the one of the shell'
cmd 0 methods -j tool.out && json '.programs | map(select(.name == "mytool"))[0] | .package.name == "mysort" and (.script | endswith("/bin/mytool")) and (.program | endswith("/mytool") | not)'
check '... as JSON'
if command -v make >/dev/null; then
	printf 'made.txt: in1.txt\n\t@bin/mytr a-b x-y <in1.txt >made.txt\n' >Makefile
	cmd 0 run -q -- make made.txt && cmd 0 methods made.txt && says "$out" 'They were started by ' 'make (' && cmd 0 methods -j made.txt && json '.programs | map(select(.role == "engine")) | length == 1 and .[0].name == "make" and .[0].certain'
	check 'make is named as what started the programs'
	cmd 0 methods tool.out && says_not "$out" make
	check '... and not where it did not'
	cmd 0 export -f cyclonedx made.txt && json '[.. | objects | .name? // empty | strings] | any(endswith("/make"))'
	check '... and in the bill of materials'
else
	skip 'make is named' 'there is no make'
fi
mkdir -p site-packages/twice site-packages/Twice-6.0.dist-info && echo 'def f(x): return x' >site-packages/twice/__init__.py
$PYTHON -c 'import py_compile; print(py_compile.compile("site-packages/twice/__init__.py"))' >"$T/compiled"
c=$(cat "$T/compiled")
printf 'twice/__init__.py,sha256=x,1\n%s,,\n' "${c#site-packages/}" >site-packages/Twice-6.0.dist-info/RECORD
echo 'import sys; sys.path.insert(0, sys.argv[2]); import twice; open(sys.argv[1], "w").write("x")' >twice.py
cmd 0 run -q -- "$PYTHON" twice.py twice.out site-packages && cmd 0 methods twice.out && says "$out" 'modules of' 'mysort 1:2.3-4~rc1' && says_not "$out" 'Twice 6.0'
check 'what Python compiled is of the package of its source, and of no other one'
finish

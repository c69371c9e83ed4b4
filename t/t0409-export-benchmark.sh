#!/bin/sh
# export: the PROV of a benchmark: its results and conditions on its run, and how its program was built; nothing of that
# on others.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >answer <<'EOF'
#!/bin/sh
echo "sum: $(($1 + 5))"
echo "name: it"
EOF
chmod +x answer
cmd 0 run -- true && cmd 0 export -f prov-json && jq -e '[.activity[] | keys[] | select(test("^stemma:(result|invariant|variant|parameter|compiler)$"))] == []' "$out" >"$T/jq"
check 'a run that is no benchmark has none of it'
cmd 0 bench run -n 2 -- ./answer 37 && cmd 0 export -f prov-json && jq -e '[.activity[] | select(.["prov:type"]["$"] == "stemma:Run") | .["stemma:result"] // empty | fromjson | index("sum=42") != null] == [true, true]' "$out" >"$T/jq"
check 'results of each run, as the program printed them'
jq -r '.activity[] | .["stemma:invariant"] // empty | fromjson[]' "$out" >"$T/list" && says "$T/list" "kernel=$(uname -r)" && says "$T/list" "machine=$(uname -m)" && jq -r '.activity[] | .["stemma:variant"] // empty | fromjson[]' "$out" >"$T/list" && says "$T/list" 'load'
check 'what was to stay, and what might change'
cmd 0 export --check && cmd 0 export -f turtle -o "$T/d.ttl" && cmd 0 export --check "$T/d.ttl"
check 'PROV-CONSTRAINTS hold'
for f in prov-n prov-jsonld turtle openlineage; do
	cmd 0 export -f $f && grep -c 'sum=42' "$out" >"$T/n" && [ "$(cat "$T/n")" -ge 2 ] || {
		echo "not in $f" >>"$err"
		break
	}
done && [ "$f" = openlineage ] && says "$out" 'sum=42'
check 'in the other notations, too'

# From a run to the sources of its program, by Python's json and sha256sum.
if CC=$(command -v gcc); then
	mkdir "$T/work/b" && cd b || exit 1
	printf '#define N 42\n' >n.h
	printf '#include <stdio.h>\n#include "n.h"\nint main(void) { return printf("sum: %%d\\n", N) < 0; }\n' >main.c
	cmd 0 cc "$CC" -c main.c && cmd 0 cc "$CC" -o other.o -c main.c && cmd 0 run -- "$STEMMA" cc "$CC" -o prog main.o && cmd 0 run -- ./prog
	check 'a program is built, and runs'
	cat >"$T/walk.py" <<'END'
import json, subprocess, sys

d = json.load(open(sys.argv[1]))
local = lambda x: x[3:] if x.startswith('id:') else x
pairs = lambda kind, a, b: [(local(r['prov:' + a]), local(r['prov:' + b])) for r in d.get(kind, {}).values()]
used, made = pairs('used', 'activity', 'entity'), pairs('wasGeneratedBy', 'entity', 'activity')
special = pairs('specializationOf', 'specificEntity', 'generalEntity')
entity = {local(k): v for k, v in d['entity'].items()}
activity = {local(k): v for k, v in d['activity'].items()}
agent = {local(k): v for k, v in d['agent'].items()}
type_of = lambda x: x['prov:type']['$']
for a, b in used + [(b, a) for a, b in made]:
    assert a in activity and b in entity, (a, b)
assert all(a in entity and b in entity for a, b in special)
path = lambda e: entity[e].get('stemma:path', '').rsplit('/', 1)[-1]
digest = lambda name: 'sha256:' + subprocess.run(['sha256sum', name], capture_output=True, text=True, check=True).stdout.split()[0]
build_file = lambda e: type_of(entity[e]) == 'stemma:BuildFile'

# the program that the run used, what it is of, who made that, from what
run = [k for k, v in activity.items() if type_of(v) == 'stemma:Execution' and v.get('stemma:argv') == '["./prog"]']
program = {e for a, e in used if a in run and path(e) == 'prog'}
of = {g for s, g in special if s in program and build_file(g)}
assert len(of) == 1 and all(entity[e]['stemma:digest'] == digest('prog') for e in of), of
link = [a for e, a in made if e in of]
assert len(link) == 1 and type_of(activity[link[0]]) == 'stemma:Build'
objects = [e for a, e in used if a == link[0] and path(e) == 'main.o']
assert len(objects) == 1 and entity[objects[0]]['stemma:digest'] == digest('main.o')
compile = [a for e, a in made if e == objects[0]]
assert len(compile) == 1 and compile != link
sources = {path(e): entity[e] for a, e in used if a == compile[0]}
assert {'main.c', 'n.h'} <= set(sources) and 'stdio.h' not in sources, sources
for name, role in ('main.c', 'source'), ('n.h', 'header'):
    assert sources[name]['stemma:digest'] == digest(name) and sources[name]['stemma:role'] == role
owner = {local(r['prov:agent']) for r in d['wasAssociatedWith'].values() if local(r['prov:activity']) == compile[0]}
assert len(owner) == 1 and all(agent[o]['stemma:user'] == sys.argv[2] for o in owner), owner
other = any(path(e) == 'other.o' for e in entity)
assert other == (sys.argv[3] == 'all')
END
	cmd 0 export -f prov-json && $PYTHON "$T/walk.py" "$out" "$(id -un)" all 2>>"$err"
	check 'from a run to the sources of its program'
	cmd 0 export -f prov-json @ && $PYTHON "$T/walk.py" "$out" "$(id -un)" part 2>>"$err"
	check 'of one run alone: the builds that made its program, no others'
	cmd 0 export --check && cmd 0 export --check --all && cmd 0 export -f prov-json -o "$T/d.json" @ && cmd 0 export --check "$T/d.json"
	check 'PROV-CONSTRAINTS hold with builds'
	cmd 0 export -f openlineage && says_not "$out" 'main.c' && cmd 0 export -f dvc-stage && says_not "$out" 'BuildFile'
	check 'formats of commands have no builds'
else
	skip 'the builds of a program' 'gcc is not installed'
fi
finish

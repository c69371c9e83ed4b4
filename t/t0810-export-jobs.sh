#!/bin/sh
# export: the same job is the same job, two scripts of one interpreter are two; what failed is no stage of DVC.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >one.py <<'END'
import sys
open(sys.argv[1], 'w').write('one')
END
sed 's/one/two/' one.py >two.py
printf '#!%s\nimport sys\nopen(sys.argv[1], "w").write("three")\n' "$PYTHON" >three.py && chmod +x three.py
cat >fails.sh <<'END'
echo new >made
"$1" one.py whole
exit 3
END
# The same script in three ways, another one, one with a shebang in two, a program of the machine in two, a script that fails.
ran=0
for line in "$PYTHON one.py a" "$PYTHON -u ./one.py a" "python3 $T/work/one.py a" "$PYTHON two.py a" './three.py b' "$PYTHON three.py b" 'sort a -o a.sorted' '/usr/bin/sort a -o a.sorted'; do
	# shellcheck disable=SC2086 # words
	cmd 0 run -q -- $line || break
	ran=$((ran + 1))
done
[ $ran = 8 ] && cmd 3 run -q -- sh fails.sh "$PYTHON"
check 'nine runs'
cmd 0 export -f openlineage && $PYTHON - "$out" "$T/work" >"$T/jobs" 2>>"$err" <<'END'
import collections, json, sys
events = [json.loads(line) for line in open(sys.argv[1], encoding='utf-8')]
runs = collections.OrderedDict((e['run']['runId'], e) for e in events if e['job']['facets']['jobType']['jobType'] == 'RUN')
for e in runs.values():
    print(e['job']['name'].replace(sys.argv[2], 'W'))
END
is "$T/jobs" 'W/one.py a
W/one.py a
W/one.py a
W/two.py a
W/three.py b
W/three.py b
sort a -o a.sorted
sort a -o a.sorted
W/fails.sh '"$PYTHON"
check 'a job is its script and its arguments, however it was called'
$PYTHON - "$out" "$T/work" >"$T/jobs" 2>>"$err" <<'END'
import json, sys
# What made W/a and where: a job's outputs by its name.
made = {}
for line in open(sys.argv[1], encoding='utf-8'):
    e = json.loads(line)
    if e['eventType'] != 'START' and e['job']['facets']['jobType']['jobType'] == 'EXECUTION':
        for o in e['outputs']:
            if o['name'].startswith(sys.argv[2]):
                made.setdefault(e['job']['name'].replace(sys.argv[2], 'W'), set()).add(o['name'].replace(sys.argv[2], 'W'))
for name in sorted(made):
    print(name, sorted(made[name]))
END
is "$T/jobs" "W/fails.sh $PYTHON ['W/made']
W/one.py a ['W/a']
W/one.py whole ['W/whole']
W/three.py b ['W/b']
W/two.py a ['W/a']
sort a -o a.sorted ['W/a.sorted']"
check 'and so the executions: two scripts of one interpreter are two jobs'

# ---- RO-Crate
cmd 0 export -f ro-crate -o crate && $PYTHON - crate/ro-crate-metadata.json "$T/work" >"$T/tools" 2>>"$err" <<'END'
import json, sys
graph = {e['@id']: e for e in json.load(open(sys.argv[1], encoding='utf-8'))['@graph']}
for a in graph.values():
    if a['@type'] == 'CreateAction' and a['name'] != '' and not a['name'].startswith('a process'):
        tool = graph[a['instrument']['@id']]
        print(tool['@type'], tool['name'].replace(sys.argv[2], 'W').split('@')[0].split('/')[-1])
END
sort "$T/tools" | uniq -c | sed 's/^ *//' >"$out" && says "$out" "4 ['File', 'SoftwareSourceCode'] one.py" "1 ['File', 'SoftwareSourceCode'] two.py" "2 ['File', 'SoftwareSourceCode'] three.py" "1 ['File', 'SoftwareSourceCode'] fails.sh" "2 SoftwareApplication sort"
check 'RO-Crate: the script is the instrument, else the program'

# The version of its package, where the machine has dpkg and the program is still as it was.
sort=$(readlink -f "$(command -v sort)")
package=$(dpkg-query -S "${sort#/usr}" 2>/dev/null || dpkg-query -S "$sort" 2>/dev/null)
if [ -n "$package" ]; then
	version=$(dpkg-query -W -f='${Version}' "${package%%:*}")
	jq -r --arg path "$sort" '."@graph"[] | select(."@type" == "SoftwareApplication" and .description == $path) | .softwareVersion' crate/ro-crate-metadata.json >"$out" 2>"$err" && is "$out" "$version"
	check 'RO-Crate: the version of a program is that of its package'
	cp "$sort" own-sort && cmd 0 run -q -- ./own-sort a && cmd 0 export -f ro-crate -o crate2 @ && ! grep '/own-sort"' crate2/ro-crate-metadata.json | grep -q softwareVersion
	check '... and of one that is of no package is not told'
else
	skip 'RO-Crate: the version of a program is that of its package' 'no dpkg, or sort is of no package'
	skip '... and of one that is of no package is not told' 'no dpkg, or sort is of no package'
fi

# ---- DVC
rm -rf "$STEMMA_HOME"
history <<'END'
W = work
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['sh', 'all.sh'], cwd=W)
def step(argv, outs, parent=None, code=0, **ending):
    p = h.process(parent=parent) if parent else h.process()
    h.exec(p, argv, exe='/usr/bin/' + argv[0], cwd=W)
    for name in outs:
        h.write(p, h.file(W + '/' + name), size=h.now // 1000000000)
    return p
# Two that do not fail; then a script that fails, after it has started one that does not; it writes again what another made.
h.exit(step(['python3', 'one.py', 'made'], ['made']))
h.exit(step(['sort', 'a', '-o', 'a.sorted'], ['a.sorted']))
sh = step(['sh', 'fails.sh'], ['made', 'half'])
h.exit(step(['python3', 'one.py', 'whole'], ['whole'], parent=sh))
h.exit(sh, code=3)
h.exit(step(['tool', 'killed'], ['made', 'lost']), code=9, ending=2)
# How this one ended was not seen: that is no failure.
step(['tool', 'unseen'], ['unseen'])
h.end(); h.save(home, evtext)
END
cmd 0 export -f dvc-stage && cp "$out" "$T/dvc.yaml" && if $PYTHON -c 'import yaml' 2>/dev/null; then
	$PYTHON - "$T/dvc.yaml" >"$T/stages" 2>>"$err" <<'END'
import sys, yaml
for stage in sorted(yaml.safe_load(open(sys.argv[1], encoding='utf-8'))['stages'].values(), key=lambda s: s['cmd']):
    print(stage['cmd'], stage['outs'])
END
	is "$T/stages" "python3 one.py made ['made']
python3 one.py whole ['whole']
sort a -o a.sorted ['a.sorted']
tool unseen ['unseen']"
	check 'DVC: what failed is no stage, and what it wrote last belongs to the last that did not fail'
else
	skip 'DVC: what failed is no stage, and what it wrote last belongs to the last that did not fail' 'python3-yaml is not installed'
fi
says "$out" '# left out, it ended with status 3: "sh fails.sh"' '# left out, it ended by signal 9: "tool killed"' && says_not "$out" half && says_not "$out" lost
check 'DVC: comments say what was left out'
finish

#!/bin/sh
# A script that Snakemake copied, with lines of its own before it, ran under the copy's name and removed: why names the script.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$T/w/sub" && cd "$T/w" || exit 1
echo data >in.txt
echo 'import sys; open(sys.argv[2], "w").write(open(sys.argv[1]).read().upper())' >scale.py
cp scale.py sub/other.py && cp scale.py sub/twice.py && cp scale.py twice.py
cat >engine.py <<'END'
import os, subprocess, sys
os.makedirs('.snakemake/scripts', exist_ok=True)
for script, output in (('scale.py', 'out.txt'), ('sub/other.py', 'sub/out.txt'), ('twice.py', 'twice.txt')):
    os.makedirs('cache/' + os.path.dirname(script), exist_ok=True)
    with open('cache/' + script, 'w') as f:
        f.write(open(script).read())
    text = open('cache/' + script).read()
    if script == 'twice.py':
        open('sub/twice.py').read()
    name = os.path.abspath('.snakemake/scripts/tmpab12cd.' + os.path.basename(script))
    with open(name, 'w') as f:
        f.write('snakemake = None\n' + text)
    subprocess.run([sys.executable, name, 'in.txt', output], check=True)
    os.remove(name)
END
cmd 0 run -q -- python3 engine.py
check 'a script is copied and run'

cmd 0 why out.txt && says "$out" 'made by python3 scale.py in.txt out.txt from in.txt@{1}, scale.py@{1} by' && says_not "$out" '.snakemake'
check 'the script is named, not its copy'
cmd 0 why sub/out.txt && says "$out" 'made by python3 other.py in.txt sub/out.txt from in.txt@{1}, sub/other.py@{1} by'
check 'where it lies'
cmd 0 why --json out.txt && json '[.. | .path? // empty | strings] | any(endswith("/scale.py")) and all(contains("/scripts/tmp") | not)'
check 'as JSON'
cmd 0 why twice.txt && says "$out" 'made by python3 twice.py in.txt twice.txt from in.txt@{1}, .snakemake/scripts/tmpab12cd.twice.py@{1} by'
check 'where two files could be it, the copy is named'
cmd 0 why --all out.txt && says "$out" 'tmpab12cd.scale.py'
check 'with --all what was seen'
finish

#!/bin/sh
# export: in-toto statements with SLSA provenance, held against Python's json and sha256sum.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# statement EXPRESSION: Python says true of the last output: d the document, subject and needed its files by name.
statement()
{
	$PYTHON - "$out" "$1" 2>>"$err" <<'END'
import datetime, json, sys, urllib.parse


def pairs(l):
    d = dict(l)
    assert len(d) == len(l), f'twice the same key: {l}'
    return d


d = json.load(open(sys.argv[1], encoding='utf-8'), object_pairs_hook=pairs)
assert set(d) == {'_type', 'subject', 'predicateType', 'predicate'}, set(d)
assert d['_type'] == 'https://in-toto.io/Statement/v1' and d['predicateType'] == 'https://slsa.dev/provenance/v1'
p = d['predicate']
assert set(p) == {'buildDefinition', 'runDetails'}, set(p)
b, r = p['buildDefinition'], p['runDetails']
assert set(b) == {'buildType', 'externalParameters', 'resolvedDependencies'} and set(r) == {'builder', 'metadata'}
for uri in b['buildType'], r['builder']['id']:
    assert urllib.parse.urlsplit(uri).scheme, uri
m = r['metadata']
start, end = (datetime.datetime.fromisoformat(m[k][:19]) for k in ('startedOn', 'finishedOn') if m[k].endswith('Z'))
assert start <= end
for x in d['subject'] + b['resolvedDependencies']:
    u = urllib.parse.urlsplit(x['uri'])
    assert u.scheme == 'file' and urllib.parse.unquote(u.path).endswith(x['name']), x
    for k, v in x.get('digest', {}).items():
        assert k == 'sha256' and len(v) == 64 and set(v) <= set('0123456789abcdef'), x
assert d['subject'] and all('digest' in x for x in d['subject'])
subject = {x['name']: x['digest']['sha256'] for x in d['subject']}
needed = {x['name']: x for x in b['resolvedDependencies']}
assert len(subject) == len(d['subject']) and len(needed) == len(b['resolvedDependencies'])
sha = lambda name: needed[name].get('digest', {}).get('sha256')
use = lambda name: needed[name]['annotations']['usage']
command = b['externalParameters']['command']
assert eval(sys.argv[2]), (sys.argv[2], d)
END
}
sum()
{
	sha256sum <"$1" | cut -d' ' -f1
}

printf 'three\none\ntwo\n' >in.txt
printf 'left\n' >other
cat >make.sh <<'EOF'
#!/bin/sh
sort in.txt >sorted
cat sorted other >'all of it'
head -n 1 sorted >gone
rm gone
echo twice >again
echo three >>again
EOF
chmod +x make.sh
cmd 0 run -- ./make.sh && cmd 0 export -f in-toto @ && cp "$out" "$T/first"
check 'a run has a statement'
statement 'set(subject) == {"sorted", "all of it", "again"}'
check 'subjects: what it made and left there'
good=1
for f in sorted 'all of it' again; do
	statement "subject['$f'] == '$(sum "$f")'" || good=0
done
[ $good = 1 ]
check 'their digests are those of sha256sum'
statement "sha('in.txt') == '$(sum in.txt)' and sha('other') == '$(sum other)' and use('in.txt') == use('other') == 'input' and not set(subject) & set(needed)"
check 'dependencies: what it read and did not make'
statement "sha('make.sh') == '$(sum make.sh)' and use('make.sh') == 'program' and any(k.endswith('/sort') and use(k) == 'program' for k in needed)"
check 'and its programs and scripts'
program=$(readlink -f "$(command -v sort)")
statement "sha('$program') == '$(sum "$program")'"
check 'a program has the digest of sha256sum'
ulid=$("$STEMMA" sql 'SELECT ulid FROM run' 2>>"$err" | grep -o '[0-9A-Z]\{26\}')
statement "command == ['./make.sh'] and b['externalParameters']['workingDirectory'] == '$T/work' and m['invocationId'] == '$ulid' and m['stemma_exitStatus'] == 0"
check 'command, directory, invocation and status'
cmd 0 export -f in-toto @ && cmp -s "$out" "$T/first" && [ ! -s "$err" ]
check 'the same twice'

# What is not as recorded: an output is left out and counted, an input stays without a digest.
echo more >>sorted
echo more >>in.txt
cmd 0 export -f in-toto @ && says "$err" 'left out' && says "$err" '1 file' && statement 'set(subject) == {"all of it", "again"} and sha("in.txt") is None and "digest" not in needed["in.txt"]'
check 'changed since: no digest of what it is now'
rm again && mkfifo again && cmd 0 export -f in-toto @ && says "$err" '2 files' && statement 'set(subject) == {"all of it"}'
check 'gone, and a pipe in its place: left out'
rm again 'all of it' && cmd 125 export -f in-toto @ && says "$err" 'none of the 3 outputs of the run' && [ ! -s "$out" ]
check 'nothing to tell by a digest: no statement'

# Digests that were recorded outlive the files; a name with odd characters; a run that failed.
printf 'x\n' >in2 && cmd 3 run --digest -- sh -c 'cat in2 >"a b%ä\"c"; exit 3' && made=$(sum 'a b%ä"c') && input=$(sum in2) && rm -f 'a b%ä"c' && echo new >in2 &&
	cmd 0 export -f in-toto @ && statement "subject == {'a b%ä\"c': '$made'} and sha('in2') == '$input' and m['stemma_exitStatus'] == 3"
check 'recorded digests are told when the files are gone'

# Another run's write of the same name is not the first one's.
cmd 0 run -- sh -c 'echo one >same; echo kept >kept' && first=$("$STEMMA" sql 'SELECT ulid FROM run ORDER BY ulid DESC LIMIT 1' | grep -o '[0-9A-Z]\{26\}') &&
	cmd 0 run -- sh -c 'echo two >same' && cmd 0 export -f in-toto "$first" && statement 'set(subject) == {"kept"}' && cmd 0 export -f in-toto @ && statement "subject == {'same': '$(sum same)'}"
check 'what a later run wrote is its own'

cmd 125 export -f in-toto && says "$err" 'one run' && cmd 125 export -f in-toto @ @~1 && says "$err" 'one run' && [ ! -s "$out" ]
check 'a statement is of one run'
finish

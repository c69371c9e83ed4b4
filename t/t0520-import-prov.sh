#!/bin/sh
# import: PROV documents. What stemma exported gives the same statements again; what others wrote has its lineage.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# Two runs with an input edited in between; redirection, appending, a pipe, a rename, a file changed unseen, links, locks, names
# and arguments that are no UTF-8.
history <<'END'
def pipeline(run, start, edited):
    h = History(run, argv=['./all.sh', b'\xff"odd\\'], start=start, labels=['sample=B7'], session=hash_of(run), boot='boot')
    h.pids = start
    sh = h.process(); h.exec(sh, ['sh', './all.sh'], exe='/usr/bin/dash', script='/w/all.sh', env=['LANG=C', 'X=' + chr(34)])
    def file(path, kind=REGULAR, **more):
        return h.file(path, kind, ino=inodes.setdefault(path, 900 + len(inodes)), **more)
    sort = h.process(sh); h.exec(sort, ['sort', b'\xe4', 'in'], exe='/usr/bin/sort')
    h.read(sort, file('/w/in', size=5 + edited, mtime=T0 + edited), bytes_read=7); h.read(sort, file('/w/absent', ABSENT))
    h.read(sort, file('/w/' + b'odd\xff'.decode('latin-1'), size=1))
    h.write(sort, file('/w/sorted'), size=5, mode=WRITE | CREATE | TRUNC); h.exit(sort)
    out, pipe = file('/w/out.tmp'), h.file('', PIPE, ino=5000 + start)
    opened = h.add('access', p=sh, file=out, mode=WRITE | CREATE | TRUNC, sure=1, api=1)
    cat = h.process(sh); h.exec(cat, ['cat', 'sorted'], exe='/usr/bin/cat'); tail = h.process(sh); h.exec(tail, ['tail'], exe='/usr/bin/tail')
    h.read(cat, file('/w/sorted'), bytes_read=5); h.write(cat, pipe, mode=WRITE, via=DESCRIPTOR, bytes_written=5)
    h.read(tail, pipe, via=DESCRIPTOR, bytes_read=5); h.write(tail, out, size=3, mode=WRITE, via=DESCRIPTOR, api=2); h.exit(cat); h.exit(tail, code=1)
    more = h.process(sh); h.exec(more, ['cat', 'in'], exe='/usr/bin/cat'); h.read(more, file('/w/in'))
    h.write(more, out, size=8, mode=WRITE | APPEND, via=DESCRIPTOR, api=2); h.add('link', p=more, other=sh, via=4, sure=0); h.exit(more)
    h.end_access(sh, opened, evidence=2)
    mv = h.process(sh); h.exec(mv, ['mv', 'out.tmp', 'out'], exe='/usr/bin/mv'); h.add('name', p=mv, op=3, file=out, path='/w/out', old='/w/out.tmp'); h.exit(mv)
    p = h.process(sh); h.exec(p, ['log'], exe='/usr/bin/log'); h.write(p, file('/w/log'), size=9 + edited, mode=WRITE | APPEND)
    h.add('gap', p=p, reason=11, count=1); h.exit(p, code=9, ending=2)
    h.exit(sh); h.end(); h.save(home, evtext)
inodes = {}
pipeline('01AAAAAAAAAAAAAAAAAAAAAAAA', 1000, 0)
inodes['/w/out.tmp'] = 2000
pipeline('01BBBBBBBBBBBBBBBBBBBBBBBB', 3000, 1)
END
# The statements of a document, whatever the labels of relations.
statements()
{
	jq -S '[to_entries[] | select(.key != "prefix") | .key as $k | .value | to_entries[] |
		[$k, (if (.key | startswith("_:")) then "" else .key end), .value]] | sort' "$1" >"$2" 2>>"$err"
}
same()
{
	statements "$1" "$T/one" && statements "$2" "$T/two" && [ "$(jq length "$T/one")" -gt "$3" ] && cmp -s "$T/one" "$T/two" || {
		diff "$T/one" "$T/two" | head -n 40 >>"$err"
		return 1
	}
}
round()
{
	cmd 0 export "$@" -f prov-json -o told.json
	for form in prov-json turtle ntriples; do
		case $form in
		prov-json) ;;
		*) "$STEMMA" doctor | grep -q '^serd  *ok' || { skip "round trip of $form $*" 'built without serd'; continue; } ;;
		esac
		rm -rf again
		cmd 0 export "$@" -f $form -o doc && cmd 0 --store again import doc && says "$out" 'added (' && [ ! -s "$err" ] &&
			cmd 0 --store again export "$@" -f prov-json -o again.json && same told.json again.json 80 && cmd 0 --store again fsck
		check "round trip of $form $*"
	done
}
round
# What only coordinates has no relations but in --all.
history <<'END'
h = History('01CCCCCCCCCCCCCCCCCCCCCCCC', argv=['lock'], start=9000, host='h2', user='bob', boot='other')
p = h.process(); h.exec(p, ['lock'], exe='/usr/bin/lock')
h.write(p, h.file('/w/a.lock'), size=0); h.read(p, h.file('/w/a.lock')); h.exit(p); h.end(); h.save(home, evtext)
END
round --all
cmd 0 --store again lineage /w/out && cp "$out" one && cmd 0 lineage /w/out && cmp -s one "$out" && cmd 0 --store again log && cp "$out" one && cmd 0 log && cmp -s one "$out"
check 'lineage and log are those of the original'
cmd 1 --store again diff @~2 @~1 && says "$out" '/w/in'
check 'diff finds the edited input in what was imported'
find again/logs -type f -exec cksum {} + | sort >before
cmd 0 --store again import doc && says "$out" 'nothing new' && cmd 0 --store again import --json doc && json '.imports[0] | .kind == "prov" and (.added | not)' && find again/logs -type f -exec cksum {} + | sort | cmp -s before -
check 'the same again adds nothing'
[ -z "$(find again/logs -type d ! -perm 700 -o -type f ! -perm 600)" ]
check 'nobody else can read it'

# Into the record that it came from, before and after: the same things with the same ids, as often and with as many bytes.
# Rows with equal figures stand in the order in which they came.
ids()
{
	cmd 0 --store "$1" export --all -f prov-json && statements "$out" "$2" && [ "$(jq length "$2")" -gt 80 ] && cmd 0 --store "$1" stat /w/in && sort "$out" >"$2.stat" && cmd 0 --store "$1" stat 01AAAA && sort "$out" >>"$2.stat" &&
		cmd 0 --store "$1" log --json && jq -S '[.runs[] | [.id, .inputs, .outputs]]' "$out" >>"$2.stat"
}
unchanged()
{
	cmp before.ids after.ids >>"$err" && cmp before.ids.stat after.ids.stat >>"$err"
}
mkdir both late && cp -r "$STEMMA_HOME/logs" both/ && ids both before.ids && cmd 0 --store both import told.json && ids both after.ids && unchanged
check 'into the record that it came from: nothing is there twice'
cmd 0 --store late import told.json && cmd 0 --store late log && cmd 0 --store late import "$STEMMA_HOME" && ids late after.ids && unchanged && cmd 0 --store late index --rebuild && ids late after.ids && unchanged
check 'the logs after the document: the same'
cmd 0 export -f prov-json -o part.json /w/sorted && cmd 0 --store late import part.json && ids late after.ids && unchanged
check 'a part of it after the whole: the same'

# Documents of others.
j()
{ # NAME SECTIONS
	printf '{"prefix":{"x":"http://e/","stemma":"urn:stemma:ns#"},%s}' "$2" | tr "'" '"' >"$1.json"
}
j foreign "'entity':{'x:raw':{'prov:location':'/data/raw.csv'},'x:clean':{'prov:label':'clean'},'x:plot':{},'x:copy':{}},'activity':{'x:wash':{'prov:label':'wash it','prov:startTime':'2026-03-01T10:00:00Z'},'x:draw':{}},
 'agent':{'x:eve':{'prov:type':{'\$':'prov:Person','type':'prov:QUALIFIED_NAME'},'prov:label':'eve'}},'wasAssociatedWith':{'_:1':{'prov:activity':'x:wash','prov:agent':'x:eve'}},
 'wasGeneratedBy':{'_:2':{'prov:entity':'x:plot','prov:activity':'x:draw'},'_:3':{'prov:entity':'x:clean','prov:activity':'x:wash','prov:time':'2026-03-01T11:00:00Z'}},
 'used':{'_:4':{'prov:activity':'x:draw','prov:entity':'x:clean'},'_:5':{'prov:activity':'x:wash','prov:entity':'x:raw'}},
 'wasDerivedFrom':{'_:6':{'prov:generatedEntity':'x:copy','prov:usedEntity':'x:plot'}},'wasInvalidatedBy':{'_:7':{'prov:entity':'x:raw'}}"
cmd 0 --store f import foreign.json && says "$out" 'foreign.json: ' && says "$err" '1 statement has no representation in the record' && cmd 0 --store f lineage http://e/copy &&
	says "$out" 'http://e/copy' 'http://e/plot' 'clean' '/data/raw.csv' 'wash it' draw 'copy#derivation'
check 'a document of others: its lineage'
cmd 0 --store f log && says "$out" 'stemma import foreign.js' && cmd 0 --store f show @ && says "$out" 'eve' && cmd 0 --store f show clean && says "$out" '2026-03-01T11:00:00'
check 'a run of the document; its person; its times'
cmd 0 --store f export --check && cmd 0 --store f fsck
check 'what is made of it is valid'
j more "'used':{'_:1':{'prov:activity':'x:reuse','prov:entity':'x:plot'}},'wasGeneratedBy':{'_:2':{'prov:entity':'x:book','prov:activity':'x:reuse'}},'wasInformedBy':{'_:3':{'prov:informed':'x:print','prov:informant':'x:reuse'}}"
cmd 0 --store f import more.json && cmd 0 --store f lineage http://e/book && says "$out" '/data/raw.csv' && cmd 0 --store f lineage --down /data/raw.csv && says "$out" 'http://e/book' && says "$out" 'print'
check 'another document of the same things joins them'
cmd 0 --store g import more.json foreign.json && cmd 0 --store g lineage --down /data/raw.csv && says "$out" 'http://e/book'
check 'in whatever order'
x=$(jq -r '.entity | to_entries[] | select(.value."stemma:path" == "/w/out" and .value."stemma:ident") | .key' told.json | head -n 1)
jq --arg v "$x" '.prefix.x = "http://e/" | .used["_:z"] = {"prov:activity": "x:review", "prov:entity": $v} | .wasGeneratedBy["_:z"] = {"prov:entity": "x:verdict", "prov:activity": "x:review"}' told.json >mixed.json
cmd 0 --store m import mixed.json && cmd 0 --store m lineage http://e/verdict && says "$out" '/w/in' && says "$out" 'review'
check "another program's part in an export of stemma's"

# Bad input: the place is named, nothing is added.
bad()
{ # SECTIONS WORDS
	j bad "$1" && cmd 125 --store none import bad.json && says "$err" "$2" && [ ! -e none ]
}
bad "'used':{'_:1':{'prov:activity':'x:p','prov:entity':'x:a'},'_:2':{'prov:activity':'x:q','prov:entity':'x:b'}},'wasGeneratedBy':{'_:3':{'prov:entity':'x:b','prov:activity':'x:p'},'_:4':{'prov:entity':'x:a','prov:activity':'x:q'}},
 'wasDerivedFrom':{'_:5':{'prov:generatedEntity':'x:a','prov:usedEntity':'x:a'}}" 'bad.json: /wasDerivedFrom/_:5: cyclic derivation'
check 'a circle'
bad "'entity':{'x:a':{}},'activity':{'x:a':{}}" 'bad.json: /activity/x:a: an activity with the name of an entity'
check 'one name for two things'
t="'prov:type':{'\$':'stemma:Version','type':'prov:QUALIFIED_NAME'}"
bad "'entity':{'x:v':{$t,'stemma:ident':'#none.0'}}" '/entity/x:v: a file of stemma' && bad "'entity':{'x:v':{$t,'stemma:fileKind':'regular','stemma:domain':'d','stemma:inode':1,'stemma:generation':2,'stemma:ident':'zz'}}" '/entity/x:v: a version of stemma' &&
	bad "'activity':{'x:p':{'prov:type':{'\$':'stemma:Execution','type':'prov:QUALIFIED_NAME'},'stemma:pid':-1}}" '/activity/x:p: an execution of stemma' &&
	bad "'activity':{'x:p':{'stemma:argv':'[1]'}}" '/activity/x:p: a list that is not a JSON array' && bad "'used':{'_:1':{'prov:activity':[],'prov:entity':'x:a'}}" '/used/_:1/prov:activity'
check "things that say they are stemma's and are not"
j late "'activity':{'x:p':{'prov:startTime':'2200-01-01T00:00:00Z'}}" && cmd 0 --store l import late.json && says "$err" 'contains times in the future'
check 'times in the future are said, and kept'
cmd 125 --store none import nosuch.json late.json && says "$err" "cannot open 'nosuch.json'" && printf 'x' | "$STEMMA" --store none import - >"$out" 2>"$err"
[ $? = 125 ] && says "$err" 'standard input'
check 'what cannot be read'
printf '[{"a":1}]' >array.json && : >nothing.json && printf 'PK\003\004\000\000' >crate.zip && cmd 125 --store never import array.json && says "$err" 'array.json is a JSON array: neither' && cmd 125 --store never import nothing.json && says "$err" 'nothing.json is empty: neither' && cmd 125 --store never import crate.zip && says "$err" 'crate.zip is not text: neither' && [ ! -d never/logs ]
check 'what is no document of these kinds is said to be none'
if "$STEMMA" doctor | grep -q '^serd  *ok'; then
	printf '@prefix prov: <http://www.w3.org/ns/prov#> .\n<http://e/b> a prov:Entity ; prov:wasDerivedFrom <http://e/a> ; prov:wasGeneratedBy <http://e/p> .\n<http://e/p> prov:used <http://e/a> .\n' | "$STEMMA" --store t import - >"$out" 2>"$err" &&
		cmd 0 --store t lineage http://e/b && says "$out" 'http://e/a' &&  says_not "$out" '#derivation'
	check 'Turtle from standard input; a derivation that an activity explains'
else
	skip 'Turtle from standard input' 'built without serd'
fi
finish

#!/bin/sh
# stemma adopt: jobs that other tools wrote down. The truths are the workflows below: what their authors' files say, by hand. Snakemake is
# the real one; the folders of Nextflow, the crate and the events are made here after their specifications.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# sources FILE [OPTION]...: the names of the files that it is from, sorted, in $out
sources()
{
	file=$1
	shift
	cmd 0 lineage --json "$@" "$file" || return 1
	$PYTHON - "$out" "$file" <<'END' >"$T/sources" && mv "$T/sources" "$out"
import json, os, sys
a = json.load(open(sys.argv[1]))
sure = {e['certainty'] for e in a['edges'] if e['type'] in ('used', 'wasGeneratedBy')}
names = sorted({os.path.basename(e['path']) for e in a['entities'] if e.get('path')} - {os.path.basename(sys.argv[2])})
print(' '.join(names), '/', ' '.join(sorted(sure)))
END
}

if command -v snakemake >/dev/null 2>&1; then
	mkdir smk && cd smk && seq 9 >in.txt && cat >Snakefile <<'END'
rule all:
    input: "both.txt", "part/a.log"
rule one:
    input: "in.txt"
    output: "part/a.txt", "part/a.log"
    shell: "sort -r {input} > {output[0]}; echo token=ghp_0123456789abcdefghijABCDEFGHIJ012345 > {output[1]}"
rule two:
    input: "in.txt", "part/a.txt"
    output: "both.txt"
    shell: "cat {input} > {output}"
END
	if snakemake -j1 -q >/dev/null 2>&1; then
		cmd 0 adopt --dry-run && says "$out" 'Snakemake: 2 jobs' && cmd 1 log && cmd 0 adopt && says "$out" 'Snakemake: 2 jobs  (3 documents)'
		check 'Snakemake: two jobs of three outputs'
		sources both.txt && is "$out" 'Snakefile a.txt in.txt / may' || { sources both.txt && is "$out" 'a.txt in.txt / may'; }
		check 'Snakemake: an output is from what the rules name, and no edge is certain'
		cmd 0 why both.txt && says "$out" 'cat in.txt part/a.txt' && says "$out" '?' && cmd 0 show both.txt && cmd 0 lineage both.txt && says "$out" 'another tool reported it'
		check 'Snakemake: why, and who said so'
		cmd 0 adopt && says "$out" 'nothing new' && cmd 0 log --json && json '.runs | length == 1'
		check 'Snakemake: again is nothing new'
		grep -rl ghp_0123456789abcdefghij "$STEMMA_HOME" >"$out"
		[ ! -s "$out" ]
		check 'Snakemake: a secret in a command is not in the record'
		cmd 0 run -- sh -c 'wc -l both.txt > n.txt' && sources n.txt && says "$out" 'a.txt both.txt in.txt'
		check 'Snakemake: what was recorded afterwards rests on what was adopted'
		rm -rf "$STEMMA_HOME" .snakemake both.txt part && cmd 0 run -- snakemake -j1 -q && cmd 0 adopt && says "$out" '0 jobs; 2 more were already recorded'
		check 'Snakemake: what stemma recorded it knows better'
		printf 'more\n' >>part/a.txt
		rm -rf "$STEMMA_HOME" && cmd 0 adopt && says "$out" 'changed later' && cmd 0 run -- sh -c 'cat part/a.txt > m.txt' && sources m.txt && says "$out" 'a.txt' && says_not "$out" 'in.txt'
		check 'Snakemake: a file that was written since is not what the job wrote'
	else
		check 'Snakemake runs'
	fi
	cd .. || exit
else
	skip 'Snakemake' 'it is not installed'
fi

rm -rf "$STEMMA_HOME"
mkdir -p nf/work/ab/0123456789 nf/work/cd/4567890123 && printf '>a\nACGT\n' >nf/ref.fa
(
	cd nf/work/ab/0123456789 && ln -s "$T/work/nf/ref.fa" ref.fa && printf '#!/bin/bash\n### ---\n### name: "x"\n### name: '\''INDEX (ref'\''s)'\''\nnxf_main\n' >.command.run
	printf '#!/bin/bash -ue\nindex ref.fa > ref.idx\n' >.command.sh && touch .command.begin && sleep 0.02 && echo idx >ref.idx && printf 0 >.exitcode
	cd ../../cd/4567890123 && ln -s "$T/work/nf/work/ab/0123456789/ref.idx" ref.idx && printf '### name: '\''COUNT'\''\n' >.command.run && printf 'count\n' >.command.sh
	touch .command.begin && sleep 0.02 && echo 7 >count.txt && printf 3 >.exitcode
)
cmd 0 adopt nf && says "$out" 'Nextflow: 2 jobs' && sources nf/work/cd/4567890123/count.txt && is "$out" 'ref.fa ref.idx / may'
check 'Nextflow: a file through two tasks'
cmd 0 lineage --json nf/work/cd/4567890123/count.txt && json '[.executions[] | select(.exit.status == 3)] | length == 1' &&
	json '[.executions[] | select(.argv == ["sh", "-c", "#!/bin/bash -ue\nindex ref.fa > ref.idx\n"] and .exit.status == 0)] | length == 1'
check 'Nextflow: scripts and exit statuses'

rm -rf "$STEMMA_HOME"
mkdir crate && printf 'a b\n' >'crate/in put.txt' && printf 'print()\n' >crate/fit.py && printf 1 >crate/out.txt && cat >crate/ro-crate-metadata.json <<END
{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [
 {"@id": "./", "@type": "Dataset"},
 {"@id": "fit.py", "@type": ["File", "SoftwareSourceCode"], "name": "fit.py"},
 {"@id": "in%20put.txt", "@type": "File"}, {"@id": "out.txt", "@type": "File"}, {"@id": "other.txt", "@type": "File"},
 {"@id": "#who", "@type": "Person", "name": "Somebody"},
 {"@id": "#run", "@type": "CreateAction", "instrument": {"@id": "fit.py"}, "agent": {"@id": "#who"}, "object": [{"@id": "in%20put.txt"}, {"@id": "#setting"}],
  "result": {"@id": "out.txt"}, "startTime": "$(date -u +%Y-%m-%dT%H:%M:%SZ)", "endTime": "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)", "actionStatus": "http://schema.org/CompletedActionStatus"},
 {"@id": "#setting", "@type": "PropertyValue", "name": "n", "value": 3}]}
END
cmd 0 adopt crate && says "$out" 'RO-Crate: 1 job ' && cmd 0 lineage --json crate/out.txt && says "$out" 'fit.py' && says "$out" 'in put.txt' && says_not "$out" 'other.txt'
check 'RO-Crate: an action with its instrument, objects and results'

rm -rf "$STEMMA_HOME"
mkdir lineage && printf 1 >lineage/a.csv && sleep 0.02 && now=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ) && printf 2 >lineage/b.csv && cat >lineage/events.ndjson <<END
{"eventType": "START", "eventTime": "$now", "run": {"runId": "r1"}, "job": {"namespace": "n", "name": "clean"}, "inputs": [{"namespace": "file", "name": "$T/work/lineage/a.csv"}]}
not JSON
{"eventType": "COMPLETE", "eventTime": "$(date -u -d '+1 minute' +%Y-%m-%dT%H:%M:%SZ)", "run": {"runId": "r1"}, "job": {"namespace": "n", "name": "clean"}, "inputs": [{"namespace": "postgres://db", "name": "public.t"}], "outputs": [{"namespace": "file://host", "name": "$T/work/lineage/b.csv"}]}
{"eventType": "START", "eventTime": "$now", "run": {"runId": "r2"}, "job": {"namespace": "n", "name": "nothing"}}
END
cmd 0 adopt --json lineage && json '.tools == [{"tool": "openlineage", "documents": 1, "jobs": 1, "recorded": 0, "without_outputs": 1}]' && sources lineage/b.csv && is "$out" 'a.csv / may' &&
	cmd 0 why lineage/b.csv && says "$out" 'openlineage clean'
check 'OpenLineage: the events of a run are one job; a table is no file'

# What is hostile: links out of the folder, names that lead elsewhere, nesting, what is no document.
rm -rf "$STEMMA_HOME"
mkdir -p bad/.snakemake/metadata bad/deep && ln -s /etc bad/etc && ln -s "$T/work/crate" bad/crate && mkfifo bad/x.json && ln -s /dev/zero bad/z.jsonl
$PYTHON - <<'END'
import base64, json, os
os.chdir('bad')
put = lambda name, o: open('.snakemake/metadata/' + base64.b64encode(name).decode().replace('/', '_'), 'w').write(o)
put(b'../../../../../../../../etc/passwd', json.dumps({'rule': '\x1b]0;x\x07', 'shellcmd': 'x' * 300000, 'input': ['../' * 5000 + 'etc/shadow', '', 7, None, 'http://h/x'], 'starttime': 1e300, 'endtime': -1}))
put(b'a\0b', json.dumps({'rule': 'r', 'shellcmd': None, 'input': 'no list', 'starttime': '1', 'endtime': None}))
put(b'list', '[1, 2]')
put(b'deep', '[' * 100000)
put(b'cut', '{"rule": "x"')
open('.snakemake/metadata/no base64!', 'w').write('{}')
open('ro-crate-metadata.json', 'w').write(json.dumps({'@graph': [{'@id': '#a', '@type': 'CreateAction', 'instrument': {'@id': '#a'}, 'object': {'@id': '#a'}, 'result': [{'@id': '#f'}, 3]},
                                                                  {'@id': '#f', '@type': 'File'}, 5, None, {'@type': 'CreateAction'}]}))
open('deep/ro-crate-metadata.json', 'w').write('{"@graph": ' + '{"a": ' * 1000)
END
cmd 0 adopt bad && says "$err" 'not base64' && says "$err" 'deep' && says "$out" 'Snakemake: 1 job; 1 more names no output' && says_not "$out" 'Nextflow' && cmd 0 fsck && cmd 0 log
check 'hostile documents: what can be read is, the rest is said, no link is followed'
cmd 0 lineage /etc/passwd && says_not "$out" "$(printf '\033')"
check 'names from documents do not reach the terminal raw'
mkdir none && cmd 1 adopt none && cmd 125 adopt "$T/no/such" && cmd 2 adopt a b
check 'nothing there; no such folder; too many'
finish

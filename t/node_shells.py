#!/usr/bin/env python3
"""node_shells.py STEMMA FOLDER UID NAME=FOLDER... - runs chains of programs as that user; what the daemons with these
folders and a run recorded with --exact say that each `out` comes from is at least what it was made of, as written here.
Of each daemon BASE/run/socket is asked once, and then the store that it keeps in BASE/base.

Prints a line for each chain and record: `ok CHAIN: NAME`, `missing CHAIN: NAME: FILES`, or `skip CHAIN: WHY`. A chain
runs once as a script and, `-i` behind its name, once as what is typed into an interactive shell; each daemon sees both.
"""
import json
import os
import subprocess
import sys
import time

# Name, shells, inputs, commands. The files are in1 to in3, a line each but in2, which has five; lib.sh is a script.
CHAINS = [
    ('output', 'dash bash busybox', 'in1', 'x=$(cat in1)\necho "$x" >out'),
    ('output of a pipeline', 'dash bash', 'in1 in2', 'x=`cat in1 in2 | sed s/a/b/ | tr a-z A-Z`\nprintf "%s" "$x" >out'),
    ('output in output', 'dash bash', 'in1 in2', 'x=$(echo "$(cat in1)" "$(cat in2)")\necho "$x" >out'),
    ('output of a subshell', 'dash bash', 'in1 in2', 'x=$( (cat in1; while read -r l; do echo "$l"; done <in2) )\necho "$x" >out'),
    ('builtins only', 'dash bash', 'in1', 'x=$(read -r l <in1; echo "$l")\necho "$x" >out'),
    ('pipeline', 'dash bash busybox', 'in1 in2', 'cat in1 in2 | sort | uniq >out'),
    ('a loop behind a program', 'dash bash', 'in2', 'cat in2 | while read -r l; do echo "$l"; done >out'),
    ('a loop that runs programs', 'dash bash', 'in2', 'cat in2 | while read -r l; do expr "x$l" : "x\\(.*\\)"; done >out'),
    ('a loop before a program', 'dash bash', 'in2', 'while read -r l; do echo "$l"; done <in2 | sort >out'),
    ('a loop between', 'dash bash', 'in2', 'cat in2 | { while read -r l; do echo "$l"; done; } | sort >out'),
    ('a function in a pipeline', 'dash bash', 'in1 in2', 'f() { cat; cat in1; }\ncat in2 | f | sort >out'),
    ('lines of a program', 'bash', 'in2', 'while read -r l; do echo "$l"; done < <(cat in2) >out'),
    ('lines of a program, with programs', 'bash', 'in2', 'while read -r l; do expr "x$l" : "x\\(.*\\)" >>got; echo "$l"; done < <(cat in2) >out'),
    ('one line of a program', 'bash', 'in1', 'read -r l < <(cat in1)\necho "$l" >out'),
    ('lines into an array', 'bash', 'in2', 'mapfile -t a < <(cat in2)\nprintf "%s\\n" "${a[@]}" >out'),
    ('two programs as files', 'bash', 'in1 in2', 'paste <(cat in1) <(sort in2) >out'),
    ('to a program as a file', 'bash', 'in2', 'cat in2 | tee >(sort >other) >/dev/null\nsleep 0.2\ncat other >out'),
    ('coproc', 'bash', 'in1 in2', 'coproc { read -r go; cat in1 in2; }\nexec 5<&"${COPROC[0]}"\necho go >&"${COPROC[1]}"\nwhile read -r -u 5 l; do echo "$l"; done >out'),
    ('here-document', 'dash bash', 'in1', 'cat <<E >out\n$(cat in1)\nE'),
    ('here-string', 'bash', 'in1', 'cat <<<"$(cat in1)" >out'),
    ('fifo', 'dash bash', 'in1', 'mkfifo f\ncat in1 >f &\ncat f >out\nwait'),
    ('in the background', 'dash bash', 'in1 in2', '{ cat in1 >a; } &\n(cat in2 >b) &\nwait\ncat a b >out'),
    ('a descriptor kept open', 'dash bash', 'in1 in2', 'exec 3<in1 4>mid\nread -r l <&3\necho "$l" >&4\ncat in2 >&4\nexec 3<&- 4>&-\ncat mid >out'),
    ('a script that is read', 'dash bash', 'lib.sh', '. ./lib.sh\necho "$word" >out'),
    ('standard input', 'dash bash', 'in1', 'cat - <in1 >mid\ncat /dev/stdin <mid >out'),
    ('in place', 'dash bash', 'in1', 'cp in1 out\nsed -i s/a/b/ out\nsort -o out out'),
    ('renamed', 'dash bash', 'in1', 'cat in1 >x.tmp\nmv x.tmp y.tmp\nln y.tmp z\nrm y.tmp\nmv z out'),
    ('appended', 'dash bash', 'in1 in2', 'cat in1 >out\ncat in2 >>out'),
    ('names from a pipe', 'dash bash', 'in1 in2', 'ls in1 in2 | xargs -P 2 -n 1 sh -c \'cat "$0" >part.$0\'\ncat part.in1 part.in2 >out'),
    ('find', 'dash bash', 'in1 in2', 'find . -name "in[12]" -exec cat {} + >out'),
    ('make -j', 'dash', 'in1 in2 in3', 'printf \'out: a b c\\n\\tcat $^ >$@\\na: in1\\n\\tcat $< >$@\\nb: in2\\n\\tsort $< | cat >$@\\nc: in3\\n\\tx=`cat $<`; echo $$x >$@\\n\' >Makefile\nmake -j3 >/dev/null'),
    ('archive', 'dash bash', 'in1 in2', 'tar cf - in1 in2 | gzip >t.gz\nmkdir x\ngzip -dc t.gz | tar xf - -C x\ncat x/in1 x/in2 >out'),
    ('archive, zstd', 'dash', 'in1 in2', 'tar cf - in1 in2 | zstd -q >t.zst\nmkdir x\nzstd -qdc t.zst | tar xf - -C x\ncat x/in1 x/in2 >out'),
    ('git', 'dash', 'in1', 'git init -q r\ncp in1 r/f\ncd r\ngit add f\ngit -c user.name=a -c user.email=a commit -qm a\ncd ..\ngit clone -q --no-local r c\ncat c/f >out'),
    ('python', 'dash', 'in1 in2 in3', '''python3 - <<'E'
import subprocess
a = subprocess.check_output(['cat', 'in1'])
p = subprocess.Popen(['tr', 'a-z', 'A-Z'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
b = p.communicate(open('in2', 'rb').read())[0]
c = subprocess.run('cat in3 | sort', shell=True, capture_output=True).stdout
open('out', 'wb').write(a + b + c)
E'''),
    ('python, a pool', 'dash', 'in1 in2', '''python3 - <<'E'
import os
parts = []
for name in ('in1', 'in2'):
    r, w = os.pipe()
    if not os.fork():
        os.close(r)
        os.write(w, open(name, 'rb').read())
        os._exit(0)
    os.close(w)
    parts.append(r)
text = b''.join(os.read(r, 65536) for r in parts)
open('out', 'wb').write(text)
E'''),
    ('perl', 'dash', 'in1 in2', '''perl -e 'open I, "-|", "cat", "in1"; open O, "|-", "sort >out"; print O <I>; print O `cat in2`; close O' '''),
    ('awk', 'dash', 'in1 in2', '''awk 'BEGIN { while (("cat in1" | getline l) > 0) print l >"out"; while ((getline l <"in2") > 0) print l | "cat >>out" }' '''),
    ('a chain of ten', 'dash bash', 'in2', 'cat in2 | cat | cat | cat | cat | cat | cat | cat | cat | sort >out'),
    ('odd names', 'dash bash', 'in1', 'n=$(printf "a\\nb \\"c")\ncat in1 >"$n"\ncat "$n" >out'),
    ('exec', 'dash bash', 'in1', 'exec <in1 >out\nexec cat'),
]


def tool(name):
    return any(os.access(os.path.join(d, name), os.X_OK) for d in os.environ['PATH'].split(':'))


def lacks(commands):
    return [t for t in ('make', 'git', 'zstd', 'python3', 'perl', 'awk') if t + ' ' in commands and not tool(t)]


class Driver:
    def __init__(self, stemma, folder, uid):
        self.stemma, self.folder, self.uid = stemma, folder, uid
        self.env = {'PATH': '/usr/bin:/bin', 'HOME': folder, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'GIT_CONFIG_NOSYSTEM': '1'}

    def call(self, argv, **more):
        env = dict(self.env, **more.pop('env', {}))
        return subprocess.run(argv, env=env, user=self.uid, group=self.uid, extra_groups=[], timeout=120, check=False, **more)

    def make(self, path, commands):
        os.mkdir(path)
        for name, text in (('in1', 'b\n'), ('in2', 'e\na\nd\nc\nb\n'), ('in3', 'c\n'), ('lib.sh', 'word=a\n'), ('chain', commands + '\n')):
            with open(os.path.join(path, name), 'w', encoding='utf-8') as f:
                f.write(text)
            os.chown(os.path.join(path, name), self.uid, self.uid)
        os.chown(path, self.uid, self.uid)

    def came_from(self, path, store, own):
        """The names of the files of path that its out comes from; own: the store is the user's."""
        argv = [self.stemma, 'lineage', '--json', '--store', store] + ([] if own else ['--no-index']) + ['out']
        call = self.call if own else subprocess.run
        got = call(argv, cwd=path, env=self.env, capture_output=True)
        if got.returncode:
            return set(), got.stderr.decode().strip()
        names = {e.get('path') or '' for e in json.loads(got.stdout)['entities']}
        return {n[len(path) + 1:] for n in names if n.startswith(path + '/')}, ''


def main():
    stemma, folder, uid = sys.argv[1], sys.argv[2], int(sys.argv[3])
    d = Driver(stemma, folder, uid)
    todo = []
    for number, (name, shells, inputs, commands) in enumerate(CHAINS):
        if lacks(commands):
            print(f'skip {name}: no {lacks(commands)[0]} here')
            continue
        for shell in shells.split():
            if not tool(shell):
                print(f'skip {name} ({shell}): no {shell} here')
                continue
            kinds = ['', 'exact'] + (['-i'] if shell == 'bash' and not commands.startswith('exec <') else [])
            for kind in kinds:
                path = os.path.join(folder, f'{number}{shell}{kind}')
                d.make(path, commands)
                todo.append((f'{name} ({shell}{" -i" if kind == "-i" else ""})', path, shell, kind, set(inputs.split())))
    time.sleep(0.05)  # what is read is older than who reads it, by more than a tick of file times
    for what, path, shell, kind, _ in todo:
        words = [shell] + (['sh'] if shell == 'busybox' else [])
        more = {'cwd': path, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.PIPE}
        if kind == '-i':
            with open(os.path.join(path, 'chain'), 'rb') as typed:
                done = d.call(words + ['--norc', '--noprofile', '-i'], input=typed.read(), **more)
        elif kind == 'exact':
            done = d.call([stemma, 'run', '-q', '--exact', '--'] + words + ['chain'], env={'STEMMA_HOME': path + '/.record'}, stdin=subprocess.DEVNULL, **more)
        else:
            done = d.call(words + ['chain'], stdin=subprocess.DEVNULL, **more)
        if not os.path.exists(os.path.join(path, 'out')) or not os.path.getsize(os.path.join(path, 'out')):
            print(f'missing {what}: it made nothing: {done.stderr.decode()[-200:]!r}')
    exact = {}
    for what, path, _, kind, inputs in todo:
        if kind == 'exact':
            got, why = d.came_from(path, path + '/.record', True)
            # What it reads its commands from is nothing where they are typed.
            exact[what] = {n for n in got if n != 'chain' and '/.git/' not in n}
            lost = sorted(inputs - got)
            print(f'missing {what}: exact: {lost} {why}' if lost else f'ok {what}: exact')
    for name, daemon in (s.split('=', 1) for s in sys.argv[4:]):
        d.call([stemma, '--node', 'log', '-n', '1'], env={'STEMMA_NODE_SOCKET': daemon + '/run/socket'}, capture_output=True)
        for what, path, _, kind, inputs in todo:
            if kind == 'exact':
                continue
            got, why = d.came_from(path, f'{daemon}/base/users/{uid}/index', False)
            lost = sorted((inputs | exact.get(what.replace(' -i', ''), set())) - got)
            print(f'missing {what}: {name}: {lost} {why}' if lost else f'ok {what}: {name}')


main()

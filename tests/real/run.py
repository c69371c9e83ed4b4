#!/usr/bin/env python3
"""run.py - the commands of commands.txt, without stemma and with it: what they print, return and make is the same.

Each command runs in a fresh folder, twice without stemma, then once in each mode. What differs between the two runs
without stemma is not compared: words within a line, lines, or the whole of an output where it has another number of
lines. A command that differs in a mode runs again twice without stemma and once in the mode; if it is the same then, it
is named and counted as `once`.

TAP on standard output: a test for each mode. --campaign FILE adds what was done to the figures in FILE, and each difference
as a line."""
import argparse
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

MODES = {'default': [], 'count': ['--count'], 'safe': ['--capture=safe'], 'hdf5': ['--hdf5']}
HERE = os.path.dirname(os.path.abspath(__file__))


def commands(part):
    always, result = True, []
    for line in open(f'{HERE}/commands.txt'):
        line = line.rstrip('\n')
        if not line:
            always = False
        elif not line.startswith('#'):
            result.append((always, *line.split('\t', 1)))
    if part == 'always':
        return [c[1:] for c in result if c[0]]
    if part == 'all':
        return [c[1:] for c in result]
    return [c[1:] for i, c in enumerate(result) if i % 10 == int(part)]


def material(top):
    """The inputs: the same bytes, modes and times each time."""
    files = {}
    numbers = ''.join(f'{i * 7919 % 2003} line {i}\n' for i in range(1, 2001))
    files['numbers'] = numbers
    files['words'] = ''.join(w + '\n' for w in 'pear apple banana cherry Apple date apple elder fig grape zebra a the'.split())
    files['text'] = ('The quick brown fox jumps over the lazy dog.\nIt was a dark and stormy night; the rain fell in torrents.\n\n'
                     'A second paragraph, with a longer line that has to be folded somewhere if it is to fit on a narrow page.\n') * 3
    files['a.csv'] = 'name,n,colour\nx,1,red\ny,2,green\nz,3,blue\n'
    files['left'] = 'a 1\nb 2\nc 3\nd 4\n'
    files['right'] = 'a 1\nb  2\nC 3\ne 5\n'
    files['tabs'] = 'a\tb\tc\n\td\te\n        f\n'
    files['pairs'] = 'a b\nb c\nd c\n'
    files['pairs2'] = 'a 1000\nbb 200000\n'
    files['small'] = b'0123456789abcdef\0\xff\n'
    files['small2'] = '12 35\n'
    files['dates'] = '2020-01-01\n1999-12-31\n'
    files['list'] = 'tree/a/f1\nwords\n'
    files['latin'] = 'caf\u00e9 na\u00efve\n'
    files['script.sed'] = 's/line/LINE/\n2d\n'
    files['prog.awk'] = '{ s += $1 } END { print s, NR }\n'
    files['prog.pl'] = 'use strict; print "hi\\n";\n'
    files['lib.sh'] = 'hello() { echo hello; }\n'
    files['script.sh'] = '#!/bin/sh\necho "$#" "$@"\nfor i in "$@"; do echo "<$i>"; done\nexit 4\n'
    files['data.json'] = '{"items": [{"name": "x", "n": 1}, {"name": "y", "n": 3}], "b": true, "a": null}\n'
    files['arr.json'] = '[1,"a",null]\n'
    files['page.xml'] = '<?xml version="1.0"?>\n<list><item n="1">a</item><item n="2"/></list>\n'
    files['page.html'] = '<html><body><p>text</p></body></html>\n'
    files['page.1'] = '.TH PAGE 1 2020-01-01\n.SH NAME\npage \\- a page\n.SH DESCRIPTION\nText.\n'
    files['image.ppm'] = 'P3\n4 4\n255\n' + ''.join(f'{i * 16} {255 - i * 16} {i}\n' for i in range(16))
    files['m.m4'] = 'ifdef(`X\', X, none)\n'
    files['db.sql'] = 'create table t(a integer, b text);\n' + ''.join(f"insert into t values({i}, 'v{i * 7 % 11}');\n" for i in range(20))
    files['s.cmake'] = 'message(STATUS hello)\nfile(WRITE made "x")\n'
    files['s.sam'] = '@HD\tVN:1.6\n@SQ\tSN:c\tLN:1000\n' + ''.join(f'r{i}\t0\tc\t{i * 37 % 900 + 1}\t60\t4M\t*\t0\t0\tACGT\t*\n' for i in range(50))
    files['main.cc'] = ('#include <algorithm>\n#include <iostream>\n#include <string>\n#include <vector>\nint main(int argc, char **)\n'
                        '{\n\tstd::vector<std::string> v{"b", "a"};\n\tstd::sort(v.begin(), v.end());\n\tstd::cout << v[0] << argc << "\\n";\n}\n')
    files['hello.f90'] = 'program hello\n  integer :: i\n  do i = 1, 3\n    print *, i * i\n  end do\nend program\n'
    files['jv/Hi.java'] = 'public class Hi { public static void main(String[] a) { System.out.println("hi"); } }\n'
    files['cm/CMakeLists.txt'] = 'cmake_minimum_required(VERSION 3.10)\nproject(hello C)\nadd_executable(hello hello.c)\n'
    files['cm/hello.c'] = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'
    x, data = 12345, bytearray()
    while len(data) < 65536:
        x = (x * 1103515245 + 12345) % 2**31
        data += (x >> 8).to_bytes(3, 'little')
    files['bin'] = bytes(data[:65536])
    for i in range(1, 9):
        files[f'tree/a/f{i}'] = f'file {i}\n'
        files[f'src/f{i}.c'] = f'int f{i}(int x); int f{i}(int x) {{ return x + {i}; }}\n'
    files['tree/a/b/n'] = numbers
    files['src/main.c'] = ''.join(f'int f{i}(int);\n' for i in range(1, 9)) + \
        '#include <stdio.h>\nint main(void) { printf("%d\\n", f1(1) + f8(2)); return 0; }\n'
    files['src/Makefile'] = ('CFLAGS = -O1\nprog: main.o f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o\n\t$(CC) -o $@ $^\n'
                             '%.o: %.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n')
    files['py/many.py'] = '''import json, subprocess, multiprocessing as m
def f(x): return x * x
if __name__ == "__main__":
    open("out.json", "w").write(json.dumps({"a": [1, 2, 3]}))
    print(subprocess.check_output(["wc", "-l", "numbers"], text=True), sorted(m.Pool(3).map(f, range(20))))
'''
    files['py/threads.py'] = '''import threading
def f(i): open("t%d" % i, "w").write(str(i)); return open("numbers").read()
ts = [threading.Thread(target=f, args=(i,)) for i in range(30)]
[t.start() for t in ts]; [t.join() for t in ts]; print(len(ts))
'''
    files['py/__init__.py'] = ''
    files['py/case.py'] = 'import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n'
    for name, what in files.items():
        path = f'{top}/{name}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as f:
            f.write(what if isinstance(what, bytes) else what.encode())
        os.chmod(path, 0o644)
    os.symlink('../f1', f'{top}/tree/a/b/sym')
    for folder, dirs, names in os.walk(top, topdown=False):
        for name in names + dirs:
            os.utime(f'{folder}/{name}', (1577836800, 1577836800), follow_symlinks=False)
    os.utime(top, (1577836800, 1577836800))


def listing(top):
    """Each file: type, mode, where a link leads, what it holds."""
    result = {}
    for folder, dirs, names in os.walk(top):
        for name in names + dirs:
            path = f'{folder}/{name}'
            st = os.lstat(path)
            what = b''
            if stat.S_ISLNK(st.st_mode):
                what = os.readlink(path).encode(errors='surrogateescape')
            elif stat.S_ISREG(st.st_mode):
                try:
                    what = open(path, 'rb').read()
                except OSError as e:
                    what = str(e.errno).encode()
            result[os.path.relpath(path, top)] = (oct(st.st_mode), what)
    return result


WORDS = re.compile(rb'[A-Za-z0-9_.]+|[^A-Za-z0-9_.]')


class Mask:
    """What of an output is the same in runs without stemma."""

    def __init__(self, a, b):
        self.lines, self.any = [], False
        la, lb = a.split(b'\n'), b.split(b'\n')
        if a == b:
            self.whole = a
            return
        self.whole = None
        self.any = len(la) != len(lb)
        for x, y in zip(la, lb):
            wx, wy = WORDS.findall(x), WORDS.findall(y)
            self.lines.append(None if len(wx) != len(wy) else [p if p == q else None for p, q in zip(wx, wy)])

    def fits(self, c):
        if self.whole is not None:
            return c == self.whole
        if self.any:
            return True
        lines = c.split(b'\n')
        if len(lines) != len(self.lines):
            return False
        for want, line in zip(self.lines, lines):
            words = WORDS.findall(line)
            if want is not None and (len(words) != len(want) or any(p is not None and p != q for p, q in zip(want, words))):
                return False
        return True


def first_difference(a, b):
    la, lb = a.split(b'\n'), b.split(b'\n')
    for x, y in zip(la + [b'(end)'], lb + [b'(end)']):
        if x != y:
            return f'{x[:120]!r} became {y[:120]!r}'
    return 'another length'


def without_ours(out):
    """What goes along shows in an environment that is printed (doc/safe.md, doc/annotations.md). Also in runs without it, which
    have the variable that says where the record is."""
    return b'\n'.join(line for line in out.split(b'\n') if not line.startswith((b'LD_PRELOAD=/', b'STEMMA_')))


def difference(a, b, c):
    """What of c, a run in a mode, is neither as in a nor in what b differs from a; '' nothing."""
    if a['status'] == b['status'] != c['status']:
        return f'status {a["status"]} became {c["status"]}: {c["err"][:200]!r}'
    for what in 'out', 'err':
        if not Mask(a[what], b[what]).fits(c[what]):
            return f'{what}: {first_difference(a[what], c[what])}'
    always = a['files'].keys() & b['files'].keys()
    known = a['files'].keys() | b['files'].keys()
    if a['files'].keys() == b['files'].keys() and known != c['files'].keys():
        return f'files: {sorted(known ^ c["files"].keys())[:5]}'
    for name in sorted(always & c['files'].keys()):
        (ma, wa), (mb, wb), (mc, wc) = a['files'][name], b['files'][name], c['files'][name]
        if ma == mb != mc:
            return f'{name}: mode {ma} became {mc}'
        if wa == wb != wc or not Mask(wa, wb).fits(wc):
            return f'{name}: {first_difference(wa, wc)}'
    return ''


class Runner:
    def __init__(self, stemma, top):
        self.stemma, self.top = stemma, top
        self.made = f'{top}/material'
        os.makedirs(f'{top}/home')
        material(self.made)
        self.env = {'PATH': os.environ['PATH'], 'HOME': f'{top}/home', 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'TMPDIR': f'{top}/tmp',
                    'SOURCE_DATE_EPOCH': '1577836800', 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_NOSYSTEM': '1', 'USER': 'u',
                    'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONHASHSEED': '0', 'XDG_CACHE_HOME': f'{top}/home', 'STEMMA_HOME': f'{top}/record'}
        for who in 'AUTHOR', 'COMMITTER':
            self.env |= {f'GIT_{who}_NAME': 'a', f'GIT_{who}_EMAIL': 'a@b', f'GIT_{who}_DATE': '1 Jan 2020 00:00:00 +0000'}

    def run(self, command, options):
        """options None: without stemma."""
        w = f'{self.top}/w'
        for name in 'w', 'tmp', 'record':
            shutil.rmtree(f'{self.top}/{name}', ignore_errors=True)
        subprocess.run(['cp', '-a', self.made, w], check=True)
        os.mkdir(f'{self.top}/tmp')
        argv = ['/bin/sh', '-c', command]
        if options is not None:
            argv = [self.stemma, 'run', *options, '--', *argv]
        with open(f'{self.top}/out', 'w+b') as out, open(f'{self.top}/err', 'w+b') as err:
            p = subprocess.Popen(argv, cwd=w, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            try:
                status = p.wait(120)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
                status = 'none: it did not end'
            out.seek(0)
            err.seek(0)
            # A shell tells how it was ended by a signal by a number, who waits for it by another.
            if isinstance(status, int) and status < 0:
                status = 128 - status
            result = {'status': status, 'out': without_ours(out.read()), 'err': err.read()}
        result['files'] = listing(w)
        for folder, dirs, _ in os.walk(w):
            for d in dirs:
                try:
                    os.chmod(f'{folder}/{d}', 0o700, follow_symlinks=True)
                except OSError:
                    pass
        return result


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--stemma', required=True)
    ap.add_argument('--part', default='all', help='always, all, or 0 to 9: a tenth')
    ap.add_argument('--modes', default='default,count,safe')
    ap.add_argument('--campaign')
    ap.add_argument('--only', help='commands that have this text')
    args = ap.parse_args()
    os.umask(0o022)
    top = os.path.realpath(tempfile.mkdtemp(prefix='stemma-real.'))
    modes = args.modes.split(',')
    wrong, once, missing = {m: [] for m in modes}, [], {}
    done = 0
    try:
        r = Runner(os.path.abspath(args.stemma), top)
        for needed, command in commands(args.part):
            if args.only and args.only not in command:
                continue
            if not shutil.which(needed, path=r.env['PATH']):
                missing[needed] = missing.get(needed, 0) + 1
                continue
            a, b = r.run(command, None), r.run(command, None)
            if isinstance(a['status'], str) or isinstance(b['status'], str):
                missing[f'{needed} (does not end)'] = 1
                continue
            done += 1
            for m in modes:
                got = r.run(command, MODES[m])
                why = difference(a, b, got)
                if why:
                    c, d = r.run(command, None), r.run(command, None)
                    got = r.run(command, MODES[m])
                    again = [difference(x, y, got) for x, y in ((a, b), (a, c), (a, d), (c, d))]
                    if all(again):
                        wrong[m].append(f'{command}: {why}')
                    else:
                        once.append(f'{m}: {command}: {why}')
    finally:
        subprocess.run(['chmod', '-R', 'u+rwx', top], stderr=subprocess.DEVNULL)
        shutil.rmtree(top, ignore_errors=True)
    for i, m in enumerate(modes):
        print(f'{"not ok" if wrong[m] or not done else "ok"} {i + 1} - {m}: {done} commands do the same')
        for line in wrong[m]:
            print(f'# {line}')
    if missing:
        print(f'# not here, {sum(missing.values())} commands: {" ".join(sorted(missing))}')
    for line in once:
        print(f'# once: {line}')
    print(f'1..{len(modes)}')
    if args.campaign:
        add(args.campaign, args.part, modes, done, sum(missing.values()), [f'{m}: {line}' for m in modes for line in wrong[m]], once)
    sys.exit(any(wrong.values()) or not done)


def add(path, part, modes, done, missing, wrong, once):
    """Figures that grow: NAME VALUE, a line each; then what differed."""
    figures, lines = {}, []
    if os.path.exists(path):
        old = [line.rstrip('\n') for line in open(path)]
        figures = {k: int(v) for k, v in (line.split() for line in old if not line.startswith('#') and line.strip())}
        lines = [line for line in old if line.startswith(('# differs: ', '# once: '))]
    lines += [f'# differs: {x}' for x in wrong] + [f'# once: {x}' for x in once]
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    more = {'tenths': 10 if part == 'all' else 1, 'commands': done, 'not_installed': missing, 'differences': len(wrong), 'once': len(once),
            'cpu_seconds': int(u.ru_utime + u.ru_stime)}
    more |= {f'runs_{m}': done for m in modes}
    with open(path + '.new', 'w') as f:
        f.write('# tests/real/run.py --campaign: what was done so far, all together. differences: commands that did something else\n'
                '# in a mode, in two runs of it; once: in one of them.\n')
        for k in sorted(figures.keys() | more.keys()):
            f.write(f'{k} {figures.get(k, 0) + more.get(k, 0)}\n')
        f.writelines(line + '\n' for line in lines)
    os.rename(path + '.new', path)


if __name__ == '__main__':
    main()

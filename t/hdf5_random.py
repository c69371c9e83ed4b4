"""hdf5_random.py STEMMA SEED WAY - random programs that read, write and copy objects of HDF5 files, and text; each is run under stemma, in
the folder where this is started, and what each thing came from is worked out here, from what the programs were told to do. Prints a line for
each answer that is wrong, and last how many were looked at.

WAY is `told`: all programs run with --hdf5, and an answer has the sources and no others; what a program only copied may count as read by it.
Or `some`: some run without, and some copy files as wholes; then an answer has the sources, and may have others.
"""
import json
import os
import random
import subprocess
import sys
import time

PROGRAM = '''
import h5py, sys, shutil, json
data = 0.0
for op, *a in json.loads(sys.argv[1]):
    if op == 'text':
        data += len(open(a[0]).read())
    elif op == 'read':
        with h5py.File(a[0], a[2]) as f:
            data += float(f[a[1]][0])
    elif op == 'write':
        with h5py.File(a[0], 'a') as f:
            if a[1] in f:
                f[a[1]][...] = data
            else:
                f[a[1]] = [data, data]
    elif op == 'put':
        open(a[0], 'w').write(str(data))
    elif op == 'cp':
        shutil.copyfile(a[0], a[1])
    elif op == 'copy':
        with h5py.File(a[0]) as f, h5py.File(a[1], 'a') as t:
            f.copy(a[2], t, a[3])
'''
stemma, seed, told = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'told'
R = random.Random(seed)
NOTHING = (frozenset(), frozenset())
texts = {'in%d.txt' % i: (frozenset(['in%d.txt' % i]),) * 2 for i in range(3)}  # name -> least and most that it came from
objects = {}  # file -> object -> the same
unseen = set()  # files that somebody wrote who did not tell
number = 0


def join(a, b):
    return a[0] | b[0], a[1] | b[1]


def choose(seen):
    """One program: what it does, and what comes of it."""
    global number
    ops, know = [], NOTHING
    for _ in range(R.randint(1, 5)):
        op = R.choice(['text', 'read', 'read', 'write', 'write', 'put', 'copy'] + ([] if told else ['cp']))
        full = sorted(f for f in objects if objects[f])
        if op == 'text':
            name = R.choice(sorted(texts))
            ops.append([op, name])
            know = join(know, texts[name])
        elif op == 'read' and full:
            file = R.choice(full)
            name = R.choice(sorted(objects[file]))
            ops.append([op, file, name, R.choice(['r', 'r+'])])
            know = join(know, objects[file][name])
        elif op == 'write':
            file, name = 'f%d.h5' % R.randint(0, 2), R.choice('abc')
            ops.append([op, file, name])
            objects.setdefault(file, {})[name] = know
            unseen.update([] if seen else [file])
        elif op == 'put':
            number += 1
            ops.append([op, 't%d.txt' % number])
            texts['t%d.txt' % number] = know
        elif op == 'copy' and full:
            file, to = R.choice(full), 'f%d.h5' % R.randint(0, 2)
            name = R.choice(sorted(objects[file]))
            if file != to:
                number += 1
                ops.append([op, file, to, name, 'k%d' % number])
                came = objects[file][name]
                know = know[0], know[1] | came[1]  # its bytes were with the program
                objects.setdefault(to, {})['k%d' % number] = came[0], know[1]
                unseen.update([] if seen else [to])
        elif op == 'cp' and full:
            file, to = R.choice(full), 'f%d.h5' % R.randint(3, 4)
            if file != to:
                ops.append([op, file, to])
                objects[to] = dict(objects[file])
                unseen.add(to)
    return ops


def ask(what):
    done = subprocess.run([stemma, 'lineage', '--json', what], capture_output=True, check=False)
    found = json.loads(done.stdout)['entities'] if done.stdout else []
    return {os.path.basename(e['path']) for e in found if os.path.basename(e['path']).startswith('in')}


with open('program.py', 'w', encoding='utf-8') as f:
    f.write(PROGRAM)
for name in list(texts):
    with open(name, 'w', encoding='utf-8') as f:
        f.write('x' * 3)
for _ in range(12):
    seen = told or R.random() < .8
    ops = choose(seen)
    time.sleep(0.03)  # as in lib.sh: file times have the grain of the kernel's tick
    subprocess.run([stemma, 'run', *(['--hdf5'] if seen else []), '--', sys.executable, '-B', 'program.py', json.dumps(ops)], check=True)
looked = 0
asked = [(t, texts[t]) for t in sorted(texts) if not t.startswith('in')]
asked += [('%s//%s' % (f, o), objects[f][o]) for f in sorted(objects) if f not in unseen for o in sorted(objects[f])]
for what, (least, most) in asked:
    got = ask(what)
    looked += 1
    if least - got:
        print('%s: %s missing' % (what, ' '.join(sorted(least - got))))
    if told and got - most:
        print('%s: %s is none of its sources' % (what, ' '.join(sorted(got - most))))
print('%d answers' % looked)

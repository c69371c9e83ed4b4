#!/usr/bin/env python3
"""t1200-packages.py SOURCE BUILD - do the lists of files of the packages fit what `meson install` installs? TAP.

Of each file that would be installed by BUILD: in how many of Debian's packages, and how often in RPM's spec, is it named?
Exactly once is right. And the build dependencies of the packages are what tools/packages lists.
"""

import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

source, build = sys.argv[1:3]
count = failed = 0


def check(good, what, why=()):
    global count, failed
    count += 1
    failed += not good
    print(f'{"ok" if good else "not ok"} {count} - {what}')
    for line in why if not good else ():
        print(f'# {line}')


def introspect(what):
    return json.loads(subprocess.run(['meson', 'introspect', build, what], check=True, stdout=subprocess.PIPE, text=True).stdout)


def installed_files():
    """Paths as in a package whose prefix is /usr, and whose folder of libraries is Debian's."""
    options = {o['name']: o['value'] for o in introspect('--buildoptions')}
    prefix, libdir = options['prefix'], options['libdir']
    for made, path in introspect('--installed').items():
        names = [path]
        if os.path.isdir(made):
            names = [os.path.join(path, os.path.relpath(os.path.join(folder, f), made))
                     for folder, _, files in os.walk(made) for f in files if '__pycache__' not in folder]
        for name in names:
            name = os.path.relpath(name, prefix)
            if name.startswith(libdir + '/'):
                name = 'lib/x86_64-linux-gnu' + name[len(libdir):]
            yield 'usr/' + name


def matches(path, pattern):
    """As dh_install and rpm do: * is no slash, and a folder is all that is in it."""
    pattern, path = pattern.strip('/').split('/'), path.split('/')
    return len(path) >= len(pattern) and all(fnmatch.fnmatchcase(a, b) for a, b in zip(path, pattern))


def patterns_of(file):
    with open(file, encoding='utf-8') as f:
        return [line.split()[0] for line in f if line.strip() and not line.startswith('#')]


def named_once(files, lists, what):
    wrong = []
    for path in files:
        where = [name for name, patterns in lists for pattern in patterns if matches(path, pattern)]
        if len(where) != 1:
            wrong.append(f'{path}: {" and ".join(where) or "in none"}')
    check(files and not wrong, what, wrong or ['no files'])


def debian_lists():
    folder = os.path.join(source, 'packaging/debian')
    return [(os.path.basename(f), patterns_of(f)) for f in sorted(glob.glob(folder + '/*.install') + [folder + '/not-installed'])]


def macro_path(path):
    """With what rpm's macros stand for."""
    macros = {'_bindir': 'usr/bin', '_sbindir': 'usr/sbin', '_libdir': 'usr/lib/x86_64-linux-gnu', '_includedir': 'usr/include', '_datadir': 'usr/share',
              '_mandir': 'usr/share/man'}
    return re.sub(r'%\{([^}]*)\}', lambda m: macros.get(m[1], m[0]), path)


def rpm_lists():
    """The %files of the spec, and what it removes before."""
    lists, at = [], None
    with open(os.path.join(source, 'packaging/rpm/stemma.spec'), encoding='utf-8') as f:
        for line in f:
            if line.startswith('rm -r %{buildroot}'):
                lists.append(('what is removed', [macro_path(line[len('rm -r %{buildroot}'):].strip())]))
            elif line.startswith('%files'):
                at = []
                lists.append((line.strip(), at))
            elif line.startswith('%changelog'):
                at = None
            elif at is not None and line.strip() and not line.startswith(('%license', '%doc', '%dir', '#')):
                at.append(macro_path(line.strip()))
    return lists


def needed():
    """(Debian's name, the name for pkg-config or None) of what tools/packages has of the group build."""
    with open(os.path.join(source, 'tools/packages'), encoding='utf-8') as f:
        rows = [line.split() for line in f if line.startswith('build')]
    return [(row[3], row[2] if row[1] == 'pc' else None) for row in rows]


def main():
    files = sorted(set(installed_files()))
    named_once(files, debian_lists(), f'each of {len(files)} files is in one of Debian\'s packages')
    named_once(files, rpm_lists(), 'and in one of RPM\'s')
    essential = {'gcc', 'libc6-dev'}  # of build-essential, which no package names
    with open(os.path.join(source, 'packaging/debian/control'), encoding='utf-8') as f:
        control = f.read()
    depends = re.findall(r'^ ([a-z0-9.+-]+)', control[control.index('Build-Depends'):control.index('Standards')], re.M)
    check(not {n for n, _ in needed()} - essential - set(depends), 'Debian\'s build dependencies are those of tools/packages',
          sorted({n for n, _ in needed()} - essential - set(depends)))
    with open(os.path.join(source, 'packaging/rpm/stemma.spec'), encoding='utf-8') as f:
        spec = f.read()
    lacks = [pc for _, pc in needed() if pc and f'pkgconfig({pc})' not in spec]
    check(not lacks, 'and RPM\'s, too', lacks)
    version = introspect('--projectinfo')['version']
    with open(os.path.join(source, 'packaging/debian/changelog'), encoding='utf-8') as f:
        places = {'changelog': f.readline()}
    places['spec'] = '\n'.join(re.findall('^Version:.*', spec, re.M))
    for name in ('conda/meta.yaml', 'spack/package.py', 'nix/package.nix'):
        with open(os.path.join(source, 'packaging', name), encoding='utf-8') as f:
            places[name] = f.read()
    check(all(version in text for text in places.values()), f'all of them say version {version}', [n for n, t in places.items() if version not in t])
    print(f'1..{count}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())

#!/bin/sh
# Links of the pages in Markdown lead to files that are there, and pages that source, tests and manuals name are there.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
exec $PYTHON -B - "$here" <<'END'
import glob
import os
import re
import sys

here = sys.argv[1]
pages = glob.glob(here + '/*.md') + glob.glob(here + '/doc/**/*.md', recursive=True) + glob.glob(here + '/*/*/README.md')
bad = []
for page in sorted(pages):
    with open(page, encoding='utf-8') as f:
        text = re.sub(r'^```.*?^```$', '', f.read(), flags=re.S | re.M)
    for target in re.findall(r'\]\(([^)\s#]+)(?:#[^)]*)?\)', text):
        if not re.match(r'[a-z]+:', target) and not os.path.exists(os.path.join(os.path.dirname(page), target)):
            bad.append(f'{os.path.relpath(page, here)}: link to {target}')
for top in ('doc', 'src', 't', 'man', 'tests', 'include'):
    for folder, folders, files in os.walk(os.path.join(here, top)):
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith(('.md', '.c', '.h', '.def', '.sh', '.py', '.1', '.7', '.8', '.3')):
                with open(path, encoding='utf-8', errors='replace') as f:
                    for target in set(re.findall(r'\bdoc/[\w/-]+\.md\b', f.read())):
                        if not os.path.exists(os.path.join(here, target)):
                            bad.append(f'{os.path.relpath(path, here)}: names {target}')
print(f'{"not " if bad else ""}ok 1 - links of {len(pages)} pages, and pages that are named')
for line in bad:
    print('# ' + line)
print('1..1')
sys.exit(bool(bad))
END

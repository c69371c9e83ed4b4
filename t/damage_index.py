"""damage_index.py - damages an index, again and again, and asks.

    damage_index.py STEMMA EVTEXT FOLDER SEED COUNT

Each round takes an intact record, flips a bit of its index or writes over some of it, and asks one question. The answer
must be the one from before the damage. A question that fails and says so is counted apart. Then the next question must
be answered as before. Prints one line for each answer that is wrong, and at the end how many there were.
"""

import os
import random
import shutil
import subprocess
import sys

from damage import QUESTIONS, make


def main():
    stemma, evtext, folder, seed, count = sys.argv[1:6]
    good, home = os.path.join(folder, 'good'), os.path.join(folder, 'record')
    env = {**os.environ, 'STEMMA_HOME': home, 'HOME': folder, 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8'}

    def ask(question):
        p = subprocess.run([stemma, *question], env=env, capture_output=True, stdin=subprocess.DEVNULL)
        return p.returncode, p.stdout, p.stderr

    make(evtext, home)
    truth = [ask(q)[:2] for q in QUESTIONS]
    shutil.copytree(home, good)
    index = open(os.path.join(good, 'index.db'), 'rb').read()
    wrong = failed = mended = untouched = 0
    for n in range(int(seed), int(seed) + int(count)):
        rng = random.Random(n)
        b = bytearray(index)
        kind = rng.randrange(5)
        at = rng.randrange(len(b))
        if kind < 3:
            b[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            length = rng.choice((1, 8, 64, 512, 4096, 16384))
            b[at:at + length] = rng.choice((bytes(length), rng.randbytes(length)))[:len(b) - at]
        else:
            page = rng.randrange(len(b) // 16384) * 16384, rng.randrange(len(b) // 16384) * 16384
            if rng.randrange(8) == 0:
                del b[at:]
            else:
                b[page[0]:page[0] + 16384], b[page[1]:page[1] + 16384] = index[page[1]:page[1] + 16384], index[page[0]:page[0] + 16384]
        for f in os.listdir(home):
            if f.startswith('index'):
                os.unlink(os.path.join(home, f))
        with open(os.path.join(home, 'index.db'), 'wb') as f:
            f.write(b)
        for turn in range(2):
            k = rng.randrange(len(QUESTIONS))
            status, out, err = ask(QUESTIONS[k])
            if (status, out) == truth[k]:
                mended += b'rebuilt' in err
                untouched += not err
            elif status == 125 and not out and turn == 0:
                failed += 1
                print('failed: seed %d: stemma %s: %s' % (n, ' '.join(QUESTIONS[k]), err[:200]))
            else:
                wrong += 1
                print('wrong: seed %d, kind %d, turn %d: stemma %s: %d %s' % (n, kind, turn, ' '.join(QUESTIONS[k]), status, err[:200]))
    print('%s rounds: %d answers of an index that was made again, %d of pages that were whole, %d failed, %d wrong' % (
        count, mended, untouched, failed, wrong))
    sys.exit(1 if wrong or failed else 0)


main()

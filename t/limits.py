#!/usr/bin/env python3
"""limits.py SUMMARY TRUTH CLAIM... - holds the summary of a run that was limited against what the program reached.

A claim is an expression in Python: D is the summary, X its exceeded limits (name: {limit, peak}), T what p-limit.c left in
its file (filled, born, termed, done, late), MiB. Sizes are bytes, times seconds. Prints what does not hold, and ends with 1."""

import json
import struct
import sys

NAMES = ('filled', 'born', 'termed', 'done', 'late', 'root')


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        d = json.load(f)
    with open(sys.argv[2], 'rb') as f:
        truth = dict(zip(NAMES, struct.unpack('=6Q', f.read(48))))
    names = {'D': d, 'X': {e['name']: e for e in d['limits_exceeded']}, 'T': truth, 'MiB': 1 << 20}
    bad = 0
    for claim in sys.argv[3:]:
        try:
            holds = eval(claim, names)  # pylint: disable=eval-used
        except (KeyError, TypeError) as e:
            holds, claim = False, claim + ': ' + repr(e)
        if not holds:
            bad = 1
            print('not so:', claim)
    if bad:
        print(truth, {k: d[k] for k in ('exit_type', 'exit_status', 'signal', 'oom', 'limits', 'limits_exceeded', 'escaped')})
    return bad


if __name__ == '__main__':
    sys.exit(main())

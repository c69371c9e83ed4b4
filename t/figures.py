#!/usr/bin/env python3
"""figures.py SUMMARY TRUTH CLAIM... - holds a summary against what a program said of itself (lines "name value").

A claim is an expression in Python: v, low, high, complete, absent, method (of a figure's name), T (the truth, a dict of
integers; of a name said several times the sum), D (the summary). Times of the truth are ns, of the summary seconds.
near(name, truth, less, more): the figure lies between truth * (1 - less) and truth * (1 + more).
E(name): the figure in empty.json, a summary of the same without the work.
holds(name, truth): low <= truth <= high, and the value is between them too.
own (OWN in the environment, else 0): bytes by which memory may be more than the truth.
Prints what does not hold, and ends with 1."""

import json
import os
import sys
from decimal import Decimal


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        d = json.load(f, parse_float=Decimal)
    truth = {}
    with open(sys.argv[2], encoding='utf-8') as f:
        for line in f:
            name, value = line.split()
            truth[name] = truth.get(name, 0) + int(value)

    def v(name):
        return d[name]['value']

    def low(name):
        return d[name].get('low', d[name]['value'])

    def high(name):
        return d[name].get('high', d[name]['value'])

    own = int(os.environ.get('OWN', 0))

    def excess(name):
        return own if name.startswith('memory_') else 0

    def near(name, true, less, more):
        return true * (1 - Decimal(str(less))) <= v(name) <= true * (1 + Decimal(str(more))) + excess(name)

    def holds(name, true):
        return low(name) - excess(name) <= true <= high(name) and low(name) <= v(name) <= high(name)

    def seconds(name):
        return Decimal(truth[name]) / 1000000000

    def empty(name):
        with open('empty.json', encoding='utf-8') as f:
            return json.load(f, parse_float=Decimal)[name]['value']

    names = dict(Decimal=Decimal, own=own, E=empty, v=v, low=low, high=high, near=near, holds=holds, s=seconds, T=truth, D=d,
                 complete=lambda name: d[name]['complete'], absent=lambda name: 'absent' in d[name],
                 method=lambda name: d[name]['method'])
    bad = 0
    for claim in sys.argv[3:]:
        try:
            ok = eval(claim, names)
        except (KeyError, TypeError) as e:
            ok = False
            print('failed:', repr(e))
        if not ok:
            bad = 1
            print('not so:', claim)
    if bad:
        print('truth:', truth)
        for name in sorted(d):
            if isinstance(d[name], dict) and ('value' in d[name] or 'absent' in d[name]):
                print(' ', name, {k: str(x) for k, x in d[name].items()})
        print('  escaped', d.get('escaped'))
    return bad


if __name__ == '__main__':
    sys.exit(main())

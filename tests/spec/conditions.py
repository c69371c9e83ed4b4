#!/usr/bin/env python3
"""conditions.py make SEED - a C program (that is C++, too) full of conditions made at random, on standard output.
conditions.py judge LINES... - a C program that says where a specification's words for a condition are not what was
decided. LINES are what stemma-spectrace -w says of a run with the argument 0, 1, ...; what C makes of the words is the
truth. The last line that it says is "N words, M decisions without".

In the first program nothing that a condition looks at changes, so the words may be asked about afterwards.
"""

import random
import re
import sys

# Of both programs: what conditions may look at, and how it goes by the argument.
COMMON = r'''
#include <stdlib.h>
#include <unistd.h>
struct s { int m; };
static int a, b, c, d, r, v[2], *q, *p;
static double x, y;
static struct s s, *sp = &s;
#define LESS(l, m) ((l) < (m))
#define NOT(l) (!(l))
#define IS_ZERO !a
#define likely(l) __builtin_expect(!!(l), 1)
static void set(unsigned i)
{
	static int there;
	i *= 2654435761u;
	a = i >> 8 & 1, b = i >> 9 & 3, c = i >> 11 & 3, d = i >> 13 & 1;
	v[0] = i >> 14 & 1, v[1] = i >> 15 & 1;
	there = i >> 16 & 1;
	q = &there;
	p = i & 1 << 17 ? &there : NULL;
	x = (i >> 18 & 3) * 0.25;
	y = (i >> 20 & 3) * 0.25;
	s.m = i >> 22 & 1;
}
'''

LEAVES = ['a', 'b', 'd', 'a == b', 'b < c', 'c >= 2', '1 != b', 'x < y', 'x == y', 'p == q', 'q && *q', '*q', 's.m', 'sp->m',
          'v[a]', 'v[a && d]', 'b & 2', 'b - c', '-a', '~b & c', '(int)x', 'f(a)', 'f(b) == 2', 'f(b < c)', 'f(a && d)',
          'g(f(a), b)', '(r = f(b)) > 1', '(r = f(a))', 'LESS(a, b)', 'LESS(f(b), c)', 'NOT(a)', 'NOT(f(d))', 'IS_ZERO',
          'likely(a == 1)', "b == '\\1'", 'sizeof(a) == 4 + b', 'a == b == d', '(b < c) == d', '(b & 1) == (c & 1)',
          '!(a == b) == d', 'f((a, d))', '"ab"[d] == \'b\'']


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.marks = 0

    def mark(self):
        self.marks += 1
        return f'mark({self.marks});'

    def expr(self, depth):
        kind = self.r.randrange(9 if depth else 3)
        if kind < 3:
            return self.r.choice(LEAVES)
        if kind == 3:
            return f'!({self.expr(depth - 1)})'
        if kind == 4:
            return f'({self.expr(depth - 1)})'
        if kind == 5:
            return f'({self.expr(depth - 1)} ? {self.expr(depth - 1)} : {self.expr(depth - 1)})'
        op = self.r.choice(['&&', '||'])
        sides = [self.expr(depth - 1) if self.r.randrange(8) else 'p' for _ in range(2)] # a pointer may stand here only
        if kind == 6:
            sides = [f'!({side})' if self.r.randrange(2) else f'({side})' for side in sides]
        else:
            sides = [f'({side})' if '||' in side or '&&' in side or '?' in side else side for side in sides]
        return f' {op} '.join(sides)

    def statement(self):
        e = self.expr(3)
        m, n = self.mark(), self.mark()
        return self.r.choice([
            f'if ({e}) {{ {m} }}', f'if ({e}) {{ {m} }} else {{ {n} }}', f'while ({e}) {{ {m} break; }}',
            f'for (r = 0; {e}; r++) {{ {m} break; }}', f'do {{ {m} if (++turns > 2) break; }} while ({e});',
            f'r = {e};', f'r = !({e});', f'r = f({e});', f'if ((r = {e})) {m}', f'({e}) ? {m[:-1]} : {n}',
            f'r = ({e}) ? f(1) : f(2);', f'r = f(1) + ({e});', f'if (a) if ({e}) {m}', f'switch (({e}) ? 1 : 2) {{ case 1: {m} break; default: {n} }}',
            f'{{ int z = {e}, w = !({e}); r = z + w; }}', f'if (likely(b == 2) && ({e})) {m}'])

    def spaced(self, text):
        """The same with space, lines and comments where they may stand."""
        out = ''
        for c in text:
            out += c if c != ' ' or self.r.randrange(8) else self.r.choice(['\n\t', ' /* && ( */ ', '\t', ' // )\n\t', ' \\\n'])
        return out

    def text(self):
        out = COMMON + r'''
static void mark(int n)
{
	if (write(1, "", 0) < 0)
		_exit(n);
}
static int f(int n)
{
	mark(n);
	return n;
}
static int g(int l, int m)
{
	return l | m;
}
static int turns;
'''
        functions = [(f'fn{i}', [self.statement() for _ in range(5)]) for i in range(12)]
        for name, body in functions:
            out += f'static int {name}(void)\n{{\n\tturns = 0;\n'
            out += ''.join(f'\t{self.spaced(line)}\n' for line in body)
            out += f'\treturn {self.spaced(self.expr(3))};\n}}\n'
        return out + 'int main(int argc, char **argv)\n{\n\tset(argc > 1 ? (unsigned)atoi(argv[1]) : 0);\n' + \
            ''.join(f'\t(void){name}();\n' for name, _ in functions) + '\treturn 0;\n}\n'


def judge(files):
    asked, without = [], 0
    for i, name in enumerate(files):
        with open(name, encoding='utf-8') as file:
            for line in file:
                m = re.match(r' *(\d+) decide (true|false)[^\t]*\t(.*)$', line)
                if not m:
                    without += ' decide ' in line
                elif 'turns' in m.group(3): # it changes
                    continue
                elif m.group(3):
                    asked.append((i, m.group(1), m.group(2) == 'true', m.group(3)))
                else:
                    without += 1
    out = '#include <stdio.h>\n' + COMMON + 'static int f(int n) { return n; }\nstatic int g(int l, int m) { return l | m; }\n'
    out += 'static void ask(const char *at, const char *words, int said, int is)\n{\n' \
        '\tif (said != is)\n\t\tprintf("%s: %s: said to be %d\\n", at, words, said);\n}\n'
    for k, (i, line, said, words) in enumerate(dict.fromkeys(asked)):
        quoted = words.replace('\\', '\\\\').replace('"', '\\"')
        out += f'static void ask{k}(void)\n{{\n\tset({i});\n\task("run {i}, line {line}", "{quoted}", {int(said)}, !!({words}));\n}}\n'
    out += 'int main(void)\n{\n\t(void)f, (void)g, (void)x, (void)sp;\n' + ''.join(f'\task{k}();\n' for k in range(len(dict.fromkeys(asked))))
    return out + f'\tputs("{len(asked)} words, {without} decisions without");\n\treturn 0;\n}}\n'


if sys.argv[1] == 'make':
    sys.stdout.write(Program(int(sys.argv[2])).text())
else:
    sys.stdout.write(judge(sys.argv[2:]))

#!/usr/bin/env python3
"""random_programs.py make SEED [FUNCTIONS] - a C program whose ways depend on its argument, on standard output.
random_programs.py check LINES LOG - does the trace (lines of stemma-spectrace) tell what the program's own log tells?

The program notes what it does, by itself: each system call with its line ("m LINE"), each decision with its line and
outcome ("d LINE 0|1": is it towards the condition being true), in a piece of memory that it writes to the file of its second argument at the end. Of the trace
all system calls must be there, in that order, and every decision that it has must be the program's own: the trace is
a part of the log, with nothing between that the log does not have.
"""

import random
import re
import sys

HEAD = r'''#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char text[1 << 22];
static unsigned long used, state, fuel = 20000;
static void note(char kind, int line, int value)
{
	char digits[12];
	int n = 0;
	if (used > sizeof(text) - 32)
		return;
	text[used++] = kind;
	text[used++] = ' ';
	do
		digits[n++] = (char)('0' + line % 10);
	while (line /= 10);
	while (n)
		text[used++] = digits[--n];
	if (kind == 'd') {
		text[used++] = ' ';
		text[used++] = (char)('0' + value);
	}
	text[used++] = '\n';
}
static int D(int line, int value)
{
	note('d', line, value != 0);
	return value != 0;
}
/* The same under a `!`. */
static int N(int line, int value)
{
	note('d', line, value == 0);
	return value != 0;
}
static unsigned r(unsigned n)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(state >> 33) % n;
}
static void mark(int line)
{
	note('m', line, 0);
	(void)!write(1, "", 1);
}
'''


class Maker:
    def __init__(self, seed, functions):
        self.random = random.Random(seed)
        self.functions = functions
        self.lines = HEAD.count('\n')
        self.out = [HEAD]

    def line(self, depth, text):
        self.lines += 1
        self.out.append('\t' * depth + text + '\n')

    def condition(self, text):
        """text, as it is or under a `!`; at times as an operand of && or ||. Each operand notes which way it leads:
        towards the whole being true, or not."""
        turned = self.random.random() < 0.5
        ret = f'{"!" if turned else ""}{"ND"[not turned]}(__LINE__, {text})'
        kind = self.random.random()
        if kind < 0.6:
            return ret
        other = f'r({self.random.randrange(2, 4)}) == 0'
        sign = self.random.choice(['&&', '||'])
        if kind < 0.8:
            return f'{ret} {sign} D(__LINE__, {other})'
        # A `!` over all of it: what makes an operand true leads towards false.
        a, b = (text, other) if kind < 0.9 else (other, text)
        return f'!(N(__LINE__, {a}) {sign} {self.random.choice(["N(__LINE__, ", "!D(__LINE__, "])}{b}))'

    def statement(self, f, depth, loop):
        kind = self.random.random()
        if depth > 4:
            kind *= 0.4
        n = self.random.randrange(2, 5)
        if kind < 0.15:
            self.line(depth, 'mark(__LINE__);')
        elif kind < 0.25:
            self.line(depth, f'x += r({n}) * 3;')
        elif kind < 0.36 and f + 1 < self.functions:
            self.line(depth, f'x += f{self.random.randrange(f + 1, self.functions)}(x);')
        elif kind < 0.4:
            self.line(depth, self.random.choice(['break;', 'continue;'] if loop else ['return x;', 'x++;']))
        elif kind < 0.65:
            self.line(depth, f'if ({self.condition(f"r({n}) == 0")}) {{')
            self.block(f, depth + 1, loop)
            if self.random.random() < 0.5:
                self.line(depth, '} else {')
                self.block(f, depth + 1, loop)
            self.line(depth, '}')
        elif kind < 0.8 and self.random.random() < 0.5:
            self.line(depth, f'for (unsigned i = 0, n = r({n + 1}); !N(__LINE__, i >= n || fuel == 0); i++) {{')
            self.line(depth + 1, 'fuel--;')
            self.block(f, depth + 1, True)
            self.line(depth, '}')
        elif kind < 0.8:
            self.line(depth, f'for (unsigned i = 0, n = r({n + 1}); D(__LINE__, i < n && fuel > 0); i++) {{')
            self.line(depth + 1, 'fuel--;')
            self.block(f, depth + 1, True)
            self.line(depth, '}')
        elif kind < 0.9:
            self.line(depth, f'switch (r({n + 1})) {{')
            for case in range(n):
                self.line(depth, f'case {case}:')
                self.block(f, depth + 1, False)
                if self.random.random() < 0.7:
                    self.line(depth + 1, 'break;')
            self.line(depth, 'default:')
            self.line(depth + 1, 'x--;')
            self.line(depth, '}')
        else:
            self.line(depth, 'do {')
            self.line(depth + 1, 'fuel -= fuel > 0;')
            self.block(f, depth + 1, False)
            self.line(depth, self.random.choice([f'}} while (D(__LINE__, r({n}) == 0 && fuel > 0));',
                                                 f'}} while (!N(__LINE__, r({n}) != 0 || fuel == 0));']))

    def block(self, f, depth, loop):
        for _ in range(self.random.randrange(1, 4)):
            self.statement(f, depth, loop)

    def make(self):
        for f in range(self.functions):
            self.line(0, f'static unsigned f{f}(unsigned);')
        for f in range(self.functions):
            self.line(0, f'static unsigned f{f}(unsigned x)')
            self.line(0, '{')
            self.line(1, 'if (D(__LINE__, fuel == 0))')
            self.line(2, 'return x;')
            self.line(1, 'fuel--;')
            for _ in range(4):
                self.block(f, 1, False)
            self.line(1, 'return x;')
            self.line(0, '}')
        self.line(0, 'int main(int argc, char **argv)')
        self.line(0, '{')
        self.line(1, 'state = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;')
        self.line(1, 'unsigned x = f0(0);')
        self.line(1, 'int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);')
        self.line(1, '(void)!write(fd, text, used);')
        self.line(1, 'return close(fd) + (int)(x & 0);')
        self.line(0, '}')
        return ''.join(self.out)


def check(trace, log):
    want = [line.split() for line in open(log)]
    got = []
    for line in open(trace):
        found = re.match(r' *(\d+) (call mark|decide (true|false))', line)
        if found:
            got.append(['m', found.group(1)] if found.group(2) == 'call mark' else
                       ['d', found.group(1), '1' if found.group(3) == 'true' else '0'])
    at = 0
    for event in got:
        # What is not in the trace decides nothing; a system call is never passed over.
        while at < len(want) and want[at] != event:
            if want[at][0] == 'm' and event[0] == 'm':
                sys.exit(f'the program made the call of line {want[at][1]}, the trace has line {event[1]}')
            at += 1
        if at == len(want):
            sys.exit(f'the trace has {event}, which the program did not do')
        at += 1
    if any(event[0] == 'm' for event in want[at:]):
        sys.exit('the trace ends before the last call')
    print(len(got), 'of', len(want))


def main():
    if sys.argv[1] == 'make':
        sys.stdout.write(Maker(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 4).make())
    else:
        check(sys.argv[2], sys.argv[3])


main()

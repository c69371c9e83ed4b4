#!/usr/bin/env python3
"""random_programs.py STEMMA CLANG FOLDER SEED COUNT - programs made at random, sliced, and run with one argument changed at a
time: what the slice says cannot be reached must be written as before. Status 1 if something is not."""
import json
import os
import random
import subprocess
import sys

ARGUMENTS = 4
HEAD = """#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int g0, g1 = 1, g2 = 2, g3, t[3], *p = &g0, fuel = 300;
static struct {
	int a, b;
} s;
static jmp_buf j;
static char b[32];
static void say(int k, int n)
{
	fprintf(stderr, "%d %d\\n", k, n); /* OUT say */
}
static void store(int n)
{
	FILE *f = fopen("cell.txt", "w");
	fprintf(f, "%d", n);
	fclose(f);
}
static int fetch(void)
{
	int n = 0;
	FILE *f = fopen("cell.txt", "r");
	if (f) {
		fscanf(f, "%d", &n);
		fclose(f);
	}
	return n;
}
static int h0(int n)
{
	return n + 1;
}
static int h1(int n)
{
	g1 = n;
	return 2;
}
static int (*h[2])(int) = {h0, h1};
"""


class Maker:
    """One program; variables v0 to v(n - 1) and functions f0 to f(k - 1) are there where it writes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.outputs = self.loops = 0

    def variable(self, n):
        r = self.random
        return r.choice([f"g{r.randrange(4)}", f"t[{r.randrange(3)}]", "s.a", "s.b", "*p"] + [f"v{i}" for i in range(n)] * 2)

    def expression(self, n, k, depth=0):
        r = self.random
        kind = r.randrange(8)
        if kind < 2:
            return str(r.randrange(-3, 5))
        if kind < 5 or depth > 2:
            return self.variable(n)
        if kind == 5 and k:
            return f"f{r.randrange(k)}({self.expression(n, 0, depth + 1)}, {self.expression(n, 0, depth + 1)})"
        if kind == 6 and k:
            return f"h[{self.expression(n, 0, depth + 1)} & 1]({self.expression(n, 0, depth + 1)})"
        operator = r.choice(["+", "-", "^", "<", "==", "&"])
        return f"({self.expression(n, k, depth + 1)} {operator} {self.expression(n, k, depth + 1)})"

    def condition(self, n, k, indent, tabs):
        text = f"{tabs}if ({self.expression(n, k)}) {{\n{self.block(n, k, indent + 1)}"
        return text + (f"{tabs}}} else {{\n{self.block(n, k, indent + 1)}{tabs}}}\n" if self.random.randrange(2) else f"{tabs}}}\n")

    def loop(self, n, k, indent, tabs):
        self.loops += 1
        i = f"i{self.loops}"
        text = f"{tabs}for (int {i} = 0; {i} < ({self.expression(n, 0)} & 3); {i}++) {{\n{self.block(n, k, indent + 1)}"
        if self.random.randrange(2):
            text += f"{tabs}\tif ({self.expression(n, 0)})\n{tabs}\t\tbreak;\n"
        return text + f"{tabs}}}\n"

    def output(self, n, k, tabs):
        self.outputs += 1
        if self.random.randrange(2):
            return f"{tabs}say({self.outputs}, {self.expression(n, k)});\n"
        return f'{tabs}fprintf(stderr, "%d %d\\n", {self.outputs}, {self.expression(n, k)}); /* OUT {self.outputs} */\n'

    def statement(self, n, k, indent):
        r = self.random
        kind = r.randrange(14)
        tabs = "\t" * indent
        if kind < 4:
            return f"{tabs}{self.variable(n)} = {self.expression(n, k)};\n"
        if kind < 6 and indent < 4:
            return self.condition(n, k, indent, tabs)
        if kind == 6 and indent < 4:
            return self.loop(n, k, indent, tabs)
        if kind == 7:
            return f"{tabs}p = {self.expression(n, 0)} ? &g{r.randrange(4)} : {r.choice(['&s.a', '&t[1]', 'p'])};\n"
        if kind == 8 and r.randrange(3) == 0:
            leaves = r.choice(["exit(0)", "return 0", "longjmp(j, 1)"])
            return f"{tabs}if ({self.expression(n, 0)} == {r.randrange(-2, 9)})\n{tabs}\t{leaves};\n"
        if kind == 9:
            return f'{tabs}sprintf(b, "%d", {self.expression(n, 0)});\n{tabs}{self.variable(n)} = atoi(b);\n'
        if kind == 10 and r.randrange(3) == 0:
            return f"{tabs}store({self.expression(n, 0)});\n{tabs}{self.variable(n)} = fetch();\n"
        if kind == 11:
            return f"{tabs}memcpy(t, (int[3]){{{self.expression(n, 0)}, {self.expression(n, 0)}, 1}}, {r.choice([4, 8, 12])});\n"
        return self.output(n, k, tabs)

    def block(self, n, k, indent):
        return "".join(self.statement(n, k, indent) for _ in range(self.random.randrange(1, 4)))

    def program(self):
        text = HEAD
        for k in range(self.random.randrange(1, 4)):
            text += f"static int f{k}(int v0, int v1)\n{{\n\tif (--fuel < 0)\n\t\treturn 0;\n{self.block(2, k, 1)}{self.block(2, k, 1)}"
            if self.random.randrange(3) == 0:
                text += f"\tif (v0 > 0)\n\t\tv1 = f{k}(v0 - 1, v1) + v1;\n"
            text += f"\treturn {self.expression(2, k)};\n}}\n"
        text += "int main(int argc, char **argv)\n{\n"
        text += "".join(f"\tint v{i} = atoi(argv[{i + 1}]);\n" for i in range(ARGUMENTS))
        text += "\tif (setjmp(j))\n\t\treturn 0;\n"
        return text + "".join(self.block(ARGUMENTS, k, 1) for _ in range(6)) + "\treturn 0;\n}\n"


def outputs_of(source, answer):
    """The outputs of the slice by their marks."""
    lines = source.split("\n")
    found = {}
    for o in answer["outputs"]:
        mark = lines[o.get("line", 1) - 1].split("/* OUT ")
        if len(mark) > 1:
            found[mark[1].split()[0]] = o
    return found


def run(folder, values, direct):
    """The lines that each output wrote; None: it crashed or took too long."""
    cell = os.path.join(folder, "cell.txt")
    if os.path.exists(cell):
        os.unlink(cell)
    try:
        r = subprocess.run([os.path.join(folder, "p"), *map(str, values)], cwd=folder, stdin=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return None
    if r.returncode < 0:
        return None
    written = {}
    for line in r.stderr.decode().splitlines():
        number = line.split()[0]
        written.setdefault(number if number in direct else "say", []).append(line)
    return written


def examine(stemma, clang, folder, seed):
    """How often something was compared that is proved, and how often that was wrong."""
    source = Maker(seed).program()
    os.makedirs(folder)
    path = os.path.join(folder, "p.c")
    with open(path, "w", encoding="utf-8") as f:
        f.write(source)
    subprocess.check_call([clang, "-w", "-g", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", path, "-o", folder + "/p.bc"])
    subprocess.check_call([clang, "-w", path, "-o", folder + "/p"])
    answer = json.loads(subprocess.check_output([stemma, "slice", "--json", folder + "/p.bc"]))
    outputs = outputs_of(source, answer)
    proved = wrong = 0
    values = random.Random(seed)
    for _ in range(5):
        base = [values.randrange(-3, 8) for _ in range(ARGUMENTS)]
        before = run(folder, base, outputs)
        for k in range(ARGUMENTS):
            changed = base[:k] + [values.randrange(-3, 12)] + base[k + 1:]
            after = run(folder, changed, outputs)
            if before is None or after is None:
                continue
            ids = {i["id"] for i in answer["inputs"] if i["kind"] == "arguments" or (i["kind"], i.get("name")) == ("argument", str(k + 1))}
            for mark, o in outputs.items():
                if ids & set(o["may"]):
                    continue
                proved += 1
                if before.get(mark) != after.get(mark):
                    wrong += 1
                    print(f"seed {seed}: argument {k + 1} reaches output {mark}: {base} {changed}")
    return proved, wrong


def main():
    stemma, clang, folder, seed, count = sys.argv[1:6]
    total = [0, 0]
    for n in range(int(seed), int(seed) + int(count)):
        for i, x in enumerate(examine(stemma, clang, os.path.join(folder, str(n)), n)):
            total[i] += x
    print(f"programs {count}, comparisons of what is proved {total[0]}, wrong {total[1]}")
    return 1 if total[1] or not total[0] else 0


sys.exit(main())

#!/usr/bin/env python3
"""make_page.py head|tail HTML CSS JS... - the page of a report as numbers for an array of C: what stands before the data,
or behind it.

The HTML has @CSS@, @DATA@ and @JS@, each alone on a line, and @POLICY@. The scripts become one, in one function of its own, and
@POLICY@ the rule that lets this script and this style alone count.
"""

import base64
import hashlib
import sys


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main():
    part, html, css, *scripts = sys.argv[1:]
    read = [open(name, encoding='utf-8').read() for name in (html, css, *scripts)]
    page, style = read[0], '\n' + read[1]
    script = "\n(function () {\n'use strict';\n" + '\n'.join(read[2:]) + '}());\n'
    if '</' in script or '<!--' in script or '</' in style:
        sys.exit('make_page: a script or style would end where it should not')
    policy = f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; base-uri 'none'; form-action 'none'"
    head, tail = page.replace('@POLICY@', policy).replace('@CSS@', style).replace('@JS@', script).split('@DATA@')
    data = (head if part == 'head' else tail).encode()
    for at in range(0, len(data), 32):
        print(','.join(map(str, data[at:at + 32])) + ',')


main()

#!/usr/bin/env python3
"""make_page.py PART HTML CSS SITE JS... - the page of a report as numbers for an array of C. PART is

    head, tail                  what stands before the data, or behind it
    served-head, served-tail    the same of a page that `stemma serve` sends: script and style are files, assets/..., and the navigation
                                SITE stands first
    script, style               these files
    shell                       a page of `stemma serve` without data: SITE stands first

The HTML has @CSS@, @DATA@ and @JS@, each alone on a line, @SITE@ and @POLICY@. The scripts become one, in one function of its own, and
@POLICY@ the rule that lets this script and this style alone count.
"""

import base64
import hashlib
import sys


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f'make_page: {old} is to be there once')
    return text.replace(old, new)


def served(page, site):
    page = replaced(page, '<meta http-equiv="Content-Security-Policy" content="@POLICY@">\n', '')
    page = replaced(page, '<style>@CSS@</style>', '<link rel="stylesheet" href="assets/page.css">')
    page = replaced(page, '<script>@JS@</script>', '<script src="assets/report.js"></script>')
    page = replaced(page, '<html lang="en">', '<html lang="en" data-served>')
    return replaced(page, '@SITE@', site)


def alone(page, style, script):
    policy = f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; base-uri 'none'; form-action 'none'"
    page = replaced(page, '@SITE@\n', '')
    return page.replace('@POLICY@', policy).replace('@CSS@', style).replace('@JS@', script)


def main():
    part, html, css, site, *scripts = sys.argv[1:]
    page, style, site, *parts = [open(name, encoding='utf-8').read() for name in (html, css, site, *scripts)]
    style = '\n' + style
    script = "\n(function () {\n'use strict';\n" + '\n'.join(parts) + '}());\n'
    if '</' in script or '<!--' in script or '</' in style:
        sys.exit('make_page: a script or style would end where it should not')
    if part in ('script', 'style'):
        data = {'script': script, 'style': style}[part]
    elif part == 'shell':
        data = replaced(page, '@SITE@', site.rstrip('\n'))
    else:
        whole = served(page, site.rstrip('\n')) if part.startswith('served') else alone(page, style, script)
        data = whole.split('@DATA@')[part.endswith('tail')]
    data = data.encode()
    for at in range(0, len(data), 32):
        print(','.join(map(str, data[at:at + 32])) + ',')


main()

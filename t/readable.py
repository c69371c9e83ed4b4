#!/usr/bin/env python3
"""How easy pages in Markdown are to read.

    readable.py EASE WORDS LINES PAGE...   TAP: each page has a Flesch reading ease of EASE or more, no sentence of more than WORDS
                                           words, and the first page at most LINES lines
    readable.py --text PAGE                the sentences that are counted, one a line (for style(1) of the package diction)

Counted are paragraphs and items of lists. Code, tables, headings and comments are not, and what stands between backquotes is one
word of one syllable. Reading ease (Flesch 1948) = 206.835 - 1.015 words per sentence - 84.6 syllables per word.
"""
import re
import sys


def sentences(text):
    text = re.sub(r'^```.*?^```$', '', text, flags=re.S | re.M)
    text = re.sub(r'<!--.*?-->', '', text, flags=re.S)
    blocks, lines = [], []
    for line in text.split('\n') + ['']:
        item = re.match(r'\s*([*-]|\d+\.) ', line)
        if not line.strip() or item or line.startswith(('#', '|', '    ')):
            if lines:
                blocks.append(' '.join(lines))
            lines = []
        if line.strip() and not line.startswith(('#', '|', '    ')):
            lines.append(re.sub(r'^\s*([*-]|\d+\.) ', '', line).strip())
    for block in blocks:
        block = re.sub(r'`[^`]*`', 'code', block)
        block = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', block)
        block = re.sub(r'[*_]', '', block)
        block = re.sub(r'\b[\w/-]+\.(md|sh|conf|txt|bed)\b', 'page', block)
        for s in re.split(r'(?<=[.?!:])["\')]*\s+', block):
            if re.search(r'[A-Za-z]{2}', s):
                yield s.strip()


def words(sentence):
    return re.findall(r"[A-Za-z][A-Za-z'-]*|\d[\d.,]*", sentence)


def syllables(word):
    """Groups of vowels, without a silent e at the end; a part of a word with a hyphen counts by itself."""
    if word[0].isdigit():
        return 1
    total = 0
    for part in re.split(r"[-']", word.lower()):
        n = len(re.findall(r'[aeiouy]+', part))
        if re.search(r'[^aeiouyl]e$|[^aeiouyt]es$|[^aeiouydt]ed$', part) and n > 1:
            n -= 1
        total += max(n, 1) if part else 0
    return max(total, 1)


def measure(text):
    all_of = [words(s) for s in sentences(text)]
    all_of = [w for w in all_of if w]
    n = sum(map(len, all_of))
    ease = 206.835 - 1.015 * n / len(all_of) - 84.6 * sum(syllables(w) for s in all_of for w in s) / n
    return ease, max(all_of, key=len)


def main():
    if sys.argv[1] == '--text':
        with open(sys.argv[2], encoding='utf-8') as f:
            print('\n'.join(s if s[-1] in '.?!' else s.rstrip(':') + '.' for s in sentences(f.read())))
        return 0
    least, most, lines, bad = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), 0
    for k, page in enumerate(sys.argv[4:], 1):
        with open(page, encoding='utf-8') as f:
            text = f.read()
        ease, longest = measure(text)
        n = text.count('\n')
        name = '/'.join(page.split('/')[-2:])
        good = ease >= least and len(longest) <= most and (k > 1 or n <= lines)
        bad += not good
        print(f'{"" if good else "not "}ok {k} - {name}: reading ease {ease:.0f}, longest sentence {len(longest)} words, {n} lines')
        if not good:
            print(f'# longest: {" ".join(longest)}')
    print(f'1..{len(sys.argv) - 4}')
    return bad != 0


sys.exit(main())

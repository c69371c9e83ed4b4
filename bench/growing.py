#!/usr/bin/env python3
"""growing.py STEMMA...: what a question costs beside a run that is still being recorded.

A made-up run (stemma-growth, beside STEMMA in the build) is appended to a record's log, 5,000 events at a time; after each
piece `why` of a file of it is asked, which brings the index up to date first. Prints the CPU time of the questions, the
middle of each tenth of them, and of the last one its memory. Programs that are given are asked in turns, of records of their own.
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

PIECES = int(os.environ.get("PIECES", "100"))
EVENTS = 5000


def cpu(command, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    growth = os.environ.get("GROWTH", os.path.join(os.path.dirname(sys.argv[1]), "../../tests/stemma-growth"))
    with tempfile.TemporaryDirectory() as folder:
        whole = os.path.join(folder, "whole")
        # 17 events for each program of six accesses
        subprocess.run([growth, whole, "open", str(PIECES * EVENTS * 6 // 17)], check=True)
        path = "logs/h1/2026-01-01/0.stl"
        for at, _, files in os.walk(whole):
            for name in files:
                path = os.path.relpath(os.path.join(at, name), whole)
        with open(os.path.join(whole, path), "rb") as f:
            log = f.read()
        shutil.rmtree(whole)
        homes = [os.path.join(folder, str(i)) for i in range(len(sys.argv) - 1)]
        for home in homes:
            os.makedirs(os.path.join(home, os.path.dirname(path)), mode=0o700)
        took = [[] for _ in homes]
        for piece in range(PIECES):
            for i, home in enumerate(homes):
                with open(os.path.join(home, path), "ab") as f:
                    f.write(log[len(log) * piece // PIECES:len(log) * (piece + 1) // PIECES])
                took[i].append(cpu([sys.argv[1 + i], "--store", home, "why", "/w/0/0/out100"], {"HOME": home, "PATH": os.environ["PATH"]}))
        for i, home in enumerate(homes):
            tenth = PIECES // 10
            print(sys.argv[1 + i], "ms:", *("%.0f" % (1000 * statistics.median(took[i][k:k + tenth])) for k in range(0, PIECES, tenth)))


main()

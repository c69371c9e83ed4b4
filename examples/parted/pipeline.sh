#!/bin/sh
# Five modules, one after the other. integrate writes sum.txt only if the series settles.
set -e
bin=${BIN:-.}
rm -f sum.txt
"$bin/simulate" parameters.txt series.txt
"$bin/select" series.txt selected.txt
"$bin/integrate" selected.txt sum.txt integration.log
"$bin/analyse" integration.log analysis.txt
"$bin/report" analysis.txt report.txt

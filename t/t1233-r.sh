#!/bin/sh
# stemma from R: the package is installed and asked. The truth is what the script below ran, and what the commands print.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
command -v Rscript >/dev/null 2>&1 || {
	echo "1..0 # SKIP no R here"
	exit
}
Rscript -e 'quit(status = !requireNamespace("jsonlite", quietly = TRUE))' >/dev/null 2>&1 || {
	echo "1..0 # SKIP R has no package jsonlite"
	exit
}
export STEMMA_COMMAND="$STEMMA" R_LIBS_USER="$T/library"
mkdir "$T/library" && R CMD INSTALL --no-docs -l "$T/library" "$here/bindings/r/stemma" >"$out" 2>"$err"
check 'the package can be installed'
R CMD Rdconv -t txt "$here/bindings/r/stemma/man/stemma.Rd" >"$out" 2>"$err" && says "$out" 'stemma_lineage(file'
check 'its page can be read'

# asks NAME: the program on standard input ends well
asks()
{
	cat >"$T/program.R" && Rscript "$T/program.R" >"$out" 2>"$err" </dev/null
	check "$1"
}

odd="it's \$HOME;\"two  spaces"
printf 'c\nb\na\n' >in.txt
printf 'x\n' >"$odd"
cmd 3 run -q -- sh -c 'sort in.txt | tee mid.txt | uniq -c >out.txt; cp "$1" copy.txt; exit 3' sh "$odd"
check 'a run is recorded'
asks 'why, with its one line' <<'END'
library(stemma)
w <- stemma_why("out.txt")
stopifnot(identical(rev(w$makers$command), c("sort in.txt", "tee mid.txt", "uniq -c")), all(w$makers$certainty == "must"))
stopifnot(identical(basename(w$inputs$path), "in.txt"), w$inputs$certainty == "must", w$inputs$version == 1L)
print(w)
END
says "$out" 'out.txt: made by sort in.txt | tee mid.txt | uniq -c from ' && says_not "$out" '?'
check '... which is the one of stemma why'
asks 'a name that a shell would take apart' <<'END'
library(stemma)
odd <- "it's $HOME;\"two  spaces"
w <- stemma_why("copy.txt")
stopifnot(identical(basename(w$inputs$path), odd), nrow(stemma_lineage(odd, down = TRUE)) >= 2)
END
asks 'lineage: from what to what' <<'END'
library(stemma)
l <- stemma_lineage("out.txt")
reach <- function(from) {
  seen <- from
  repeat {
    more <- setdiff(l$product[l$source %in% seen], seen)
    if (!length(more)) return(seen)
    seen <- c(seen, more)
  }
}
start <- l$source[basename(sub("@.*", "", l$source)) == "in.txt"]
stopifnot(length(unique(start)) == 1, any(basename(reach(start)) == "out.txt@{1}"), l$certainty %in% c("must", "may"))
stopifnot(!any(basename(reach(start)) == "copy.txt@{1}"))
end <- stemma_lineage("in.txt", down = TRUE)
stopifnot(any(basename(end$product) == "out.txt@{1}"))
END
asks 'runs, find, SPARQL, diff' <<'END'
library(stemma)
status <- stemma_run(c("sh", "-c", "sort -r in.txt >other.txt; exit 4"), "-q")
r <- stemma_runs()
stopifnot(status == 4, nrow(r) == 2, setequal(r$status, c(3, 4)), inherits(r$start, "POSIXct"), r$end >= r$start, nrow(stemma_runs(1)) == 1)
f <- stemma_find("from in.txt")
stopifnot(setequal(basename(f$path), c("mid.txt", "out.txt", "other.txt")))
stopifnot(nrow(stemma_find("from other.txt")) == 0, identical(names(stemma_find("from other.txt")), names(f)))
s <- stemma_sparql("SELECT ?p ?none WHERE { ?e stemma:path ?p FILTER(CONTAINS(STR(?p), \"/mid.txt\")) }")
stopifnot(is.data.frame(s), identical(names(s), c("p", "none")), nrow(s) >= 1, all(is.na(s$none)))
stopifnot(isTRUE(stemma_sparql("ASK { ?r a prov:Activity }")), is.list(stemma_diff()), identical(stemma_diff()$format, 1L))
END
asks 'errors are conditions of their own' <<'END'
library(stemma)
kind <- function(expr) tryCatch({ expr; "none" }, stemma_not_recorded = function(e) "not recorded", stemma_error = function(e) "error")
stopifnot(kind(stemma_why("nosuch")) == "not recorded", kind(stemma_sparql("SELECT")) == "error")
stopifnot(kind(stemma_runs(record = "/nosuch/record")) != "none", kind(stemma_diff("nosuch", "nosuch2")) != "none")
said <- tryCatch(stemma_diff("--help", "@"), stemma_error = conditionMessage)
stopifnot(is.character(said), grepl("would be an option", said), kind(stemma_diff("@", "-o/tmp/x")) == "error", kind(stemma_diff("./-x", "@")) != "none")
Sys.setenv(STEMMA_COMMAND = "no-such-command")
stopifnot(kind(stemma_runs()) == "error")
END
finish

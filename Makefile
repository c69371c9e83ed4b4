# The two commands of the README: make demo, make test. Each installs what this machine lacks (tools/packages), builds and
# runs. Everything else here is for those who work on stemma. The build itself is meson's: see meson.build.

BUILD ?= build
PREFIX ?= /usr/local
# Seconds for each fuzzer.
FUZZ_SECONDS ?= 60
# Names of the tests to run under a sanitizer, none for all but the slow ones.
TESTS ?=
# Arguments for the bench: names of the works to measure, none for all.
BENCH ?=

# A jobserver of this make must not reach the programs that the tests record.
CLEAN_ENV = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES

all: build

help:
	@echo 'make            build into $(BUILD)/'
	@echo 'make demo       a real pipeline, recorded twice, and the questions asked of the record'
	@echo 'make demo-site  three hosts, NATS servers, a collector and a database on this machine (doc/site.md)'
	@echo 'make demo-formats  a table becomes a Zarr store, HDF5, netCDF and a picture: one question across them; see demo-out/formats'
	@echo 'make check      the quick tests: a minute, for before each commit'
	@echo 'make test       the tests'
	@echo 'make test-slow  the tests that take minutes'
	@echo 'make bench      what recording costs, and what asking costs'
	@echo 'make packages   packages for Debian and others, tested in clean root folders, into build-packages/ (root; doc/packages.md)'
	@echo 'make install    under PREFIX ($(PREFIX)); DESTDIR is obeyed'
	@echo 'make sanitize   the tests under address and undefined-behaviour sanitizers'
	@echo 'make tsan       the tests under the thread sanitizer'
	@echo 'make fuzz       every fuzzer for FUZZ_SECONDS ($(FUZZ_SECONDS))'
	@echo 'make lint       clang-tidy, format and layers'
	@echo 'make clean      remove the build folders and demo-out'

build:
	@tools/setup build
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false

demo:
	@tools/setup build demo
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false
	@$(CLEAN_ENV) BUILD=$(BUILD) examples/variants/demo.sh

demo-site:
	@tools/setup build site
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false
	@$(CLEAN_ENV) BUILD=$(BUILD) examples/site/demo.sh

demo-formats:
	@tools/setup build demo
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false
	@$(CLEAN_ENV) STEMMA=$(abspath $(BUILD))/src/cmd/stemma STEMMA_HOME=$(CURDIR)/demo-out/formats/record PYTHON=/usr/bin/python3 examples/formats/run.sh demo-out/formats

check:
	@tools/setup build test
	@$(CLEAN_ENV) tools/build $(BUILD) -- -Dtests=true
	@$(CLEAN_ENV) tools/check $(BUILD)

test:
	@tools/setup build test
	@$(CLEAN_ENV) tools/build $(BUILD) -- -Dtests=true
	@$(CLEAN_ENV) tools/run-tests $(BUILD) --no-suite slow

test-slow:
	@tools/setup build test slow
	@$(CLEAN_ENV) tools/build $(BUILD) -- -Dtests=true
	@$(CLEAN_ENV) tools/run-tests $(BUILD) --suite slow

bench:
	@tools/setup build bench
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false
	@$(CLEAN_ENV) bench/run $(BUILD) $(BENCH)

install:
	@tools/setup build
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false -- -Dprefix=$(PREFIX)
	@meson install -C $(BUILD) --no-rebuild --quiet

packages:
	@$(CLEAN_ENV) tools/package all

sanitize:
	@tools/setup build test
	@$(CLEAN_ENV) tools/sanitize address $(TESTS)

tsan:
	@tools/setup build test
	@$(CLEAN_ENV) tools/sanitize thread $(TESTS)

fuzz:
	@tools/setup build test fuzz
	@CC=clang TARGETS=fuzzers $(CLEAN_ENV) tools/build build-fuzz -- -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@$(CLEAN_ENV) tools/fuzz build-fuzz $(FUZZ_SECONDS)

lint:
	@tools/setup build lint
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false
	@tools/lint $(BUILD)

clean:
	rm -rf build build-asan build-tsan build-fuzz build-matrix build-packages demo-out

.PHONY: all help build demo demo-site demo-formats check test test-slow bench install packages sanitize tsan fuzz lint clean

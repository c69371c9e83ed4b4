# The two commands of the README: make demo, make test. Each installs what this machine lacks (tools/packages), builds and
# runs. Everything else here is for those who work on stemma. The build itself is meson's: see meson.build.

BUILD ?= build
PREFIX ?= /usr/local
# Seconds for each fuzzer.
FUZZ_SECONDS ?= 60
# Arguments for the bench: names of the works to measure, none for all.
BENCH ?=

# A jobserver of this make must not reach the programs that the tests record.
CLEAN_ENV = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES

all: build

help:
	@echo 'make            build into $(BUILD)/'
	@echo 'make demo       a real pipeline, recorded twice, and the questions asked of the record'
	@echo 'make test       the tests'
	@echo 'make test-slow  the tests that take minutes'
	@echo 'make bench      what recording costs, and what asking costs'
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

# found BUILD,ENV: the tests; what sanitizers say goes to files, for the recorder's processes have no standard error. None may
# be there at the end. Threads that live as long as their process are no leak.
define found
rm -rf $(1)/found && mkdir -m 1777 $(1)/found && status=0; \
$(CLEAN_ENV) $(2) tools/run-tests --once $(1) --no-suite slow --timeout-multiplier 5 || status=1; \
! cat $(1)/found/* 2>/dev/null && exit $$status
endef

# Beside libasan the shared libubsan takes no log_path: what it said of a process without standard error would be lost.
sanitize:
	@tools/setup build test
	@$(CLEAN_ENV) tools/build build-asan -- -Dtests=true -Db_sanitize=address,undefined -Db_lundef=false \
		$(if $(findstring clang,$(CC)),,-Dc_link_args=-static-libubsan)
	@$(call found,build-asan,ASAN_OPTIONS=log_path=$$PWD/build-asan/found/asan \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:log_path=$$PWD/build-asan/found/ubsan)

tsan:
	@tools/setup build test
	@$(CLEAN_ENV) tools/build build-tsan -- -Dtests=true -Db_sanitize=thread -Db_lundef=false
	@$(call found,build-tsan,TSAN_OPTIONS=report_thread_leaks=0:log_path=$$PWD/build-tsan/found/tsan)

fuzz:
	@tools/setup build test fuzz
	@CC=clang $(CLEAN_ENV) tools/build build-fuzz -- -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@$(CLEAN_ENV) tools/fuzz build-fuzz $(FUZZ_SECONDS)

lint:
	@tools/setup build lint
	@$(CLEAN_ENV) tools/build $(BUILD) -Dtests=false
	@tools/lint $(BUILD)

clean:
	rm -rf build build-asan build-tsan build-fuzz demo-out

.PHONY: all help build demo test test-slow bench install sanitize tsan fuzz lint clean

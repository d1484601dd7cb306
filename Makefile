# Every target here works as the first command in a fresh clone on a bare Debian machine (gpu-test and gpu-bench on one with a GPU).
PREFIX ?= /usr/local
BASE ?= HEAD
JOBS ?= $(shell nproc)
# One more than there are cores: some tests wait most of the time.
TESTS ?= $(shell expr $(JOBS) + 1)
FUZZ_SECONDS ?= 600
# A libtorch of your own, such as one with CUDA: PREFIX_PATH=/path/to/libtorch. It is built into build/gpu.
PREFIX_PATH ?=
PRESET := $(if $(PREFIX_PATH),gpu,release)
GIVEN := $(if $(PREFIX_PATH),-DCMAKE_PREFIX_PATH="$(PREFIX_PATH)")

# On a terminal ninja shows one moving line; elsewhere it speaks only of failures.
QUIET := $(if $(MAKE_TERMOUT),,-- --quiet)

configure = mkdir -p build && cmake --preset $(1) $(2) --log-level=NOTICE > build/configure-$(1).log 2> build/configure-$(1).notes || { cat build/configure-$(1).log build/configure-$(1).notes; exit 1; }
build = echo "Building $(1) ..." && cmake --build --preset $(1) --parallel $(JOBS) $(2) $(QUIET)

# For so many seconds each, compiled with these flags; what they find interesting stays in build/fuzz/corpora.
has_clang = command -v clang++ > /dev/null
fuzzers = $(call configure,fuzz,-DSADAM_FUZZ_SECONDS=$(1) -DCMAKE_CXX_FLAGS="$(2)") && $(call build,fuzz)
fuzz = if $(has_clang); then ctest --preset fuzz --parallel $(JOBS); else echo "clang++ was not found, so nothing is fuzzed."; fi

# Where ctest writes down which tests were skipped.
SKIPPED = build/$(PRESET)/Testing/Temporary/LastTestsDisabled.log

# What is left out, and why, is said at configuration.
say = grep "^sadam: " build/configure-$(1).notes || true

.PHONY: help deps demo test python gpu-test fuzz bench gpu-bench install format tidy clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 18

deps: ## install the Debian packages that are missing
	@scripts/install-deps $(if $(PREFIX_PATH),--without-libtorch)

demo: deps ## build, then redo a small version of the paper's first table: about three minutes
	@$(call configure,$(PRESET),$(GIVEN))
	@$(call say,$(PRESET))
	@$(call build,$(PRESET),--target sadam_program)
	@rm -rf build/demo && build/$(PRESET)/src/cli/sadam reproduce table1 --quick --root build/demo
	@build/$(PRESET)/src/cli/sadam report --root build/demo -o build/demo/report.html || true # it has said why

test: deps ## build and run all tests, then fuzz every reader for a second
	@scripts/install-deps --python
	@scripts/install-deps --browser
	@scripts/install-deps --fuzz
	@$(call configure,release)
	@$(call build,release)
	@# Some tests wait most of the time: the fuzzers are built meanwhile.
	@(if $(has_clang); then $(call fuzzers,1,-O0); fi) > build/fuzzers.log 2>&1 & renice -n 19 $$! > /dev/null 2>&1; \
	  trap 'kill $$! 2> /dev/null; exit 130' INT TERM; \
	  ctest --preset release --parallel $(TESTS); status=$$?; \
	  wait $$! || { cat build/fuzzers.log; exit 1; }; exit $$status
	@$(call say,release)
	@nvidia-smi -L > /dev/null 2>&1 || echo "sadam: no GPU answers here; 'make gpu-test' runs the tests called Skipped above where one does."
	@$(call fuzz)

python: deps ## pack the Python package, build a wheel of that, test it in an environment of its own (build/python)
	@scripts/install-deps --python
	@$(call configure,release)
	@$(call build,release,--target page_examples)
	@scripts/test-python /usr/bin/python3 $(CURDIR)/build/python "" $(CURDIR)/build/release/tests/readme/page_examples
	@ls build/python/dist/*.whl

gpu-test: deps ## build and run the tests that need a GPU (PREFIX_PATH=... for a libtorch with CUDA)
	@$(call configure,$(PRESET),$(GIVEN))
	@$(call say,$(PRESET))
	@$(call build,$(PRESET))
	@rm -f $(SKIPPED) && ctest --preset $(PRESET) --label-regex gpu
	@test ! -s $(SKIPPED) || { echo "sadam: the tests above that are called Skipped did not run: give a libtorch with CUDA (PREFIX_PATH=...) on a machine with a GPU."; exit 1; }

fuzz: deps ## fuzz every reader of outside bytes for FUZZ_SECONDS (default 600)
	@scripts/install-deps --fuzz
	@if $(has_clang); then $(call fuzzers,$(FUZZ_SECONDS),-O1 -g1); fi
	@$(call fuzz)

bench: deps ## build and run the benchmarks
	@scripts/install-deps --python
	@scripts/install-deps --browser
	@$(call configure,release)
	@$(call say,release)
	@$(call build,release,--target bench)

gpu-bench: deps ## build and run the GPU's benchmarks (PREFIX_PATH=... for a libtorch with CUDA)
	@$(call configure,$(PRESET),$(GIVEN))
	@$(call say,$(PRESET))
	@$(call build,$(PRESET),--target gpu-bench)

install: deps ## install the library and the program to PREFIX (default /usr/local)
	@$(call configure,$(PRESET),$(GIVEN))
	@$(call say,$(PRESET))
	@$(call build,$(PRESET),--target sadam sadam_program)
	@cmake --install build/$(PRESET) --prefix $(PREFIX)

format: ## lay out the sources with clang-format
	@scripts/install-deps --lint
	@git ls-files -co --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

tidy: deps ## run clang-tidy on what changed since BASE (default HEAD)
	@scripts/install-deps --lint
	@$(call configure,tidy)
	@scripts/tidy-changed build/tidy $(BASE)

clean: ## remove what was built
	@rm -rf build web/node_modules web/dist

# Everything a contributor runs. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:

# One build folder outside the clone, so that a second clone builds in seconds.
CACHE ?= $(HOME)/.cache/hodo
export CARGO_TARGET_DIR ?= $(CACHE)/target
export HODO_PYTHON := $(CACHE)/venv/bin/python
# Releases of CUPTI that the tests compare with; `make test-cupti` has all.
export HODO_CUPTI := $(CACHE)/cupti-few
export CARGO_TERM_PROGRESS_WHEN ?= auto

DENY_VERSION := 0.20.2
AUDIT_VERSION := 0.22.2
FUZZ_VERSION := 0.13.2
CBINDGEN_VERSION := 0.29.2

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.PHONY: demo
demo: ## Build the light profile and run the embedded training loop: its page while it records, then its report
	@cargo run --locked --profile demo -p hodo-cli --bin hodo -- demo --open

.PHONY: build
build: ## Build the `hodo` command for daily use
	@cargo build --locked --release -p hodo-cli --features object-store

.PHONY: test
test: $(CACHE)/venv/.ready $(CACHE)/tools/bin/cbindgen $(CACHE)/cupti-few/.ready ## Everything that must hold: unit, documentation and whole-program tests
	@command -v tmux >/dev/null || bash scripts/packages.sh tmux \
	  || echo "test: without tmux, hodo top is not driven on a terminal" >&2
	@cargo test --locked --workspace --doc --quiet
	@cargo test --locked --quiet -p hodo --features tracing,log
	@HODO_CPU=off cargo test --locked --quiet -p hodo --features tracing,log --test api
	@cargo test --locked --quiet -p hodo --profile demo --features off --test off
	@if cargo nextest --version >/dev/null 2>&1; then
	  cargo nextest run --locked --workspace --no-fail-fast
	else
	  cargo test --locked --workspace --no-fail-fast
	fi
	@bash scripts/python-tests.sh "$(CACHE)"
	@bash scripts/hooks-tests.sh "$(CACHE)" system
	@bash cpp/tests/run.sh "$(CACHE)"
	@cargo build --locked --quiet -p hodo-cli
	@HODO_OPTIONAL=1 HODO_BIN="$(CARGO_TARGET_DIR)/debug/hodo" bash scripts/page.sh test

.PHONY: test-spark
test-spark: sql ## The tables of a run as Spark reads them; installs Java where there is none
	@cargo build --locked --quiet --profile demo -p hodo-cli
	@bash scripts/spark-tests.sh "$(CACHE)"

.PHONY: test-cupti
test-cupti: $(CACHE)/venv/.ready ## hodo's numbers against the headers and libraries of every CUPTI from 12.0 to 13.4
	@$(CACHE)/venv/bin/python tests/cupti/fetch.py "$(CACHE)/cupti"
	@HODO_CUPTI="$(CACHE)/cupti" cargo test --locked -p hodo-gpu --lib cupti::against -- --nocapture --test-threads=1

.PHONY: wheel
wheel: $(CACHE)/venv/.ready ## Build the Python wheel, with libhodo.so and the `hodo` command inside
	@bash scripts/wheel.sh "$(CACHE)"

.PHONY: test-python
test-python: $(CACHE)/venv/.ready ## The Python package from its wheel, on every CPython >= 3.11 there is (PYTEST_ARGS, HODO_PYTHONS)
	@bash scripts/python-tests.sh "$(CACHE)" $(PYTEST_ARGS)

.PHONY: test-hooks
test-hooks: $(CACHE)/venv/.ready ## The hooks of frameworks with all that install on a CPU; fetches some GB, less with a Python that has torch (HODO_HOOKS_PYTHON, PYTEST_ARGS)
	@bash scripts/hooks-tests.sh "$(CACHE)" all $(PYTEST_ARGS)

.PHONY: install
install: ## Install libhodo.so, libhodo.a, headers, CMake and pkg-config files, `hodo` and `hodo sql` (PREFIX=/usr/local, HODO_SQL=0 without SQL)
	@bash cpp/install.sh "$${PREFIX:-/usr/local}"
	@[[ "$${HODO_SQL:-1}" == 0 ]] || $(MAKE) --no-print-directory install-sql

.PHONY: sql
sql: ## Build `hodo-sql`, which `hodo sql` runs: minutes the first time, for its query engine
	@cargo build --locked --release --manifest-path sql/Cargo.toml

.PHONY: install-sql
install-sql: sql ## Install `hodo-sql` (PREFIX=/usr/local)
	@install -D -m 755 "$(CARGO_TARGET_DIR)/release/hodo-sql" "$${PREFIX:-/usr/local}/bin/hodo-sql"
	@echo "installed hodo-sql into $${PREFIX:-/usr/local}"

.PHONY: test-sql
test-sql: $(CACHE)/venv-sql/.ready ## `hodo sql`: answers, limits, refusals, the prompt, object stores
	@command -v tmux >/dev/null || bash scripts/packages.sh tmux \
	  || echo "test-sql: without tmux, the prompt is not driven on a terminal" >&2
	@HODO_SQL_PYTHON=$(CACHE)/venv-sql/bin/python cargo test --locked --release --manifest-path sql/Cargo.toml
	@cargo build --locked --quiet --profile demo -p hodo-cli
	@HODO_OPTIONAL=1 HODO_BIN="$(CARGO_TARGET_DIR)/demo/hodo" HODO_SQL="$(CARGO_TARGET_DIR)/release/hodo-sql" bash scripts/page.sh sql

.PHONY: test-store
test-store: $(CACHE)/venv-sql/.ready ## `hodo serve --store s3://...` against a server of objects on this machine
	@bash scripts/store-tests.sh "$(CACHE)"

.PHONY: test-cpp
test-cpp: $(CACHE)/venv/.ready $(CACHE)/tools/bin/cbindgen ## The C and C++ headers: compilers, sanitizers, exits, packages (HODO_HEAVY=1)
	@bash cpp/tests/run.sh "$(CACHE)"

.PHONY: page
page: ## Build the page of `hodo view` from web/ into crates/hodo-server/page, which is committed
	@bash scripts/page.sh build

.PHONY: page-shots
page-shots: sql ## Pictures of every view over recorded runs, to be looked at (PAGE_SHOTS: where), and those of docs/page.md
	@cargo build --locked --quiet --profile demo -p hodo-cli
	@HODO_BIN="$(CARGO_TARGET_DIR)/demo/hodo" HODO_SQL="$(CARGO_TARGET_DIR)/release/hodo-sql" bash scripts/page.sh shots

.PHONY: test-page
test-page: ## The page: types, unit tests, size, freshness, and every view in Chromium over made-up and real runs
	@cargo build --locked --quiet --profile demo -p hodo-cli
	@HODO_BIN="$(CARGO_TARGET_DIR)/demo/hodo" bash scripts/page.sh test

.PHONY: test-api
test-api: $(CACHE)/venv-api/.ready ## The API of `hodo view` and of `hodo serve` against docs/openapi.json: schemathesis asks them thousands of things (HODO_EXAMPLES=n)
	@cargo build --locked --quiet --profile demo -p hodo-cli
	@bash scripts/api-tests.sh "$(CACHE)" "$(CARGO_TARGET_DIR)/demo/hodo"

.PHONY: audit
audit: $(CACHE)/tools/bin/cargo-audit ## Known vulnerabilities of dependencies, by cargo-audit (HODO_ADVISORIES=FOLDER: a copy of the database)
	@database=($${HODO_ADVISORIES:+--db "$$HODO_ADVISORIES" --no-fetch})
	$(CACHE)/tools/bin/cargo-audit audit "$${database[@]}"
	$(CACHE)/tools/bin/cargo-audit audit --file sql/Cargo.lock "$${database[@]}"

.PHONY: header
header: $(CACHE)/tools/bin/cbindgen ## Write the C header from crates/hodo-runtime
	@bash cpp/header.sh "$(CACHE)/tools/bin/cbindgen"

.PHONY: bench
bench: ## Cost of a scope against the floor and the peers, pump and report figures
	@bash benches/run.sh

.PHONY: bench-large
bench-large: ## Time and memory of the report and of exports of a hundred million spans
	@bash benches/large.sh $(BENCH_ARGS)

.PHONY: bench-page
bench-page: ## The page over ten and a hundred million spans: opening, tiles, memory, frame times in Chromium (BENCH_ARGS)
	@bash benches/page.sh $(BENCH_ARGS)

.PHONY: bench-python
bench-python: $(CACHE)/venv/.ready ## Cost of a scope in Python against an empty native context manager and the peers
	@bash benches/python/run.sh "$(CACHE)" $(BENCH_ARGS)

.PHONY: bench-cpp
bench-cpp: $(CACHE)/venv/.ready ## Cost of a scope in C++ against Rust, two clock reads, Tracy and NVTX
	@bash benches/cpp/run.sh "$(CACHE)" $(BENCH_ARGS)

.PHONY: gate-study
gate-study: ## Does `hodo gate` fire when it should, and only then: real runs on this machine (STUDY_ARGS)
	@cargo build --locked --quiet --profile demo -p hodo-cli
	@cargo build --locked --quiet --profile demo -p hodo --example steps
	@python3 benches/gate/study.py "$(CARGO_TARGET_DIR)/demo/hodo" "$(CARGO_TARGET_DIR)/demo/examples/steps" $(STUDY_ARGS)

.PHONY: lint
lint: $(CACHE)/tools/bin/cargo-deny ## Formatting, clippy without warnings, licences and sources of dependencies
	@cargo fmt --all --check
	@cargo fmt --manifest-path sql/Cargo.toml --check
	@cargo clippy --locked --workspace --all-targets -- -D warnings
	@$(CACHE)/tools/bin/cargo-deny --log-level error check bans licenses sources
	@$(CACHE)/tools/bin/cargo-deny --manifest-path sql/Cargo.toml --log-level error --config sql/deny.toml check bans licenses sources
	@if ! $(CACHE)/tools/bin/cargo-deny --log-level error check advisories; then
	  [[ -n "$${HODO_OFFLINE:-}" ]] || { echo "lint: advisories failed (HODO_OFFLINE=1 skips them where the database cannot be fetched)"; exit 1; }
	  echo "lint: advisories not checked (HODO_OFFLINE)"
	fi

.PHONY: fmt
fmt: ## Format the sources
	@cargo fmt --all
	@cargo fmt --manifest-path sql/Cargo.toml

.PHONY: kill
kill: ## 1,000 kills at random moments, nothing acknowledged may be missing (HODO_KILLS=n)
	@HODO_KILLS=$${HODO_KILLS:-1000} cargo test --locked --release -p hodo-tests --test faults -- --nocapture --test-threads=1 kill::

.PHONY: collector collector-long
collector: ## Programs, shippers and a collector for 2 minutes, the collector killed 3 times; and what it costs
	@HODO_COLLECTOR_SECONDS=$${SHIP_SECONDS:-120} HODO_COLLECTOR_KILLS=$${KILLS:-3} HODO_COLLECTOR_OUTAGE=$${OUTAGE:-30} \
	cargo test --locked --release -p hodo-cli --test collector -- --nocapture --test-threads=1 --include-ignored
collector-long: ## The same for 10 minutes, 20 kills, and 10 minutes without a collector
	@$(MAKE) collector SHIP_SECONDS=600 KILLS=20 OUTAGE=600

.PHONY: faults
faults: ## The fault suites in their heavy form
	@HODO_HEAVY=1 cargo test --locked --release -p hodo-tests --test faults -- --nocapture --test-threads=1

.PHONY: race
race: ## Model-check the ring (loom), run it under Miri and ThreadSanitizer; seeded bugs must be found
	@bash tests/race/run.sh

.PHONY: fuzz
fuzz: $(CACHE)/tools/bin/cargo-fuzz ## Fuzz every target (FUZZ_SECONDS=600 each)
	@cd fuzz
	export PATH="$(CACHE)/tools/bin:$$PATH" RUSTC_BOOTSTRAP=1
	for target in $$(cargo fuzz list); do
	  mkdir -p "corpus/$$target"
	  cargo fuzz run --sanitizer none "$$target" "corpus/$$target" "seeds/$$target" -- \
	    -max_total_time=$${FUZZ_SECONDS:-600} -rss_limit_mb=512
	done

.PHONY: import-limits
import-limits: ## Import a file of 2 GB, a bomb of 10 GB, a line of 1 GB; check the memory it takes
	@cargo test --release -p hodo-cli --test cli limits:: -- --ignored --nocapture --test-threads 1

.PHONY: aarch64
aarch64: ## Cross-build for aarch64 and run the tests under qemu-user
	@bash tests/aarch64/run.sh

.PHONY: clean
clean: ## Remove the shared build folder
	@rm -rf "$(CARGO_TARGET_DIR)"

$(CACHE)/venv/.ready: tests/requirements.txt
	@bash scripts/venv.sh "$(CACHE)/venv" tests/requirements.txt

$(CACHE)/venv-sql/.ready: sql/tests/requirements.txt
	@bash scripts/venv.sh "$(CACHE)/venv-sql" sql/tests/requirements.txt

$(CACHE)/venv-api/.ready: tests/api/requirements.txt
	@bash scripts/venv.sh "$(CACHE)/venv-api" tests/api/requirements.txt

$(CACHE)/cupti-few/.ready: tests/cupti/fetch.py tests/cupti/probe.c tests/cupti/versions.txt $(CACHE)/venv/.ready
	@$(CACHE)/venv/bin/python tests/cupti/fetch.py "$(CACHE)/cupti-few" 12.9 13.0.85
	@touch "$@"

$(CACHE)/tools/bin/cargo-deny:
	@cargo install --locked --quiet cargo-deny --version $(DENY_VERSION) --root "$(CACHE)/tools"

$(CACHE)/tools/bin/cargo-audit:
	@cargo install --locked --quiet cargo-audit --version $(AUDIT_VERSION) --root "$(CACHE)/tools"

$(CACHE)/tools/bin/cargo-fuzz:
	@cargo install --locked --quiet cargo-fuzz --version $(FUZZ_VERSION) --root "$(CACHE)/tools"

$(CACHE)/tools/bin/cbindgen:
	@cargo install --locked --quiet cbindgen --version $(CBINDGEN_VERSION) --root "$(CACHE)/tools"

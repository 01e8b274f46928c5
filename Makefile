# One line per job. CI runs `make test`. `make` lists the jobs and their variables.

BUILT = $(or $(CARGO_TARGET_DIR),target)/release
# A first look builds what `make test` builds: in a third of the time of optimised programs.
QUICK = $(or $(CARGO_TARGET_DIR),target)/debug
# Each recording has its own crawl and folder.
RECORDED = $(or $(DATA_DIR),data/recorded-$(or $(notdir $(RECORDING:/=)),web))

.PHONY: help crawl crawl-recorded crawl-web check-dist check-api check-archives check-chart check-counters hazards bench-verifier bench-serve quick test test-browser same soak fuzz build generated deny msrv dist deb book tidy toolchain programs lab clean

help: ## list the jobs
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

crawl: $(if $(SEEDS),crawl-web,crawl-recorded) ## crawl the recorded web (CYCLES=20, SHARE=5%, FORMULA, RECORDING=folder, CLEAN=1 starts over); the real web: SEEDS="URL …" CONTACT=ADDRESS

crawl-recorded: programs
	@$(QUICK)/xtask crawl --data-dir '$(RECORDED)' $(if $(RECORDING),--recording '$(RECORDING)') $(if $(CYCLES),--cycles $(CYCLES)) $(if $(SHARE),--share '$(SHARE)') $(if $(FORMULA),--formula '$(FORMULA)') $(if $(CLEAN),--clean)

crawl-web: programs
	$(QUICK)/recrawl crawl --data-dir '$(or $(DATA_DIR),data/web)' $(SEEDS:%=--seed '%') $(if $(CONTACT),--contact '$(CONTACT)') $(if $(CYCLES),--cycles $(CYCLES)) $(if $(FORMULA),--formula '$(FORMULA)')

check-api: toolchain ## test the API of a daemon against its OpenAPI document with schemathesis (Python)
	@bash scripts/check-api.sh

check-archives: toolchain ## read archives and tables with warcio, cdxj-indexer, pywb, py-wacz and pyarrow (Python)
	@bash scripts/check-archives.sh

check-chart: ## check the Helm chart: lint, compare with deploy/kubernetes/recrawl.yaml, good and bad values (helm or Python); WRITE=1 writes recrawl.yaml
	@bash scripts/check-chart.sh $(if $(WRITE),--write)

check-counters: programs ## after `make crawl`: compare n and X of every page with the log of the mock web
	@$(QUICK)/recrawl export pages --data-dir '$(RECORDED)/crawl' --out '$(RECORDED)/pages.jsonl'
	@$(QUICK)/xtask replay-check --truth '$(RECORDED)/truth.jsonl' --log '$(RECORDED)/log.jsonl' --pages '$(RECORDED)/pages.jsonl'

hazards: build ## crawl a web with all faults and check the crawl by the web's log, 15 minutes; WEB=hostile: 64 hosts of PAGES=4000 under a deadline, 10 minutes; SEED=7 of the web
	@$(BUILT)/xtask hazards --data-dir '$(or $(DATA_DIR),data/hazards)' $(if $(WEB),--web '$(WEB)') $(if $(PAGES),--pages $(PAGES)) $(if $(SEED),--seed $(SEED))

bench-verifier: toolchain ## compare the verifier with alternatives on one stream of links: PAGES=1000000, CHECKS per cycle, CYCLES=3, SHARE=0.05 of a visited site's pages, MEMORY=2048 MiB each, CONTENDERS=…, DIR for files, RECORD=FILE to append to
	@cargo build --release --locked --package recrawl-benchmark
	@$(BUILT)/recrawl-benchmark run $(if $(PAGES),--pages $(PAGES)) $(if $(CHECKS),--checks $(CHECKS)) $(if $(CYCLES),--cycles $(CYCLES)) $(if $(SHARE),--visited-share $(SHARE)) $(if $(MEMORY),--memory $(MEMORY)) $(if $(CONTENDERS),--contenders $(CONTENDERS)) $(if $(DIR),--dir '$(DIR)') $(if $(RECORD),--record '$(RECORD)')

bench-serve: build ## measure a daemon on PAGES=100000 with RATE=200 requests per second to its console: ROUNDS=1 of QUIET=5 minutes without and MINUTES=5 with load, DELAY='20 ms' per host
	@$(BUILT)/xtask serve-load --data-dir '$(or $(DATA_DIR),data/serve-load)' $(if $(PAGES),--pages $(PAGES)) $(if $(RATE),--rate $(RATE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUIET),--quiet $(QUIET)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(DELAY),--delay '$(DELAY)')

quick: toolchain ## formats, house rules and unit tests: a few minutes once built
	@cargo fmt --all --check
	@cargo xtask tidy
	@cargo test --quiet --workspace --locked --lib --bins

test: ## formats, lints, documentation, all tests
	@sh scripts/toolchain.sh lint
	@bash scripts/test.sh

test-browser: toolchain ## test the dashboard in Chromium; part of `make test`
	@bash scripts/browser-tests.sh

same: ## crawl a web with two programs, capability by capability, and compare all that they leave: OLD=FILE NEW=FILE of recrawl, MOCKWEB=FILE, ROWS="plain …", ROUNDS="1 3" (Python, libfaketime)
	@python3 scripts/same-program.py '$(OLD)' '$(or $(NEW),$(BUILT)/recrawl)' '$(or $(MOCKWEB),$(BUILT)/recrawl-mockweb)' $(if $(ROWS),--only $(ROWS)) $(if $(ROUNDS),--rounds $(ROUNDS))

soak: toolchain ## compare a repository with a sorted map over random operations, power cuts and errors: STEPS=1000000 from SEED
	@RECRAWL_STEPS=$(or $(STEPS),1000000) RECRAWL_SEED=$(or $(SEED),1) cargo test --release --locked --package recrawl-verifier --test main -- long:: --nocapture

fuzz: ## fuzz the parsers, SECONDS=60 each, at most RUNS inputs, TARGET=… for one (nightly, cargo-fuzz)
	@bash scripts/fuzz.sh '$(TARGET)' '$(SECONDS)' '$(RUNS)'

generated: toolchain ## generate files from the code: Grafana dashboard, alert rules, tables of docs/console.md
	@cargo run --quiet --locked --package recrawl-console --example generated

deny: ## check licences, sources and known vulnerabilities of dependencies (cargo-deny)
	@bash scripts/deny.sh

msrv: toolchain ## check the rust-version of Cargo.toml
	@cargo xtask msrv

dist: toolchain ## create a release archive and a Python wheel in target/dist: programs, manual pages, completions, service files, licences; PROFILE=shipped, TARGET=…
	@PROFILE='$(PROFILE)' TARGET='$(TARGET)' bash scripts/dist.sh

deb: toolchain ## create a Debian package in target/dist from the same parts (cargo-deb); PROFILE, TARGET as above
	@PROFILE='$(PROFILE)' TARGET='$(TARGET)' bash scripts/deb.sh

check-dist: ## install and run each package of target/dist in an empty root, and measure the time to the first page; DIST=folder, MOCKWEB=FILE
	@DIST='$(DIST)' MOCKWEB='$(MOCKWEB)' bash scripts/check-dist.sh

book: ## build the manual as a book in target/book (mdbook)
	@bash scripts/book.sh

tidy: toolchain ## check only the house rules
	@cargo xtask tidy

programs: toolchain
	@cargo build --workspace --locked --bin recrawl --bin recrawl-mockweb --bin xtask

build: toolchain ## build optimised programs
	@cargo build --release --locked --package recrawl --package recrawl-mockweb --package xtask

lab: toolchain ## build the program of the laboratory, recrawl-lab
	@cargo build --release --locked --package recrawl-lab

toolchain:
	@sh scripts/toolchain.sh

clean: ## remove build outputs; crawls in data/ stay
	cargo clean

# One line a job; CI runs `make test`. `make` alone lists the jobs and their variables.

BUILT = $(or $(CARGO_TARGET_DIR),target)/release
# Each recording has a crawl, and so a folder, of its own.
RECORDED = $(or $(DATA_DIR),data/recorded-$(or $(notdir $(RECORDING:/=)),web))

.PHONY: help crawl crawl-recorded crawl-web check-api check-archives check-counters hazards bench-verifier bench-serve test test-browser soak fuzz build generated deny msrv dist book tidy toolchain clean

help: ## list the jobs
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

crawl: $(if $(SEEDS),crawl-web,crawl-recorded) ## crawl the recorded web, CYCLES=20 at SHARE=5% with FORMULA, or the RECORDING in a folder; CLEAN=1 starts over. The real web: SEEDS="URL …" CONTACT=ADDRESS

crawl-recorded: build
	@$(BUILT)/xtask crawl --data-dir '$(RECORDED)' $(if $(RECORDING),--recording '$(RECORDING)') $(if $(CYCLES),--cycles $(CYCLES)) $(if $(SHARE),--share '$(SHARE)') $(if $(FORMULA),--formula '$(FORMULA)') $(if $(CLEAN),--clean)

crawl-web: build
	$(BUILT)/recrawl crawl --data-dir '$(or $(DATA_DIR),data/web)' $(SEEDS:%=--seed '%') $(if $(CONTACT),--contact '$(CONTACT)') $(if $(CYCLES),--cycles $(CYCLES)) $(if $(FORMULA),--formula '$(FORMULA)')

check-api: toolchain ## the API of a daemon, tried by schemathesis against its own OpenAPI document (Python)
	@bash scripts/check-api.sh

check-archives: toolchain ## what is written for other programs, read by them: warcio, cdxj-indexer, pywb, pyarrow (Python)
	@bash scripts/check-archives.sh

check-counters: build ## after `make crawl`: n and X of every page beside a replay of what the mock web says it served
	@$(BUILT)/recrawl export pages --data-dir '$(RECORDED)/crawl' --out '$(RECORDED)/pages.jsonl'
	@$(BUILT)/xtask replay-check --truth '$(RECORDED)/truth.jsonl' --log '$(RECORDED)/log.jsonl' --pages '$(RECORDED)/pages.jsonl'

hazards: build ## crawl a web on which everything goes wrong, 15 minutes, and judge the crawl by that web's own log; WEB=hostile: 64 hosts of PAGES=4000 under a deadline, 10 minutes
	@$(BUILT)/xtask hazards --data-dir '$(or $(DATA_DIR),data/hazards)' $(if $(WEB),--web '$(WEB)') $(if $(PAGES),--pages $(PAGES))

bench-verifier: toolchain ## the verifier and its rivals on one stream of links: PAGES=1000000, CHECKS a cycle, CYCLES=3, SHARE=0.05 of a visited site's pages, MEMORY=2048 MiB each, CONTENDERS=…, DIR for files, RECORD=FILE to add to
	@cargo build --release --locked --package recrawl-benchmark
	@$(BUILT)/recrawl-benchmark run $(if $(PAGES),--pages $(PAGES)) $(if $(CHECKS),--checks $(CHECKS)) $(if $(CYCLES),--cycles $(CYCLES)) $(if $(SHARE),--visited-share $(SHARE)) $(if $(MEMORY),--memory $(MEMORY)) $(if $(CONTENDERS),--contenders $(CONTENDERS)) $(if $(DIR),--dir '$(DIR)') $(if $(RECORD),--record '$(RECORD)')

bench-serve: build ## the daemon on a web of PAGES=100000 while RATE=200 requests a second come to its console: ROUNDS=1 of QUIET=5 minutes without and MINUTES=5 with, DELAY='20 ms' a host
	@$(BUILT)/xtask serve-load --data-dir '$(or $(DATA_DIR),data/serve-load)' $(if $(PAGES),--pages $(PAGES)) $(if $(RATE),--rate $(RATE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUIET),--quiet $(QUIET)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(DELAY),--delay '$(DELAY)')

test: ## formats, lints, documentation, all tests
	@sh scripts/toolchain.sh lint
	@bash scripts/test.sh

test-browser: toolchain ## the dashboard in Chromium beside a daemon that crawls the mock web; part of `make test`
	@bash scripts/browser-tests.sh

soak: toolchain ## random lives of a repository against a sorted map, through power cuts and errors: STEPS=1000000 from SEED
	@RECRAWL_STEPS=$(or $(STEPS),1000000) RECRAWL_SEED=$(or $(SEED),1) cargo test --release --locked --package recrawl-verifier --test long -- --nocapture

fuzz: ## look for inputs that break a parser, SECONDS=60 for each, RUNS at most; TARGET=… for one (nightly, cargo-fuzz)
	@bash scripts/fuzz.sh '$(TARGET)' '$(SECONDS)' '$(RUNS)'

generated: toolchain ## files made from the code: Grafana dashboard, alert rules, tables of docs/console.md
	@cargo run --quiet --locked --package recrawl-console --example generated

deny: ## licences, sources and known vulnerabilities of dependencies, by deny.toml (cargo-deny)
	@bash scripts/deny.sh

msrv: toolchain ## is the Rust version that Cargo.toml promises enough?
	@cargo xtask msrv

dist: toolchain ## an archive for a release, in target/dist: program, manual pages, completions, service files, licences; PROFILE=release, TARGET=…
	@PROFILE='$(PROFILE)' TARGET='$(TARGET)' bash scripts/dist.sh

book: ## the manual of docs/ as a book, in target/book (mdbook)
	@bash scripts/book.sh

tidy: toolchain ## the house rules alone
	@cargo xtask tidy

build: toolchain ## the programs, optimised
	@cargo build --release --locked --package recrawl --package recrawl-mockweb --package xtask

toolchain:
	@sh scripts/toolchain.sh

clean: ## remove what was built; crawls in data/ stay
	cargo clean

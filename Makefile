# `make` lists what there is; `make check` is what has to pass before a push.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN           := $(CURDIR)/.bin
GOLANGCI_LINT := v2.15.0
GOVULNCHECK   := v1.1.4
FUZZTIME      ?= 5s
BENCHTIME     ?= 1x
BENCH         ?= .
COMMANDS      := hooktrail publisher auditor tracker metrics hooktrail-hook hooktrail-capture
SLOWEST       := ./internal/testkit/e2e ./internal/command/tracker ./internal/command/auditor ./pkg/publish/outbox \
  ./internal/tracking/tracker ./internal/tracking/beads # begin first, so that no core is idle at the end

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-8s %s\n", $$1, $$2}'

demo: ## a recorded agent session through the whole pipeline, and its proof
	@go run ./cmd/hooktrail demo

build: ## the five commands and the hook programs, into bin/
	@for c in $(COMMANDS); do CGO_ENABLED=0 go build -trimpath -o bin/$$c ./cmd/$$c; done

test: ## the tests
	go test ./...

# Packages that only compute on the data of one goroutine are compiled without the
# detector, which makes them many times as slow. It then misses races inside of them. A
# package with a sync.Map or atomics must stay watched. Otherwise the detector does not
# see how goroutines wait for each other, and reports races that do not exist.
UNWATCHED := modernc.org/... compress/... encoding/base64 encoding/hex html/... text/template/... regexp/...

# Packages whose code and tests start no goroutine. There the detector has nothing to find.
SEQUENTIAL := $(addprefix ./internal/,tracking/rules tracking/rules/configfile tracking/rules/fingerprint tracking/deferred \
  tracking/store capture/ingest capture/ingest/claude capture/ingest/codex capture/ingest/gemini capture/ingest/openhands \
  capture/ingest/sweagent capture/ingest/amplifier capture/ingest/dialogue capture/ingest/otlp capture/prices \
  evidence/access evidence/bundle evidence/runtree evidence/ocsf evidence/daily evidence/transparency)
# Packages that compare what finished ledgers, documents and sources say. The tests of
# the packages that they call run under the detector.
COMPARING  := $(addprefix ./internal/testkit/,gauntlet pyverify architecture snippets)
UNRACED    := $(SEQUENTIAL) $(COMPARING) # not shuffled, so "go test ./..." has their results in its cache
race: ## the tests under the race detector, in random order
	go test -vet=off $(UNRACED)
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 go test -race $(UNWATCHED:%='-gcflags=%=-race=false') -vet=off -shuffle=on -timeout 20m $(SLOWEST) \
	  $$(go list ./... | grep -vxF "$$(go list $(UNRACED))")

# At its deadline the fuzzing engine sometimes fails with nothing but "context
# deadline exceeded". That is no finding, so such a target is fuzzed again.
fuzz: ## search for inputs that break a property, FUZZTIME (5s) per target
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	{ grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . || true; } | sort | \
	while IFS=: read -r file target; do \
		package=$$(dirname "$$file"); target=$${target#func }; \
		echo "fuzz $$package $$target"; \
		for try in 1 2 3; do \
			if go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" | tee "$$log"; then continue 2; fi; \
			if grep -q 'Failing input' "$$log" || ! grep -qE '^ +context deadline exceeded$$' "$$log"; then exit 1; fi; \
		done; \
		exit 1; \
	done

bench: ## the benchmarks, each promise as a ratio to its limit
	@go test -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./... | grep -vE '^(\?|ok|PASS)'

# These tools use memory rather than time for their garbage.
lint: tools ## the linters
	GOGC=400 $(BIN)/golangci-lint run --allow-parallel-runners ./...

fmt: tools ## format the code
	$(BIN)/golangci-lint fmt ./...

fmt-check: tools
	@$(BIN)/golangci-lint fmt --diff ./... || { echo 'run `make fmt`' >&2; exit 1; }

vuln: $(BIN)/govulncheck-$(GOVULNCHECK) ## known vulnerabilities; needs the database, on the network or in GOVULNDB
	@$(BIN)/govulncheck $${GOVULNDB:+-db "$$GOVULNDB"} ./... || { status=$$?; \
		[ $$status -eq 3 ] || echo 'vuln: nothing was checked. Point GOVULNDB at a copy of the vulnerability database (file:///…) where the network has none.' >&2; \
		exit $$status; }

agents: ## the tests with the real agents, from npm (600 MB, kept in the user's cache)
	HOOKTRAIL_TEST_AGENTS=all go test ./internal/testkit/e2e -run TestAgents_ -count 1 -timeout 20m -v

check: lint fmt-check race ## what has to pass: the linters (go vet is one), format, race tests

up: ## NATS and the four services in containers
	docker compose up --build --detach --wait

down: ## stop them; the data stays in its volumes
	docker compose down

tools: $(BIN)/golangci-lint-$(GOLANGCI_LINT)

$(BIN)/golangci-lint-$(GOLANGCI_LINT):
	@echo "install golangci-lint $(GOLANGCI_LINT)"
	@GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	@touch $@

$(BIN)/govulncheck-$(GOVULNCHECK):
	@GOBIN=$(BIN) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK)
	@touch $@

.PHONY: help agents demo build test race fuzz bench lint fmt fmt-check vuln check up down tools

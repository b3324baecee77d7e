# What people and CI call. Everything real is in hack/ (see hack/README.md) and in cargo.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help quickstart quickstart-down check test test-slow test-day2 test-failures crds bench-bootstrap docs

# what quickstart, tests and CI build once, outside the checkout
TATARA_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tatara
export TATARA_CACHE

# what make quickstart and make test do first; they say it before they do it
INSTALL = $(if $(filter 1,$(NO_INSTALL)),,YES=1)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS=$$'\t' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

quickstart: ## a management plane, the manager, three hosts and a cluster on them; PROVIDER=libvirt: virtual machines. Installs what is missing (NO_INSTALL=1: names it)
	@hack/quickstart

quickstart-down: ## takes all of that away again
	@hack/quickstart-down

check: ## formatting, lints, dependencies, scripts, and the tests that need nothing
	@hack/lint
	@hack/test unit

test: ## everything below the slow tier: also on a real API server and on real hosts. Installs what is missing (NO_INSTALL=1: names it)
	@$(INSTALL) hack/doctor libvirt
	@$(MAKE) --no-print-directory check
	@rc=0; for tier in api hosts; do hack/test $$tier || rc=1; done; exit $$rc

test-slow: ## what needs a second Kubernetes version
	@hack/test slow

test-day2: ## the commands of docs/day-2.md, versions that move, and faults meanwhile, from the older Kubernetes to the newer
	@hack/test day2

test-failures: ## what people see of 25 failures on real hosts: cause, remedy, where, how soon
	@hack/test failures

bench-simulated: ## requests, processor time and memory per simulated Machine, and how they grow (SIZES="100 500")
	@hack/bench-simulated $(SIZES)
.PHONY: bench-simulated

explore: ## what may happen to control planes, in every order, with up to two faults, in worlds in memory (WORLD=NAME; LONG=1: ten times as far)
	@hack/explore $(WORLD)
.PHONY: explore

planted: ## whether make explore finds bugs: guards taken back, one at a time, each with the invariant that finds it (NAMES="a b")
	@hack/planted $(NAMES)
.PHONY: planted

crds: ## the definitions in crds/, from the types
	@hack/cargo run --locked --quiet -- crds --directory crds

docs: ## the reference of the API in docs/api.md, from the types
	@mkdir -p docs
	@hack/cargo run --locked --quiet -- crds --markdown >docs/api.md

bench-plan: ## microseconds of a pass over a Machine in core, first and later, in named situations
	@hack/cargo test --release --locked --package tatara-core microseconds_of_a_pass -- --ignored --nocapture
.PHONY: bench-plan

bench-idle: ## requests and memory of the quickstart's manager at rest, from 60 s after Ready
	@hack/bench-idle
.PHONY: bench-idle

bench-bootstrap: ## from apply to all Nodes Ready, against kubeadm by hand: ratios (needs a quiet machine)
	@hack/bench-bootstrap

bench-upgrade: ## simulated workers, then hosts, to another version in place: what the manager adds, and its requests (needs a quiet machine; 15 minutes)
	@hack/bench-upgrade
.PHONY: bench-upgrade

bench-vm: ## from apply to a virtual machine that runs, against plain libvirt (needs a quiet machine)
	@hack/bench-vm
.PHONY: bench-vm

bench-gateway: ## what tatara-gateway takes: 50 creates at once, a list of 500 machines, memory
	@hack/bench-gateway
.PHONY: bench-gateway

fuzz: ## what the gateway reads, and its handlers, with inputs that are made up; and its API, from its description
	@hack/fuzz
	@hack/schemathesis
.PHONY: fuzz

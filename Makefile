# What people and CI call. Everything real is in hack/ (see hack/README.md) and in cargo.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help check test test-slow

# one build folder for quickstart, tests and CI, outside the checkout
TATARA_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tatara
export TATARA_CACHE
export CARGO_TARGET_DIR ?= $(TATARA_CACHE)/target

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS=$$'\t' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

check: ## formatting, lints, dependencies, scripts, and the tests that need nothing
	@hack/lint
	@hack/test unit

test: check ## everything below the slow tier: also on a real API server and on real hosts
	@hack/test api
	@hack/test hosts

test-slow: ## what needs a second Kubernetes version
	@hack/test slow

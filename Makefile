# `make install`, `make demo` and `make test` do all the set-up.
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := aiperf,dynamo,lm-eval,ray,sglang-router,vllm-router,test
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint pins.txt

.PHONY: install demo test test-all lint bench fidelity bench-overhead soak faults cluster cluster-down pins clean

install: $(VENV)/.core ## Set up the environment: servesweep and Snakemake alone

demo: $(VENV)/.core ## Run the demo sweep on this machine and print the table
	$(BIN)/snakemake --quiet all
	@echo "Open results/report.html in a browser."

test: $(VENV)/.all ## Run every test that this machine can run but the long ones; missing components are named
	$(BIN)/pytest --numprocesses 3 --dist loadgroup

test-all: $(VENV)/.all ## The long ones too: further kinds of cluster, benchmark types, replicas; about an hour on two cores
	$(BIN)/pytest --numprocesses 3 --dist loadgroup -m ""

lint: $(VENV)/.all ## Formatters, linters, type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/pytest -q tests/unit/test_snakemake_lint.py

bench: $(VENV)/.all ## How long planning takes, in ratios
	$(BIN)/python tests/bench/planning.py

fidelity: $(VENV)/.all ## How truly this client and others measure; half an hour of a quiet machine, 10 GB for the others
	$(BIN)/python tests/bench/client.py

bench-overhead: $(VENV)/.all ## A run beside a hand-written batch script, on the cluster that is up
	$(BIN)/python tests/bench/overhead.py

soak: $(VENV)/.all ## 200 configurations on a cluster of their own where something dies every few seconds
	$(BIN)/python tests/soak/soak.py

faults: $(VENV)/.all ## Write docs/faults.md anew, from the tests that inject the faults
	rm -f .faults.jsonl
	$(BIN)/pytest --numprocesses 3 --dist loadgroup --faults .faults.jsonl -m "" tests/e2e_local tests/cluster
	$(BIN)/python tests/faults.py .faults.jsonl docs/faults.md
	rm -f .faults.jsonl

cluster: ## A real four-node Slurm on this machine, to try `snakemake --profile cluster` (root, Debian)
	tests/cluster/slurm-cluster up --install

cluster-down: ## End it, and leave nothing behind but its logs
	tests/cluster/slurm-cluster down

$(VENV)/bin/uv:
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' pins.txt)"

$(VENV)/.core: pyproject.toml pins.txt | $(VENV)/bin/uv
	$(UV) --editable .
	touch $@

$(VENV)/.all: pyproject.toml pins.txt | $(VENV)/bin/uv
	$(UV) --editable '.[$(EXTRAS)]'
	touch $@ $(VENV)/.core

pins: $(VENV)/bin/uv ## Resolve all versions anew; names and versions only
	$(BIN)/uv pip compile pyproject.toml --all-extras --python-version 3.11 \
		--no-header --no-annotate --no-emit-index-url --quiet --output-file pins.txt

clean: ## Remove the environment and all results
	rm -rf $(VENV) .snakemake
	find results -mindepth 1 ! -name .gitkeep -delete

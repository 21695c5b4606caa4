# Two commands do all the set-up: `make demo` and `make test`.
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dynamo,ray,sglang-router,vllm-router,test
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint pins.txt

.PHONY: demo test lint bench cluster cluster-down pins clean

demo: $(VENV)/.core ## Run the demo sweep on this machine and print the table
	$(BIN)/snakemake --quiet all
	@echo "Open results/report.html in a browser."

test: $(VENV)/.all ## Run every test that this machine can run; missing components are named
	$(BIN)/pytest --numprocesses 3 --dist loadgroup

lint: $(VENV)/.all ## Formatters, linters, type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/pytest -q tests/unit/test_snakemake_lint.py

bench: $(VENV)/.all ## How long planning takes, in ratios
	$(BIN)/python tests/bench/planning.py

cluster: ## A real four-node Slurm on this machine, to try `snakemake --profile cluster` (root, Debian)
	tests/cluster/slurm-cluster up --install

cluster-down: ## End it, and leave nothing behind
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

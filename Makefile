# Needs Python 3.11 or later with its venv module, make and git; pip brings all the rest. The tests
# use the system's PostgreSQL, or the one that pip has brought if there is none. Another Python:
#   make setup PYTHON=python3.13

PYTHON ?= python3
SEEDS ?= 10000
FRAMES ?= 100000
ROUNDS ?= 100
WHIMS ?= 100
FAULTS ?= 500
DRAWN ?= 10000
HURTS := kill,stop,cut,members
PROTOCOL ?= all
# One worker more than there are cores: some tests wait for real processes most of their time.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

BIN := .venv/bin
STAMP := .venv/.installed

# The build backend is pinned too; older pips read the first of these for it, newer ones the second.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup up check kernels test slow fmt swarm swarm-leadership leadership mutants drawn fuzz whims failover rounds bench-checker bench-transactions bench-leadership bench-security verdicts robust docs-check graphs faults records chaos turns bank golden lectures pictures clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## build .venv, with the command electorate in it

up: setup ## run five nodes on this machine, to watch and to hurt (UP="--for 10")
	$(BIN)/electorate up --nodes 5 $(UP)

check: setup ## formatting, lint, types, imports, tidiness
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/test_tidy.py

kernels: setup ## compile the loops of the checker, once for all that run it
	$(BIN)/python -m tests.kernels

test: setup kernels ## run every test but the slow ones
	$(BIN)/pytest -n $(WORKERS) -m "not slow"

slow: setup ## run the slow tests: searches of minutes
	$(BIN)/pytest -m slow --timeout 3600

fmt: setup ## format, and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

swarm: setup ## simulate Bully under SEEDS=10000 seeds
	$(BIN)/electorate simulate bully --nodes 5 --seeds $(SEEDS)

leadership: setup ## search what a node of an application runs as far as memory carries (LEADERSHIP="--memory 20G")
	$(BIN)/python -m tests.check.large_leadership $(LEADERSHIP)

swarm-leadership: setup ## hurt what a node of an application runs under SEEDS=10000 seeds, with members that change
	$(BIN)/electorate simulate leadership --scenario examples/scenarios/leadership.toml \
		--rule members.inner.base=2 --rule election.base=2 --seeds $(SEEDS)

mutants: setup ## break the protocols on purpose; every break must be noticed
	$(BIN)/pytest -n auto -v tests/mutants

drawn: setup ## draw machines until DRAWN=10000 were judged alike by checker and plain explorer (FROM=SEED goes on)
	$(BIN)/python -m tests.check.drawn_run $(DRAWN) --from $(or $(FROM),0)

fuzz: setup ## throw FRAMES=100000 mangled frames at a node, and ROUNDS=100 of chaos at a cluster
	FRAMES=$(FRAMES) $(BIN)/pytest -q tests/runtime/test_frame.py tests/runtime/test_fuzz.py
	ROUNDS=$(ROUNDS) $(BIN)/pytest -q tests/runtime/test_chaos.py

whims: setup ## ask at random whatever users can ask of leadership, in 2 x WHIMS=100 simulated clusters
	$(BIN)/pytest -q -n auto tests/testing/test_whims.py --electorate-seeds $(WHIMS)

failover: setup ## kill, then pause, the leader of five processes, ROUNDS=100 times
	$(BIN)/python -m benchmarks.failover --rounds $(ROUNDS)
	$(BIN)/python -m benchmarks.failover --rounds $(ROUNDS) --stop

rounds: setup ## kill the leader of each PROTOCOL=all and bring it back, ROUNDS=100 times
	$(BIN)/python -m benchmarks.failover --rounds $(ROUNDS) --protocol $(PROTOCOL)

bench-checker: setup ## time the checker beside Spin and TLC, where they are there (BENCH="--quick")
	$(BIN)/python -m benchmarks.checker $(BENCH)

bench-transactions: setup ## count transactions per second beside what the databases do alone (BENCH="--json")
	$(BIN)/python -m benchmarks.transactions $(BENCH)

bench-leadership: setup ## time failovers of leadership beside etcd, ZooKeeper and PySyncObj (BENCH="--trials 5")
	$(BIN)/python -m benchmarks.leadership $(BENCH)

bench-security: setup ## count what a secret and certificates cost beside neither, taking turns (BENCH="--turns 10")
	$(BIN)/python -m benchmarks.security $(BENCH)

verdicts: setup ## make every check of tests/verdicts again and show what has changed; stop and go on at will
	$(BIN)/python -m tests.verdicts.make $(VERDICTS)

robust: setup ## see what the promises hang on: all checks again with each default moved by one (ROBUST="--states 300000" is quicker)
	$(BIN)/python -m tests.verdicts.make_robust $(ROBUST)

docs-check: setup ## run every command that the docs show, the slow ones too (DOCS=--rewrite writes what is printed)
	$(BIN)/pytest -q tests/docs $(DOCS)

graphs: setup ## see leaders on every graph: the mandate on up to five nodes, all that a node runs on up to four: some minutes
	$(BIN)/pytest -v --timeout 3600 tests/check/test_mandate_graph.py

faults: setup ## kill and stop three processes FAULTS=500 times: no two terms overlap, fences hold
	$(BIN)/python -m benchmarks.faults --faults $(FAULTS)

records: setup ## hurt five recorded processes FAULTS=500 times, as root by cuts too, and replay all of it (RECORD=folder)
	$(BIN)/python -m benchmarks.faults --nodes 5 --faults $(FAULTS) --kinds $(or $(KINDS),$(HURTS)) --record $(or $(RECORD),data/records)

chaos: setup ## hurt processes in every way there is here, FAULTS=500 times inside the assumptions and OUTSIDE=17 beyond (SEED=1 KINDS=all)
	$(BIN)/python -m benchmarks.faults --nodes 5 --faults $(FAULTS) --outside $(or $(OUTSIDE),17) --seed $(or $(SEED),1) --kinds $(or $(KINDS),all) $(CHAOS)

turns: setup ## have the version in OLD=folder and this one measure in turn: is one worse beyond the noise?
	$(BIN)/python -m benchmarks.turns $(or $(OLD),$(error say OLD=folder, one with a .venv)) . $(TURNS)

bank: setup ## kill everybody at the bank 240 times, on SQLite and on PostgreSQL (BANK="--seed 2")
	$(BIN)/python -m examples.bank --kills 240 --commits 1000 --customers 40 --clients 8 $(BANK)
	$(BIN)/python -m examples.bank --postgres --kills 240 --commits 1000 --customers 40 --clients 8 $(BANK)

golden: setup ## rewrite the golden files; then read the diff
	$(BIN)/pytest -k golden --rewrite

lectures: setup ## run everything that answers the lectures, also under a changed rule, and compare
	$(BIN)/electorate lecture --all --changes $(LECTURES)

pictures: setup ## draw the pictures of the docs anew; then look at them
	$(BIN)/pytest -q tests/test_pictures.py --rewrite
	$(BIN)/pytest -q tests/costs/test_timeout.py -k up_to_date --rewrite

clean: ## remove .venv and all caches
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .verdicts_cache build dist
	find src tests -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.version_info >= (3, 11) or \
		sys.exit("electorate needs Python 3.11 or later; $(PYTHON) is " + v + ". Try PYTHON=python3.13")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

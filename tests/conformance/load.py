"""How does the gateway fare under load? 10,000 calls from 100 clients over HTTP and 1,000 over one pipe, beside a server
that others wrote and one that does nothing, in one run. Fails if a call is lost, fails or gets another one's answer, or
if the server's memory grows without measure.

usage: load.py COMMAND LOAD [EVERYTHING]   the commands `hermes-dispatch` and `hermes-load`, and the script of
                                           `@modelcontextprotocol/server-everything`
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

# Resident memory, in MiB, that the server may take on top of what it has after its first hundred calls: a session and
# a connection for each of 100 clients, and what the allocator keeps.
GROWTH = 256


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) / 1024


@contextlib.contextmanager
def serving(words, env, where):
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        try:
            where = next(filter(None, (re.search(where, line) for line in server.stderr))).group()
            threading.Thread(target=server.stderr.read, daemon=True).start()
            yield server, where
        finally:
            server.terminate()
            server.wait(30)


def load(command, *words):
    done = subprocess.run([command, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def show(name, report, note=""):
    print(f"| {name} | {report['calls']} | {report['calls_per_second']:.0f} | {report['p50_ms']:.1f} | {report['p99_ms']:.1f} | {note} |")
    bad = {key: report[key] for key in ("lost", "failed", "crossed") if report[key]}
    assert not bad, f"{name}: {bad} {report['first_failure']}"


def main(command, loader, everything):
    with tempfile.TemporaryDirectory() as home:
        workspace = os.path.join(home, "workspace")
        os.mkdir(workspace)
        cache = os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache"))
        env = {"HOME": home, "XDG_CACHE_HOME": cache, "PATH": os.environ["PATH"]}
        command, loader = os.path.abspath(command), os.path.abspath(loader)
        # Making a token needs a person at a terminal; `script` gives the command one.
        made = subprocess.run(
            ["script", "-qec", f"'{command}' token add load", "/dev/null"],
            cwd=workspace, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        )
        token = re.search(r"hermes_[0-9a-f]+", made.stdout).group()
        # Each call searches for its own number, so that an answer to another call is seen.
        listing = ["--token", token, "--tool", "file_search", "--argument", "query", "--value", "is {}."]
        with open(os.path.join(workspace, "numbers.txt"), "w", encoding="utf-8") as file:
            numbers = [client * 1_000_000 + call for client in range(100) for call in range(100)]
            file.writelines(f"number {number} is {number}.\n" for number in [*numbers, *range(1000)])

        print("| server, 100 clients over HTTP | calls | calls/s | p50 ms | p99 ms | memory |")
        print("| --- | --- | --- | --- | --- | --- |")
        words = [command, "serve", "--listen", "127.0.0.1:0", "--workspace", workspace]
        with serving(words, env, r"http://\S+") as (server, url):
            load(loader, "http", url, "1", "100", *listing)
            before = resident(server.pid)
            report = load(loader, "http", url, "100", "10000", *listing)
            after = resident(server.pid)
            show("this runtime, `file_search` in 11,000 lines", report, f"{before:.0f} → {after:.0f} MiB")
            assert after - before < GROWTH, f"the server's memory grew from {before:.0f} to {after:.0f} MiB"
        with serving([loader, "nothing"], env, r"http://\S+") as (server, url):
            show("the same library, doing nothing", load(loader, "http", url, "100", "10000"), "")
        if everything:
            with serving(["node", everything, "streamableHttp"], {**env, "PORT": "38917"}, r"port \d+") as _:
                show("server-everything, `echo`", load(loader, "http", "http://127.0.0.1:38917/mcp", "100", "10000"))

        print("\n| one pipe | calls | calls/s | p50 ms | p99 ms | |")
        print("| --- | --- | --- | --- | --- | --- |")
        os.environ.update(env)
        run = [command, "run", "--workspace", workspace]
        show("this runtime, `file_search`", load(loader, "pipe", "1000", *listing[2:], "--", *run))
        if everything:
            show("server-everything, `echo`", load(loader, "pipe", "1000", "--", "node", everything, "stdio"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)

"""What do the official conformance suite and servers that others wrote say about the runtime? Both sides of the protocol:
agents connect to it, and it connects to servers.

usage: suite.py COMMAND NODE PACKAGES SQLITE
    the command `hermes-dispatch`, the program `node`, a folder with node_modules, the program `mcp-server-sqlite`
"""

import contextlib
import http.client
import http.server
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading

COMMAND, NODE, PACKAGES, SQLITE = map(os.path.abspath, sys.argv[1:5])
HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = os.path.join(PACKAGES, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
VERSION = "2025-11-25"

# Calls belong to a workflow with a purpose; without them, each one after an answer of a server would ask a person.
SITUATION = ["--workflow", "suite", "--purpose", "conformance"]
SITUATIONS = '[situations]\nworkflows = ["suite"]\npurposes = ["conformance"]\n'

# Scenarios of a server that cannot apply, each with the reason.
NOT_FOR_A_SERVER = {
    "logging-set-level": "the runtime sends its log to nobody but its operator",
    "tools-call-with-logging": "the same: what servers log is no client's",
    "tools-call-sampling": "a server's question to a model is refused by default",
    "tools-call-elicitation": "a server's question to a person is refused by default",
    "elicitation-sep1034-defaults": "the same",
    "elicitation-sep1330-enums": "the same",
    "resources-subscribe": "resources are read when they are asked for; changes are not followed",
    "resources-unsubscribe": "the same",
    "server-sse-polling": "the runtime's streams are not closed to be polled",
}
# Scenarios that apply and failed.
FAILED = []
# The same for scenarios of a client; a name ends with `/` for all that begin so.
NOT_FOR_A_CLIENT = {
    "elicitation-sep1034-client-defaults": "a server's question to a person is refused by default",
    "auth/": "the runtime is given its credentials by the operator, as headers; it signs in nowhere",
}


class Place:
    """A user's home, with a configuration."""

    def __init__(self, home, configuration):
        self.home, self.workspace = home, os.path.join(home, "workspace")
        os.makedirs(self.workspace, exist_ok=True)
        os.makedirs(os.path.join(home, ".config/hermes-dispatch"), exist_ok=True)
        with open(os.path.join(home, ".config/hermes-dispatch/config.toml"), "w", encoding="utf-8") as file:
            file.write(configuration + SITUATIONS)
        cache = os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache"))
        self.env = {"HOME": home, "XDG_CACHE_HOME": cache, "PATH": os.path.dirname(NODE) + ":/usr/local/bin:/usr/bin:/bin"}

    def run(self, *words):
        done = subprocess.run([COMMAND, "--workspace", self.workspace, *SITUATION, *words], env=self.env, cwd=self.workspace,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        return done

    def call(self, tool, **args):
        words = [f"{name}:={json.dumps(value)}" for name, value in args.items()]
        done = self.run("--output", "json", "call", tool, *words)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"{tool}: {done.stdout}{done.stderr}")

    def token(self):
        # Making a token needs a person at a terminal; `script` gives the command one.
        made = subprocess.run(["script", "-qec", f"'{COMMAND}' token add suite --role Builder {' '.join(SITUATION)}", "/dev/null"],
                              cwd=self.workspace, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        return re.search(r"hermes_[0-9a-f]+", made.stdout).group()

    @contextlib.contextmanager
    def serve(self):
        words = [COMMAND, "serve", "--listen", "127.0.0.1:0", "--workspace", self.workspace]
        with subprocess.Popen(words, cwd=self.workspace, env=self.env, stderr=subprocess.PIPE, text=True) as server:
            try:
                address = next(filter(None, (re.search(r"http://([0-9.:]+)\S*", line) for line in server.stderr)))
                threading.Thread(target=server.stderr.read, daemon=True).start()
                yield address.group(1)
            finally:
                server.terminate()
                assert server.wait(30) == 0, "the server did not end well"


@contextlib.contextmanager
def with_token(address, token):
    """The suite shows no token, so one is added on the way. Everything else passes as it is."""

    class Way(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            own = "127.0.0.1:%d" % self.server.server_port
            headers = {name: value.replace(own, address).replace(own.replace("127.0.0.1", "localhost"), address)
                       for name, value in self.headers.items() if name.lower() != "connection"}
            headers["Authorization"] = "Bearer " + token
            onward = http.client.HTTPConnection(address, timeout=60)
            onward.request(self.command, self.path, body, headers)
            answer = onward.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            with contextlib.suppress(OSError):
                while part := answer.read1(65536):
                    self.wfile.write(part)
                    self.wfile.flush()
            self.close_connection = True
            onward.close()

        do_GET = do_POST = do_DELETE = do_OPTIONS = handle_any

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Way)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield "http://127.0.0.1:%d/mcp" % server.server_port
    finally:
        server.shutdown()


def suite(*words):
    env = {**os.environ, "PATH": os.path.dirname(NODE) + ":" + os.environ["PATH"]}
    return subprocess.run([NODE, SUITE, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def verdict(done):
    """Whether the suite says that all checks of a scenario passed."""
    counts = re.findall(r"Passed: (\d+)/(\d+), (\d+) failed", done.stdout + done.stderr)
    return bool(counts) and all(passed == of != "0" and failed == "0" for passed, of, failed in counts)


def as_server(home):
    upstream = os.path.join(HERE, "upstream.py")
    place = Place(home, "".join(
        f'[mcp.servers.{name}]\nargv = ["/usr/bin/python3", "{upstream}", "{name}"]\nroles = ["Builder"]\n' for name in ("test", "json")
    ) + "[roles.Builder]\ndefault = true\n")
    listed = re.findall(r"^  - (\S+) \[.*2025-11-25", suite("list", "--server").stdout, re.M)
    passed, failed = [], []
    token = place.token()
    with place.serve() as address, with_token(address, token) as url:
        for scenario in listed:
            if scenario in NOT_FOR_A_SERVER:
                continue
            done = suite("server", "--url", url, "--scenario", scenario)
            (passed if verdict(done) else failed).append((scenario, done.stdout + done.stderr))
    report("as a server", passed, failed, NOT_FOR_A_SERVER)


def as_client(home):
    listed = re.findall(r"^  - (\S+) \[.*2025-11-25", suite("list", "--client").stdout, re.M)
    left_out = {scenario: why for scenario in listed for name, why in NOT_FOR_A_CLIENT.items()
                if scenario == name or (name.endswith("/") and scenario.startswith(name))}
    passed, failed = [], []
    for scenario in listed:
        if scenario in left_out:
            continue
        done = suite("client", "--command", f"{sys.executable} {os.path.abspath(__file__)} {COMMAND} {NODE} {PACKAGES} {SQLITE} {home} {scenario}",
                     "--scenario", scenario)
        (passed if verdict(done) else failed).append((scenario, done.stdout + done.stderr))
    report("as a client", passed, failed, left_out)


def be_client(home, scenario, url):
    """What the suite starts: one call of a tool of its server."""
    place = Place(os.path.join(home, scenario), f'[mcp.servers.suite]\nurl = "{url}"\nroles = ["operator", "guest", "Builder"]\n[roles.Builder]\ndefault = true\n')
    tool, args = {"tools_call": ("suite_add_numbers", {"a": 5, "b": 3}), "sse-retry": ("suite_test_reconnection", {})}.get(scenario, ("suite_none", {}))
    print(place.call(tool, **args))


def report(what, passed, failed, left_out):
    for scenario, said in failed:
        print(f"--- {scenario}\n{said[-3000:]}")
    print(f"conformance {VERSION} {what}: {len(passed)} passed, {len(failed)} failed, {len(left_out)} not applicable")
    for scenario, why in left_out.items():
        print(f"    {scenario}: {why}")
    FAILED.extend(scenario for scenario, _ in failed)


def servers(home):
    """Servers that others wrote, each as its users start it."""
    files = os.path.join(home, "files")
    os.makedirs(files)
    with open(os.path.join(files, "a.txt"), "w", encoding="utf-8") as file:
        file.write("content of a\n")
    # What a server changes is in a folder of its own, which is listed.
    for name in ("analytics", "memory"):
        os.mkdir(os.path.join(home, name))
    database = os.path.join(home, "analytics", "data.db")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE visits (page TEXT, count INTEGER)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", [("start", 7), ("end", None)])
        connection.commit()
    package = lambda name: os.path.join(PACKAGES, "node_modules/@modelcontextprotocol", name, "dist/index.js")
    argv = {
        "filesystem": [NODE, package("server-filesystem"), files],
        "everything": [NODE, package("server-everything"), "stdio"],
        "memory": [NODE, package("server-memory")],
        "analytics": [SQLITE, "--db-path", database],
    }
    text = "tool_folders = [%s]\n[roles.DataEngineer]\ndefault = true\n" % json.dumps(os.path.join(home, "tools"))
    for name, words in argv.items():
        text += f'[mcp.servers.{name}]\nargv = {json.dumps(words)}\nroles = ["DataEngineer"]\n'
        if name in ("analytics", "memory"):
            text += f'sandbox.write = [{json.dumps(os.path.join(home, name))}]\n'
        if name == "memory":
            text += f'env.MEMORY_FILE_PATH = {json.dumps(os.path.join(home, "memory", "graph.jsonl"))}\n'
        if name == "analytics":
            text += 'failure_pattern = "^(Database e|E)rror: "\n'
    text += open(os.path.join(HERE, "database.toml"), encoding="utf-8").read()
    place = Place(home, text)
    os.makedirs(os.path.join(home, "tools"))
    fixture = os.path.join(HERE, "../fixtures/database_query.yaml")
    with open(fixture, encoding="utf-8") as source, open(os.path.join(home, "tools/database_query.yaml"), "w", encoding="utf-8") as target:
        target.write(source.read())

    def ok(tool, **args):
        answer = place.call(tool, **args)
        assert answer["status"] == "ok", (tool, answer)
        return answer["data"]

    assert "content of a" in json.dumps(ok("filesystem_read_text_file", path=os.path.join(files, "a.txt")))
    refused = place.call("filesystem_read_text_file", path="/etc/passwd")
    assert refused["error"]["reason"] == "reported_error", refused
    assert "hello" in json.dumps(ok("everything_echo", message="hello"))
    ok("memory_create_entities", entities=[{"name": "Ada", "entityType": "person", "observations": ["wrote a program"]}])
    assert "Ada" in json.dumps(ok("memory_read_graph"))
    assert "visits" in json.dumps(ok("analytics_list_tables"))
    failed = place.call("analytics_read_query", query="SELECT * FROM nothing")
    assert failed["error"]["reason"] == "reported_in_text", failed
    print("servers: filesystem, everything, memory and sqlite listed and called")

    rows = ok("database_query", query="SELECT page, count FROM visits ORDER BY page", database="analytics")
    assert (rows["rows"], rows["row_count"]) == ([{"page": "end", "count": None}, {"page": "start", "count": 7}], 2), rows
    wrong = place.call("database_query", query="DROP TABLE visits", database="analytics")
    assert wrong["error"]["code"] == 400, wrong
    print("database_query: rows of a real database through the manifest as it stands")


def main():
    if len(sys.argv) > 5:
        return be_client(sys.argv[5], sys.argv[6], sys.argv[7])
    for work in (servers, as_server, as_client):
        with tempfile.TemporaryDirectory() as home:
            work(home)
    assert not FAILED, FAILED


if __name__ == "__main__":
    main()

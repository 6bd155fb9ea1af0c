"""Do the three scenes of the manifest `database_query` come out right for an agent's client, with a real database behind
them? The official Python SDK, over HTTP with one token for each role, and over a pipe; `mcp-server-sqlite`; the operator
decides with a token of their own.

usage: scenes.py COMMAND SQLITE     the commands `hermes-dispatch` and `mcp-server-sqlite`
"""

import asyncio
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

HERE = os.path.dirname(os.path.abspath(__file__))
QUERY = "SELECT page, count FROM visits ORDER BY page"
ROWS = [{"page": "end", "count": None}, {"page": "start", "count": 7}]
SETTINGS = """
tool_folders = ["%(home)s/tools"]
[approval]
park_wait_seconds = 60
[situations]
workflows = ["deploy_*"]
purposes = ["schema check"]
[roles.Builder]
[roles.DevOps]
default = true
[roles.DataEngineer]
[tools.database_query]
aliases = ["db_query"]
target = [{ argument = "database", syntax = "name" }, { argument = "query", syntax = "sql" }]
effect = { kind = "by_target", open_world = true }
[tools.database_query.labels]
analytics = ["production"]
user_profiles = ["production", "personal"]
[tools.database_query.backend]
arguments = { query = "{query}" }
result = { rows = "{/value}", row_count = "{/count}", execution_time_ms = "{/elapsed_ms}" }
"""
# The databases of the manifest's server are files of their own, each behind a server that somebody else wrote.
SERVER = """
[mcp.servers.%(name)s]
argv = ["%(sqlite)s", "--db-path", "%(home)s/%(name)s/data.db"]
sandbox.write = ["%(home)s/%(name)s"]
tools = []
failure_pattern = "^(Database e|E)rror: "
[[mcp.servers.database-server.routes]]
tool = "query"
when = { database = "^%(database)s$", query = "^SELECT\\\\s" }
server = "%(name)s"
to = "read_query"
"""


class Place:
    """A user's home with the configuration of the scenes."""

    def __init__(self, command, sqlite, home):
        self.command, self.home, self.workspace = command, home, os.path.join(home, "workspace")
        config = os.path.join(home, ".config/hermes-dispatch")
        for folder in (self.workspace, config, os.path.join(home, "tools")):
            os.makedirs(folder)
        text = SETTINGS % {"home": home}
        for name in ("analytics", "user-profiles"):
            os.mkdir(os.path.join(home, name))
            with contextlib.closing(sqlite3.connect(os.path.join(home, name, "data.db"))) as connection:
                connection.execute("CREATE TABLE visits (page TEXT, count INTEGER)")
                connection.executemany("INSERT INTO visits VALUES (?, ?)", [("start", 7), ("end", None)])
                connection.commit()
            text += SERVER % {"name": name, "sqlite": sqlite, "home": home, "database": name.replace("-", "_")}
        with open(os.path.join(config, "config.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(HERE, "../fixtures/database_query.yaml"), encoding="utf-8") as source:
            manifest = source.read()
        with open(os.path.join(home, "tools/database_query.yaml"), "w", encoding="utf-8") as target:
            target.write(manifest)
        cache = os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache"))
        self.env = {"HOME": home, "XDG_CACHE_HOME": cache, "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def run(self, *words, **env):
        done = subprocess.run([self.command, "--output", "json", *words], cwd=self.workspace, env={**self.env, **env},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def token(self, *words):
        # Making a token needs a person at a terminal; `script` gives the command one.
        line = " ".join(f"'{word}'" for word in (self.command, "token", "add", *words))
        made = subprocess.run(["script", "-qec", line, "/dev/null"], cwd=self.workspace, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        return re.search(r"hermes_\w+", made.stdout).group()

    def outcome(self, caller):
        """What the journal says of the last call of the tool. What nobody waits for is written within some milliseconds."""
        for _ in range(100):
            records = [line["record"] for line in self.run("audit", "list", "-n", "50") if "record" in line]
            own = [record for record in records if record.get("tool") == "database_query" and record["caller"]["id"] == caller]
            if own:
                return own[-1]
            time.sleep(0.05)
        raise AssertionError(f"nothing is written down of a call of {caller}")

    @contextlib.contextmanager
    def serve(self):
        words = [self.command, "serve", "--listen", "127.0.0.1:0", "--approvals", "127.0.0.1:0", "--workspace", self.workspace]
        with subprocess.Popen(words, cwd=self.workspace, env=self.env, stderr=subprocess.PIPE, text=True) as server:
            try:
                yield next(filter(None, (re.search(r"http://\S+/mcp", line) for line in server.stderr))).group()
            finally:
                server.terminate()
                assert server.wait(30) == 0, "the server did not end well"


async def approve(place, operator):
    """The operator looks what waits, and says yes to it."""
    for _ in range(600):
        waiting = place.run("approvals", "list")
        if waiting:
            break
        await asyncio.sleep(0.1)
    request = waiting[0]["request"]
    assert request["tool"] == "database_query" and QUERY in request["args"] and request["risk"] >= 60, request
    subprocess.run([place.command, "approvals", "approve", waiting[0]["id"]], cwd=place.workspace, check=True,
                   env={**place.env, "HERMES_OPERATOR_TOKEN": operator}, stdin=subprocess.DEVNULL, capture_output=True)


async def scenes(place, connect, operator):
    """`connect` gives a client for one of the callers `a`, `b` and `c`, and that caller's id."""
    async with connect("a") as (client, caller):
        refused = await client.call_tool("database_query", {"query": QUERY, "database": "analytics"})
        error = refused.structured_content["error"]
        assert (error["code"], error["reason"]) == (403, "role_denied"), error
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert "database_query" not in listed, listed
        assert place.outcome(caller)["layer"] == 1
    async with connect("b") as (client, caller):
        rows = await client.call_tool("database_query", {"query": QUERY, "database": "analytics"})
        assert rows.structured_content["rows"] == ROWS and rows.structured_content["row_count"] == 2, rows
        record = place.outcome(caller)
        assert (record["risk_level"], record["layer"]) == ("medium", 2) and QUERY in record["args"], record
    async with connect("c") as (client, caller):
        wanted = client.call_tool("database_query", {"query": QUERY, "database": "user_profiles"})
        rows, _ = await asyncio.gather(wanted, approve(place, operator))
        assert rows.structured_content["rows"] == ROWS, rows
        record = place.outcome(caller)
        assert (record["risk_level"], record["layer"]) == ("high", 3) and record["approver"].startswith("operator"), record


async def main(command, sqlite):
    with tempfile.TemporaryDirectory() as home:
        place = Place(os.path.abspath(command), os.path.abspath(sqlite), home)
        operator = place.token("alice", "--operator")
        deploying = ("--workflow", "deploy_v2", "--purpose", "schema check")
        tokens = {
            "a": place.token("builder", "--role", "Builder"),
            "b": place.token("deployer", "--role", "DevOps", *deploying),
            "c": place.token("explorer", "--role", "DevOps"),
        }
        names = {"a": "builder", "b": "deployer", "c": "explorer"}
        with place.serve() as address:
            @contextlib.asynccontextmanager
            async def over_http(caller):
                headers = {"Authorization": "Bearer " + tokens[caller]}
                async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
                    async with Client(streamable_http_client(address, http_client=http)) as client:
                        yield client, "token:" + names[caller]

            await scenes(place, over_http, operator)
        print("scenes A, B and C over HTTP: denied by role, run and written down, approved by the operator and run")

    with tempfile.TemporaryDirectory() as home:
        place = Place(os.path.abspath(command), os.path.abspath(sqlite), home)
        operator = place.token("alice", "--operator")

        @contextlib.asynccontextmanager
        async def over_a_pipe(caller):
            words = {"a": ["--role", "Builder"], "b": ["--role", "DevOps", *deploying], "c": ["--role", "DevOps"]}[caller]
            server = StdioServerParameters(command=place.command, args=["run", "--workspace", place.workspace, *words], env=place.env)
            async with Client(server) as client:
                yield client, "local:%d" % os.getuid()

        await scenes(place, over_a_pipe, operator)
        print("scenes A, B and C over a pipe: the same")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

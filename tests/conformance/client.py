"""Does a client that others wrote get along with the gateway? Lists and calls tools with the official Python SDK, in
both eras of the protocol, over pipes and over HTTP.

usage: client.py COMMAND            the command `hermes-dispatch`
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile

import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

NOTES = "one\ntwo\n"


def texts(result):
    return [block.text for block in result.content if block.type == "text"]


async def use(client, path, era):
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert {"file_read", "file_write", "file_search", "file_list"} <= set(names), names

    read = await client.call_tool("file_read", {"path": path})
    assert not read.is_error, texts(read)
    assert read.structured_content["text"] == NOTES, read
    assert texts(read)[0].endswith(NOTES), read

    unknown = await client.call_tool("file_raed", {"path": path})
    assert unknown.is_error and "file_read" in texts(unknown)[0], unknown

    wrong = await client.call_tool("file_read", {"path": 7, "limit": "x"})
    assert wrong.is_error and wrong.structured_content["error"]["code"] == 400, wrong

    asked = await client.call_tool("file_write", {"path": "new.txt", "content": "x", "mode": "create"})
    assert asked.is_error and asked.structured_content["error"]["kind"] == "no_approver", asked

    many = await asyncio.gather(*(client.call_tool("file_read", {"path": path}) for _ in range(50)))
    assert all(answer.structured_content["text"] == NOTES for answer in many)

    print(f"{era}: protocol {client.protocol_version}, {len(names)} tools, {4 + len(many)} calls as expected")


async def decide(connect, workspace, era):
    """The person at a client that the user named is asked by a form, and their word counts."""
    for number, (decision, kind) in enumerate((("run it once", None), ("do not run it", "approval_denied"))):
        asked = []

        async def answer(_, params):
            asked.append(params.message)
            return types.ElicitResult(action="accept", content={"decision": decision})

        name = f"{era}-{number}.txt".replace(", ", "-")
        async with connect(answer) as client:
            wanted = await client.call_tool("file_write", {"path": name, "content": "x", "mode": "create"})
        assert len(asked) == 1 and name in asked[0], asked
        error = (wanted.structured_content or {}).get("error", {})
        assert error.get("kind") == kind, wanted
        assert os.path.exists(os.path.join(workspace, name)) == (kind is None), name
    print(f"{era}: a form asked the client's person, a yes ran the call once and a no did not")


async def decide_everywhere(command, workspace, env):
    editor = types.Implementation(name="editor", version="1")
    server = StdioServerParameters(command=command, args=["run", "--workspace", workspace], env=env)
    for mode in ("legacy", "auto"):
        connect = lambda answer: Client(server, mode=mode, client_info=editor, elicitation_callback=answer)
        await decide(connect, workspace, f"stdio, {mode}")
    token = make_token(command, workspace, env, "editor")
    with serve(command, workspace, env) as address:
        for mode in ("legacy", "auto"):
            @contextlib.asynccontextmanager
            async def connect(answer):
                async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
                    transport = streamable_http_client(address, http_client=http)
                    async with Client(transport, mode=mode, elicitation_callback=answer) as client:
                        yield client

            await decide(connect, workspace, f"http, {mode}")


async def over_pipes(command, workspace, env):
    server = StdioServerParameters(command=command, args=["run", "--workspace", workspace], env=env)
    for mode in ("legacy", "auto"):
        async with Client(server, mode=mode) as client:
            await use(client, "notes.txt", f"stdio, {mode}")


async def over_http(command, workspace, env):
    token = make_token(command, workspace, env, "conformance")
    with serve(command, workspace, env) as address:
        for mode in ("legacy", "auto"):
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
                async with Client(streamable_http_client(address, http_client=http), mode=mode) as client:
                    await use(client, "notes.txt", f"http, {mode}")


def make_token(command, workspace, env, name):
    # Making a token needs a person at a terminal; `script` gives the command one.
    made = subprocess.run(
        ["script", "-qec", f"'{command}' token add {name}", "/dev/null"],
        cwd=workspace, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )
    return re.search(r"hermes_[0-9a-f]+", made.stdout).group()


@contextlib.contextmanager
def serve(command, workspace, env):
    words = [command, "serve", "--listen", "127.0.0.1:0", "--workspace", workspace]
    with subprocess.Popen(words, cwd=workspace, env=env, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield next(filter(None, (re.search(r"http://\S+/mcp", line) for line in server.stderr))).group()
        finally:
            server.terminate()
            assert server.wait(30) == 0, "the server did not end well"


@contextlib.contextmanager
def user(settings):
    """A user's workspace and environment."""
    with tempfile.TemporaryDirectory() as home:
        workspace = os.path.join(home, "workspace")
        os.mkdir(workspace)
        with open(os.path.join(workspace, "notes.txt"), "w", encoding="utf-8") as file:
            file.write(NOTES)
        os.makedirs(os.path.join(home, ".config/hermes-dispatch"))
        with open(os.path.join(home, ".config/hermes-dispatch/config.toml"), "w", encoding="utf-8") as file:
            file.write(settings)
        # The cache is the user's own, so that components are compiled once.
        cache = os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache"))
        yield workspace, {"HOME": home, "XDG_CACHE_HOME": cache, "PATH": "/usr/bin:/bin"}


async def main(command):
    command = os.path.abspath(command)
    # Nobody is there to ask.
    with user('[approval]\nunattended = "deny"\n') as (workspace, env):
        await over_pipes(command, workspace, env)
        await over_http(command, workspace, env)
    with user('[approval]\nclients = ["editor", "token:editor"]\npark_wait_seconds = 30\n') as (workspace, env):
        await decide_everywhere(command, workspace, env)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

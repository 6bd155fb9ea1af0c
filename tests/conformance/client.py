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
from mcp import Client, StdioServerParameters
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


async def over_pipes(command, workspace, env):
    server = StdioServerParameters(command=command, args=["run", "--workspace", workspace], env=env)
    for mode in ("legacy", "auto"):
        async with Client(server, mode=mode) as client:
            await use(client, "notes.txt", f"stdio, {mode}")


async def over_http(command, workspace, env):
    # Making a token needs a person at a terminal; `script` gives the command one.
    made = subprocess.run(
        ["script", "-qec", f"'{command}' token add conformance", "/dev/null"],
        cwd=workspace, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )
    token = re.search(r"hermes_[0-9a-f]+", made.stdout).group()
    with serve(command, workspace, env) as address:
        for mode in ("legacy", "auto"):
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
                async with Client(streamable_http_client(address, http_client=http), mode=mode) as client:
                    await use(client, "notes.txt", f"http, {mode}")


@contextlib.contextmanager
def serve(command, workspace, env):
    words = [command, "serve", "--listen", "127.0.0.1:0", "--workspace", workspace]
    with subprocess.Popen(words, cwd=workspace, env=env, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield next(filter(None, (re.search(r"http://\S+/mcp", line) for line in server.stderr))).group()
        finally:
            server.terminate()
            assert server.wait(30) == 0, "the server did not end well"


async def main(command):
    with tempfile.TemporaryDirectory() as home:
        workspace = os.path.join(home, "workspace")
        os.mkdir(workspace)
        with open(os.path.join(workspace, "notes.txt"), "w", encoding="utf-8") as file:
            file.write(NOTES)
        # Nobody is there to ask.
        os.makedirs(os.path.join(home, ".config/hermes-dispatch"))
        with open(os.path.join(home, ".config/hermes-dispatch/config.toml"), "w", encoding="utf-8") as file:
            file.write('[approval]\nunattended = "deny"\n')
        # The cache is the user's own, so that components are compiled once.
        cache = os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache"))
        env = {"HOME": home, "XDG_CACHE_HOME": cache, "PATH": "/usr/bin:/bin"}
        command = os.path.abspath(command)
        await over_pipes(command, workspace, env)
        await over_http(command, workspace, env)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

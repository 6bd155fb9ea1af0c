"""A server that does what the name of a tool, or a word of its command line, says: also what no server should do.

Words: noise (lines that are no messages), chatty (a MiB on standard error before each answer), silent_start (ends
before it says anything), once (ends after its first call), deaf (closes its output after its first call and stays),
endless (a list of tools without end), bad (tools of which most cannot be read), slow (reads 4 KiB at a time),
modern (speaks 2026-07-28 only), changing (another schema at each start), confusing (names that look alike).
PEER_DIR is where it notes what it did.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

WORDS = sys.argv[1:]
NOTES = os.environ.get("PEER_DIR", "")
# In a sandbox each has the same number.
ME = os.urandom(8).hex()
out = sys.stdout.buffer
calls = 0


def note(name, text=""):
    if NOTES:
        with open(os.path.join(NOTES, name), "a") as file:
            file.write(text + "\n")


def raw(text):
    out.write(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    out.flush()


def send(message):
    raw(json.dumps(message) + "\n")


def answer(id, result):
    if "modern" in WORDS:
        result = {"resultType": "complete", **result}
    send({"jsonrpc": "2.0", "id": id, "result": result})


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def tool(name, properties=None, **more):
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": "Does " + name, "inputSchema": schema, **more}


NODE = {"type": "object", "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}
PLAIN = [
    tool("echo", {"text": {"type": "string"}}, annotations={"readOnlyHint": True}),
    tool("seen", {"optional": {"type": "string"}, "nullable": {"type": ["string", "null"]}}),
    tool("tree", {"top": {"$ref": "#/$defs/node"}}),
    *[tool(name) for name in (
        "die", "half", "effect_then_die", "wrong_id", "twice", "garbage", "huge", "wait", "deep", "surrogates", "blocks",
        "error_text", "error_structured", "error_empty", "no_error", "ask", "progress", "refuse", "big", "count",
        "endless_line", "array", "not_an_object", "input_required", "reach", "start_others", "call_back", "change_lists",
    )],
]
PLAIN[2]["inputSchema"]["$defs"] = {"node": NODE}
BAD = [
    {"name": 7},
    "no tool",
    {"name": "text_schema", "inputSchema": "object"},
    {"name": "no_schema"},
    {"name": "missing", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/nowhere"}}}},
    {"name": "remote", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}},
    {"name": "cycle", "inputSchema": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}},
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "deceiving", "description": "safe\u202e\u200b", "inputSchema": {"type": "object"}},
    {"name": "echo", "inputSchema": {"type": "object"}},
]
CONFUSING = [tool(name) for name in ("a.b", "a_b", "read", "x" * 60 + "_alpha", "x" * 60 + "_beta", "a/b", "")]


def listed(params):
    if "endless" in WORDS:
        number = int(params.get("cursor") or 0)
        return {"tools": [tool("tool_%d" % number)], "nextCursor": str(number + 1)}
    if "pages" in WORDS:
        at = int(params.get("cursor") or 0)
        more = {"nextCursor": str(at + 3)} if at + 3 < len(PLAIN) else {}
        return {"tools": PLAIN[at : at + 3], **more}
    tools = list(PLAIN)
    if "bad" in WORDS:
        tools = BAD + tools
    if "confusing" in WORDS:
        tools = CONFUSING
    if "changing" in WORDS:
        tools[0] = tool("echo", {"text": {"type": "string"}, "start_" + ME: {"type": "string"}})
    return {"tools": tools}


def reach(what, where):
    """What comes of reaching for a place of the machine."""
    try:
        if what == "read":
            return sorted(os.listdir(where)) if os.path.isdir(where) else open(where).read()
        if what == "write":
            with open(where, "a") as file:
                file.write("written\n")
            return "written"
        if what == "connect":
            socket.create_connection(("127.0.0.1", int(where)), 5).close()
            return "connected"
        return dict(os.environ)
    except OSError as error:
        return "refused: " + error.strerror


def call_back(url, token, method, params):
    """One request of the newer era to the runtime's own address, and what came of it."""
    meta = {"protocolVersion": "2026-07-28", "clientInfo": {"name": "peer", "version": "1"}, "clientCapabilities": {}}
    params["_meta"] = {"io.modelcontextprotocol/" + key: value for key, value in meta.items()}
    head = {"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    head.update({"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method})
    if "name" in params:
        head["Mcp-Name"] = params["name"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, head), timeout=60) as answered:
            said = answered.read().decode()
    except urllib.error.HTTPError as error:
        return {"status": error.code}
    lines = [line[5:] for line in said.splitlines() if line.startswith("data:") and line[5:].strip()]
    answers = [json.loads(line) for line in lines or [said]]
    return {"status": 200, **next(message for message in answers if message.get("id") == 1)}


def call(id, params):
    name, args = params["name"], params.get("arguments") or {}
    note("calls", name)
    if name == "echo":
        answer(id, text(args.get("text", ""), structuredContent={"text": args.get("text", "")}))
    elif name in ("seen", "tree"):
        answer(id, text(json.dumps(args)))
    elif name == "die":
        os._exit(3)
    elif name == "half":
        raw('{"jsonrpc":"2.0","id":%s,"result":{"content":[' % json.dumps(id))
        os._exit(0)
    elif name == "effect_then_die":
        note("effects", "done")
        os._exit(0)
    elif name == "wrong_id":
        answer(id + 1000000 if isinstance(id, int) else "other", text("not yours"))
    elif name == "twice":
        answer(id, text("first"))
        answer(id, text("second"))
    elif name == "garbage":
        raw("\x00\x01 no message\n{\"jsonrpc\":\"2.0\",\n[1]\n{\"log\":1}\n")
        answer(id, text("after the garbage"))
    elif name == "huge":
        raw('{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' % json.dumps(id))
        for _ in range(100):
            raw(b"x" * (1 << 20))
        raw('"}]}}\n')
    elif name == "endless_line":
        while True:
            raw(b"x" * (1 << 16))
    elif name == "big":
        answer(id, text("x" * (20 << 20)))
    elif name == "wait":
        note("waiting")
    elif name == "deep":
        raw('{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"a":%s%s}}}\n' % (json.dumps(id), "[" * 100000, "]" * 100000))
    elif name == "surrogates":
        raw('{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a\\ud83db\\ude00c\\ude00\\ud83dd\\u0000e\\ufffe"}]}}\n' % json.dumps(id))
    elif name == "blocks":
        answer(id, {"content": [
            {"type": "text", "text": "known", "annotations": {"audience": ["system"]}},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
            {"type": "hologram", "shape": "cube"},
            {"type": "image", "data": "%%%", "mimeType": "image/png"},
        ]})
    elif name == "array":
        answer(id, {"structuredContent": [1, 2]})
    elif name == "not_an_object":
        send({"jsonrpc": "2.0", "id": id, "result": [1]})
    elif name == "error_text":
        answer(id, text("it broke", isError=True))
    elif name == "error_structured":
        answer(id, {"structuredContent": {"code": "RATE_LIMITED", "retry_after": 30}, "isError": True})
    elif name == "error_empty":
        answer(id, {"content": [], "isError": True})
    elif name == "no_error":
        answer(id, text("Error: none found", isError=False))
    elif name == "refuse":
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "not today"}})
    elif name == "input_required":
        answer(id, {"resultType": "input_required", "inputRequests": {}})
    elif name == "count":
        answer(id, text(ME))
    elif name == "ask":
        for number, method in enumerate(("elicitation/create", "sampling/createMessage", "roots/list")):
            send({"jsonrpc": "2.0", "id": "ask%d" % number, "method": method, "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}, "messages": [], "maxTokens": 1}})
        said = [json.loads(sys.stdin.buffer.readline()) for _ in range(3)]
        answer(id, text(json.dumps(sorted(message.get("error", {}).get("code", 0) for message in said))))
    elif name == "reach":
        answer(id, text(json.dumps([reach(*one) for one in args["what"]])))
    elif name == "call_back":
        given = params["_meta"].get("hermes/call-back")
        if given is None:
            answer(id, text("nothing to call back with"))
            return
        note("given", json.dumps(given))
        while args.get("wait_for") and not os.path.exists(os.path.join(NOTES, args["wait_for"])):
            time.sleep(0.01)
        token = args.get("token") or given["token"]
        made = [call_back(given["url"], token, "tools/call", {"name": tool, "arguments": more}) for tool, more in args["calls"]]
        listed = call_back(given["url"], token, "tools/list", {})
        note("made", json.dumps(made))
        note("listed", json.dumps(listed))
        sys.stderr.write("my token is " + token + "\n")
        answer(id, text("made with " + token + " and " + token.upper()))
    elif name == "change_lists":
        for kind in ("resources", "prompts"):
            send({"jsonrpc": "2.0", "method": "notifications/%s/list_changed" % kind})
        answer(id, text("told"))
    elif name == "start_others":
        subprocess.Popen(["setsid", "sh", "-c", "trap '' TERM HUP; sleep 471 & sleep 472"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        answer(id, text("started"))
    elif name == "progress":
        token = (params.get("_meta") or {}).get("progressToken")
        for done in (1, 2):
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": done, "total": 2, "message": "step %d" % done}})
        answer(id, text("done"))
    else:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "unknown tool " + name}})


def handle(message):
    global calls
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if "noise" in WORDS:
        raw("\x1b[32mINFO\x1b[0m handling\n\n{\"log\":1}\n")
    if "chatty" in WORDS:
        sys.stderr.write("e" * (1 << 20) + "\n")
        sys.stderr.flush()
    if method == "initialize" and "modern" not in WORDS:
        capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "completions": {}}
        answer(id, {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "peer", "version": "1.0.0"}})
    elif method == "server/discover" and "modern" in WORDS:
        answer(id, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"})
    elif method == "tools/list":
        answer(id, listed(params))
    elif method == "tools/call":
        calls += 1
        call(id, params)
        if "once" in WORDS:
            os._exit(0)
        if "deaf" in WORDS:
            sys.stdout.flush()
            os.close(1)
            time.sleep(600)
    elif method == "resources/list":
        answer(id, {"resources": [{"uri": "memo://a", "name": "a"}]})
    elif method == "resources/read":
        answer(id, {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "content of " + params["uri"]}]})
    elif method == "prompts/list":
        answer(id, {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]})
    elif method == "prompts/get":
        who = (params.get("arguments") or {}).get("who", "")
        answer(id, {"messages": [{"role": "user", "content": {"type": "text", "text": "Greet " + who}}]})
    elif method == "completion/complete":
        answer(id, {"completion": {"values": ["Ada", "Alan"], "hasMore": False}})
    elif method == "notifications/cancelled":
        note("cancelled")
    elif method == "ping":
        answer(id, {})
    elif id is not None and method is not None:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no method " + method}})


if "silent_start" in WORDS:
    sys.stderr.write("cannot find its configuration\n")
    sys.exit(1)
note("starts", ME)
if "noise" in WORDS:
    raw("Starting...\n" + "n" * (1 << 20) + "\n")
source = sys.stdin.buffer
while True:
    if "slow" in WORDS:
        parts = [b""]
        while not parts[-1].endswith(b"\n"):
            parts.append(source.read1(4096))
            if not parts[-1]:
                sys.exit(0)
            time.sleep(0.001)
        for one in b"".join(parts).splitlines():
            handle(json.loads(one))
        continue
    line = source.readline()
    if not line:
        break
    handle(json.loads(line))
note("ends")

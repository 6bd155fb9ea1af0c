"""A server that says its name, until somebody breaks it: while a file of a given name is there, it ends whenever it is
started or asked for anything; or, if the file says `hang`, it answers nothing any more.
"""

import json
import os
import sys
import time

NAME, BROKEN = sys.argv[1:]


def answer(id, result):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\n")
    sys.stdout.flush()


def fail():
    if not os.path.exists(BROKEN):
        return
    if open(BROKEN).read() != "hang":
        os._exit(1)
    open(BROKEN + ".asked", "w").close()
    while os.path.exists(BROKEN):
        time.sleep(0.05)


fail()
for line in sys.stdin:
    fail()
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if method == "initialize":
        info = {"name": NAME, "version": "1.0.0"}
        answer(id, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        answer(id, {"tools": [{"name": "where", "description": "Says where", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        said = {"server": NAME}
        answer(id, {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said})
    elif id is not None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": method}}) + "\n")
        sys.stdout.flush()

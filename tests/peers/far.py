"""A server over HTTP that says which headers it was sent, or does what no server should: what the name of a tool says. It
prints its port first, then each Authorization header."""

import http.server
import json
import time

ODD = ("huge", "endless_line", "endless_events", "silent", "garbage", "wrong_id", "failure", "elsewhere", "half", "empty")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sent = self.headers.get("Authorization", "")
        print(json.dumps(sent), flush=True)
        method, id = message.get("method"), message.get("id")
        result = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "far", "version": "1"}},
            "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", *ODD)]},
            "tools/call": {"content": [{"type": "text", "text": "you sent " + sent}]},
            "ping": {},
        }.get(method)
        if id is None:
            return self.answer(202, b"")
        tool = (message.get("params") or {}).get("name")
        if method == "tools/call" and tool in ODD:
            try:
                return self.odd(tool, id)
            except OSError:
                self.close_connection = True
                return None
        answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no method"}}
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": id, **answer}).encode())

    def odd(self, tool, id):
        if tool == "huge":
            start = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' % json.dumps(id).encode()
            size = 200 << 20
            self.head(200, "application/json", len(start) + size)
            self.wfile.write(start)
            for _ in range(size >> 20):
                self.wfile.write(b"x" * (1 << 20))
        elif tool in ("endless_line", "endless_events"):
            self.head(200, "text/event-stream", None)
            event = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n\n'
            self.wfile.write(b"data: ")
            while True:
                self.wfile.write(b"x" * (1 << 16) if tool == "endless_line" else event)
        elif tool == "silent":
            while self.rfile.raw._sock.recv(1):
                time.sleep(0.1)
            self.close_connection = True
        elif tool == "garbage":
            self.answer(200, b"no message")
        elif tool == "wrong_id":
            self.answer(200, json.dumps({"jsonrpc": "2.0", "id": 1000000, "result": {"content": [{"type": "text", "text": "not yours"}]}}).encode())
        elif tool == "failure":
            self.answer(500, b"<html>broken</html>")
        elif tool == "elsewhere":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:9/mcp")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif tool == "half":
            self.head(200, "application/json", 1000)
            self.wfile.write(b'{"jsonrpc":"2.0"')
            self.close_connection = True
        else:
            self.answer(200, b"")

    def head(self, status, kind, length):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def do_GET(self):
        self.answer(405, b"")

    do_DELETE = do_GET

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()

"""A server over HTTP that says which headers it was sent. It prints its port first, then each Authorization header."""

import http.server
import json


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sent = self.headers.get("Authorization", "")
        print(json.dumps(sent), flush=True)
        method, id = message.get("method"), message.get("id")
        result = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "far", "version": "1"}},
            "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "you sent " + sent}]},
            "ping": {},
        }.get(method)
        if id is None:
            return self.answer(202, b"")
        answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no method"}}
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": id, **answer}).encode())

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

"""Somebody whom questions are sent to: answers as a word of its command line says, signed or not.

usage: webhook.py KEY_FILE WORD
Words: approve, deny, unsigned, wrong_key, other_question, old, reflected (the question's own signature), redirect, silent.
It prints its port first, then each question as one line of JSON, with whether its signature was right.
"""

import hashlib
import hmac
import http.server
import json
import sys
import threading
import time

KEY = open(sys.argv[1], "rb").read().strip()
WORD = sys.argv[2]


def sign(key, what, moment, body):
    return hmac.new(key, b"%s.%d." % (what, moment) + body, hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        moment, signature = int(self.headers["hermes-timestamp"]), self.headers["hermes-signature"]
        question = json.loads(body)
        right = hmac.compare_digest(signature, sign(KEY, b"question", moment, body))
        print(json.dumps({"signed": right, "question": question}), flush=True)
        if WORD == "silent":
            time.sleep(600)
        if WORD == "redirect":
            self.send_response(307)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            return
        decision = "deny" if WORD == "deny" else "approve"
        id = "0" * 26 if WORD == "other_question" else question["id"]
        answer = {"id": id, "args_digest": question["args_digest"], "decision": decision}
        if WORD == "deny":
            answer["reason"] = "not on a Friday"
        text = json.dumps(answer).encode()
        now = int(time.time()) - (3600 if WORD == "old" else 0)
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("hermes-timestamp", str(now))
        if WORD == "reflected":
            self.send_header("hermes-signature", signature)
        elif WORD != "unsigned":
            self.send_header("hermes-signature", sign(b"x" * 32 if WORD == "wrong_key" else KEY, b"answer", now, text))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
server.serve_forever()

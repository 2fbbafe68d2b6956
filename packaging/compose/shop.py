"""A shop that charges once per request and knows nothing of retries."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Shop(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        order = json.loads(self.rfile.read(length) or "{}")
        print(f"charged {order.get('cents')} cents", flush=True)  # the effect
        answer = json.dumps({"charged": order.get("cents")}).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


ThreadingHTTPServer(("0.0.0.0", 8080), Shop).serve_forever()

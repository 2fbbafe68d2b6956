"""An ordinary Flask app: POST /payments is a charge. Says on standard output where it listens."""

import sys
import threading

from flask import Flask, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server

app = Flask(__name__)
app.url_map.strict_slashes = False
charges = 0


class MethodOverride:
    """As Flask's own documentation recommends it."""

    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        method = environ.get("HTTP_X_HTTP_METHOD_OVERRIDE", "").upper()
        if method:
            environ["REQUEST_METHOD"] = method
        return self.app(environ, start_response)


class Quiet(WSGIRequestHandler):
    def log_request(self, *args):
        pass


@app.post("/payments")
def pay():
    global charges
    charges += 1
    return jsonify(charges=charges), 201


@app.get("/ledger")
def ledger():
    return jsonify(charges=charges)


@app.route("/environ", methods=["GET", "POST"])
def environ():
    return jsonify({name: value for name, value in request.environ.items() if name.startswith("HTTP_")})


app.wsgi_app = MethodOverride(app.wsgi_app)
server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
# Ends with the test that started it.
sys.stdin.read()

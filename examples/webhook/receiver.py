#!/usr/bin/env python3
"""Receives Tenure's notices: verifies the signature (Standard Webhooks) and takes each notice once.

Usage: TENURE_WEBHOOK_SECRET=whsec_... receiver.py [PORT]
Prints one line of JSON per notice. Put a proxy with TLS in front of it to listen beyond this machine.
"""
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE = 300  # seconds; an older call may be a replay


def key(secret):
    """Returns the bytes of a secret: `whsec_` and base64, or any other text as it is."""
    if secret.startswith("whsec_"):
        return base64.b64decode(secret.removeprefix("whsec_"))
    return secret.encode()


def is_signed(headers, body, secret):
    """Returns true if the call is signed with the secret and recent."""
    notice, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE:
        return False
    digest = hmac.new(key(secret), f"{notice}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    signatures = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected, signature) for signature in signatures)


class Receiver(BaseHTTPRequestHandler):
    taken = set()  # keep these in a database: a notice may come again after a restart

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_signed(self.headers, body, os.environ["TENURE_WEBHOOK_SECRET"]):
            return self.reply(401)
        notice = json.loads(body)
        if notice["id"] not in self.taken:
            print(json.dumps(notice), flush=True)
            self.taken.add(notice["id"])
        self.reply(204)  # only now: Tenure repeats the notice until it is accepted

    def reply(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    key(os.environ["TENURE_WEBHOOK_SECRET"])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8080), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()

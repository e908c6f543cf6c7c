"""Webhook receiver for Python: verify the signature, respond at once, process each event once.

Copy `verify_webhook` unchanged. Pass it the raw request body: JSON that was parsed and serialized again has different
bytes. The rest of the file is an example server: PARLEY_WEBHOOK_SECRET=whsec_… python3 verify.py
"""
import hashlib
import hmac
import json
import os
import queue
import re
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def verify_webhook(secret, header, body, now=None):
    """Return whether `body` (bytes) was signed with `secret` within the last five minutes.

    During a rotation of the secret the header has several signatures, and one must match.
    """
    first, *signatures = (header or '').split(',')
    found = re.fullmatch(r't=([0-9]{1,12})', first)
    if not secret or not found:
        return False
    t = found.group(1)
    if abs((int(time.time()) if now is None else now) - int(t)) > 300:
        return False
    expected = b'v1=' + hmac.new(secret.encode(), t.encode() + b'.' + body, hashlib.sha256).hexdigest().encode()
    return any(hmac.compare_digest(each.encode('utf-8', 'replace'), expected) for each in signatures)


def handle(event):
    """Replace this with your code. The event is already acknowledged, so retrying a failure is up to you."""
    print(event['id'], event['event'], json.dumps(event['data']), flush=True)


# In production, insert the event into a table with its id as primary key before you respond: a restart clears these two.
inbox = queue.Queue()
seen = set()


def work():
    while True:
        event = inbox.get()
        if event['id'] in seen:
            continue
        seen.add(event['id'])
        try:
            handle(event)
        except Exception:
            traceback.print_exc()


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        length = self.headers.get('Content-Length') or ''
        body = self.rfile.read(int(length)) if re.fullmatch('[0-9]{1,7}', length) else b''
        if not verify_webhook(SECRET, self.headers.get('X-Service-Signature'), body):
            return self.answer(401)
        inbox.put(json.loads(body))
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()


if __name__ == '__main__':
    SECRET = os.environ['PARLEY_WEBHOOK_SECRET']
    threading.Thread(target=work, daemon=True).start()
    ThreadingHTTPServer(('127.0.0.1', int(os.environ.get('PORT', 8000))), Receiver).serve_forever()

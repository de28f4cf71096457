"""A model on loopback that plays a plot instead of thinking. It speaks both wire formats, records every request, and
answers for the rest of the network too: as the hosts' proxy it refuses, so nothing of a run leaves the machine."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic_messages
import gemini_generate
import openai_responses
from moves import Fail, Say, Silence

WIRES = (anthropic_messages, openai_responses, gemini_generate)
ASIDE = Say("ok")


class Server:
    """Answers requests by moves; whoever is it says by which."""

    def __init__(self, record):
        self.closed = threading.Event()
        self._record = open(record, "a", encoding="utf-8")
        self._turn = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        if not self.closed.is_set():
            self.closed.set()
            self._server.shutdown()
            self._server.server_close()
            with self._turn:
                self._record.close()

    def record(self, **entry):
        with self._turn:
            if not self._record.closed:
                self._record.write(json.dumps({"atMs": int(time.time() * 1000), **entry}) + "\n")
                self._record.flush()


class Model(Server):
    """Plays one plot: a generator that yields moves and is sent what a call came back with."""

    def __init__(self, plot, record):
        self.plot = plot
        self.moves = []
        self.tools = {}
        self.over = False
        super().__init__(record)

    def close(self):
        """The host has gone: a plot that waits for it is told so."""
        super().close()
        with self._turn:
            self.plot.close()

    def answer(self, request):
        """The next move. Hosts ask for titles and the like as well, without the tools, and ask again if a connection
        broke: what was said to so many results is said again."""
        if not request.tools:
            return ASIDE
        with self._turn:
            self.tools = request.tools
            told = len(request.results)
            if told < len(self.moves):
                return self.moves[told]
            if told > len(self.moves) or self.over:
                return Say(f"I have lost the thread: {told} results, {len(self.moves)} moves")
            try:
                move = self.plot.send(request.results[-1] if told else None)
            except StopIteration:
                self.over = True
                move = Say("I have nothing left to say")
            except Exception as surprise:  # noqa: BLE001: the host has to be told goodbye whatever the plot hit upon
                self.over = True
                move = Say(f"I give up: {surprise}")
            self.moves.append(move)
            return move


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            wire = next((wire for wire in WIRES if wire.answers(path)), None)
            if wire is None:
                return self.refuse()
            body = json.loads(raw)
            request = wire.read(body)
            move = model.answer(request)
            model.record(method="POST", path=path, request=body, move=repr(move))
            if isinstance(move, Silence):
                model.closed.wait()
                self.close_connection = True
                return None
            if isinstance(move, Fail):
                error = {"type": "error", "error": {"type": "api_error", "message": "the model is out of order"}}
                return self.reply(500, "application/json", json.dumps(error))
            if not wire.streams(path, body):
                return self.reply(200, "application/json", json.dumps(wire.plain(move, body)))
            return self.stream(wire.events(move, body))

        def refuse(self):
            model.record(method=self.command, path=self.path, refused=True)
            error = {"type": "error", "error": {"type": "not_found_error", "message": "not here"}}
            self.reply(404, "application/json", json.dumps(error))

        do_GET = do_HEAD = do_PUT = do_DELETE = do_CONNECT = refuse

        def reply(self, status, kind, text):
            body = text.encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Connection", "close")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)
            except OSError:
                # A host that was killed does not read its answer.
                self.close_connection = True

        def stream(self, events):
            """Each event as soon as there is one."""
            try:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for name, data in events:
                    named = f"event: {name}\n" if name else ""
                    data = {"type": name, **data} if name else data
                    self.wfile.write(f"{named}data: {json.dumps(data)}\n\n".encode())
                    self.wfile.flush()
            except OSError:
                pass
            self.close_connection = True

        def log_message(self, *_):
            pass

    return Handler

"""An HTTP service of a test, on the loopback interface."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Service(ThreadingHTTPServer):
    """Serves at `url`, each request in a thread, until the block ends."""

    daemon_threads = True
    request_queue_size = 128  # twenty programs start at once

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()

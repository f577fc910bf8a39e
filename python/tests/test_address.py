"""A model at an address, read by ranges."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path

import modelpatch


def test_address(llama: Path) -> None:
    data = llama.read_bytes()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            first, last = (int(n) if n else len(data) - 1 for n in self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-"))
            part = data[first:last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(part)))
            self.send_header("ETag", '"one"')
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/model.gguf"
        report = modelpatch.inspect(address, allow_private=True)
        assert (report.path, report.bytes, report.architecture) == (address, len(data), "llama")
        assert modelpatch.extend(address, 64, allow_private=True).changes
    finally:
        server.shutdown()
        server.server_close()

"""`python -m shop`: serve the shop on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from .app import Shop
from .server import ShopServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="shop")
    parser.add_argument("--port", type=int, default=4173)
    parser.add_argument("--web", type=Path, help="folder with index.html and dist/")
    args = parser.parse_args()
    server = ShopServer(Shop(), args.port, args.web, verbose=True)
    print(f"shop on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()

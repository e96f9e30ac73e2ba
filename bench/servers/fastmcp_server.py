# The same tools served by FastMCP for Python: `fastmcp_server.py stdio|http COUNT`; over HTTP it prints its port.

import socket
import sys

from fastmcp import FastMCP

server = FastMCP("bench")


def publish(name: str, count: int | None = None) -> str:
    return f"{name} {count}"


for index in range(int(sys.argv[2])):
    server.tool(
        publish,
        name=f"tool-{index:04}",
        description="Publishes a part of the site and says where it stands.",
        output_schema=None,
    )

if sys.argv[1] == "stdio":
    server.run(show_banner=False)
else:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    print(port, flush=True)
    server.run(transport="http", host="127.0.0.1", port=port, path="/mcp", log_level="error", show_banner=False)

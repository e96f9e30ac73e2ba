"""A Python client of a server: lists, calls, reads and gets, and prints what it received as JSON.

Usage: foreign-client.py mcp|fastmcp auto|legacy stdio COMMAND ARGUMENT...
       foreign-client.py mcp|fastmcp auto|legacy http URL
"""

import asyncio
import json
import os
import sys

library, mode, transport, *target = sys.argv[1:]


def connect():
    if library == "mcp":
        from mcp import Client, StdioServerParameters

        parameters = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
        return Client(target[0] if transport == "http" else parameters, mode=mode)
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    process = StdioTransport(target[0], target[1:], env=dict(os.environ))
    return Client(target[0] if transport == "http" else process, mode=mode)


# FastMCP returns the lists and contents themselves, the SDK results that have them.
def of(result, field):
    return getattr(result, field, result)


async def main():
    async with connect() as client:
        tools = of(await client.list_tools(), "tools")
        resources = of(await client.list_resources(), "resources")
        prompts = of(await client.list_prompts(), "prompts")
        called = await client.call_tool("greet", {"who": "Ada"})
        read = await client.read_resource(str(resources[0].uri))
        prompt = await client.get_prompt("tools", {})
        print(
            json.dumps(
                {
                    "protocol": client.protocol_version,
                    "tools": [tool.name for tool in tools],
                    "called": called.content[0].text,
                    "resources": [str(resource.uri) for resource in resources],
                    "read": of(read, "contents")[0].text,
                    "prompts": [prompt.name for prompt in prompts],
                    "prompt": prompt.messages[0].content.text,
                }
            )
        )


asyncio.run(main())

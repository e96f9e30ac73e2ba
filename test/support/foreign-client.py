"""A Python client of a server: lists, calls, approves, reads and gets, and prints what it received as JSON.

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
        server = target[0] if transport == "http" else parameters
        return Client(server, mode=mode, elicitation_callback=approve)
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    process = StdioTransport(target[0], target[1:], env=dict(os.environ))
    server = target[0] if transport == "http" else process
    return Client(server, mode=mode, elicitation_handler=approve_form)


ANSWER = {"decision": "run it once"}


async def approve(context, params):
    from mcp_types import ElicitResult

    return ElicitResult(action="accept", content=ANSWER)


# FastMCP's handler.
async def approve_form(message, response_type, params, context):
    from fastmcp.client.elicitation import ElicitResult

    return ElicitResult(action="accept", content=ANSWER)


# FastMCP raises what the SDK returns.
async def fail(client, arguments):
    try:
        return (await client.call_tool("greet", arguments)).content[0].text
    except Exception as error:
        return str(error)


# FastMCP returns the lists and contents themselves, the SDK results that have them.
def of(result, field):
    return getattr(result, field, result)


async def main():
    async with connect() as client:
        tools = of(await client.list_tools(), "tools")
        resources = of(await client.list_resources(), "resources")
        prompts = of(await client.list_prompts(), "prompts")
        called = await client.call_tool("greet", {"who": "Ada"})
        approved = await client.call_tool("remove", {})
        failed = await fail(client, {})
        read = await client.read_resource(str(resources[0].uri))
        prompt = await client.get_prompt("tools", {})
        print(
            json.dumps(
                {
                    "protocol": client.protocol_version,
                    "tools": [tool.name for tool in tools],
                    "called": called.content[0].text,
                    "approved": approved.content[0].text,
                    "failed": failed,
                    "resources": [str(resource.uri) for resource in resources],
                    "read": of(read, "contents")[0].text,
                    "prompts": [prompt.name for prompt in prompts],
                    "prompt": prompt.messages[0].content.text,
                }
            )
        )


asyncio.run(main())

"""A server for the official conformance suite: it offers what the suite's scenarios ask for, so that they can look at it
through the runtime. The runtime serves a tool `x` of the server `test` as `test_x`.

usage: upstream.py NAME             `test`, or `json` for the one tool whose name begins so
"""

import json
import sys
import time

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEXT = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}


def embedded(uri, text="This is an embedded resource content.", mime="text/plain"):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}}


def tool(name, schema=None):
    return {"name": name, "description": "For the conformance suite: " + name, "inputSchema": schema or {"type": "object", "properties": {}}}


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
TOOLS = {
    "test": [tool(name) for name in (
        "simple_text", "image_content", "audio_content", "embedded_resource", "multiple_content_types", "error_handling",
        "tool_with_progress", "tool_with_logging",
    )],
    "json": [tool("schema_2020_12_tool", SCHEMA)],
}[sys.argv[1]]
RESULTS = {
    "simple_text": {"content": [TEXT]},
    "image_content": {"content": [IMAGE]},
    "audio_content": {"content": [AUDIO]},
    "embedded_resource": {"content": [embedded("test://embedded-resource")]},
    "multiple_content_types": {"content": [
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ]},
    "error_handling": {"content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}], "isError": True},
    "tool_with_progress": {"content": [TEXT]},
    "tool_with_logging": {"content": [TEXT]},
    "schema_2020_12_tool": {"content": [TEXT]},
}
RESOURCES = [
    {"uri": "test://static-text", "name": "Static Text Resource", "description": "A text", "mimeType": "text/plain"},
    {"uri": "test://static-binary", "name": "Static Binary Resource", "description": "An image", "mimeType": "image/png"},
]
ARGUMENTS = [{"name": name, "description": name, "required": True} for name in ("arg1", "arg2")]
PROMPTS = [
    {"name": "simple_prompt", "description": "A simple prompt"},
    {"name": "prompt_with_arguments", "description": "With arguments", "arguments": ARGUMENTS},
    {"name": "prompt_with_embedded_resource", "description": "With a resource", "arguments": [{"name": "resourceUri", "required": True}]},
    {"name": "prompt_with_image", "description": "With an image"},
]


def said(*contents):
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def prompt(params):
    args = params.get("arguments") or {}
    text = lambda words: {"type": "text", "text": words}
    return {
        "simple_prompt": lambda: said(text("This is a simple prompt for testing.")),
        "prompt_with_arguments": lambda: said(text("Prompt with arguments: arg1='%s', arg2='%s'" % (args.get("arg1"), args.get("arg2")))),
        "prompt_with_embedded_resource": lambda: said(embedded(args.get("resourceUri", "test://x")), text("Please process the embedded resource above.")),
        "prompt_with_image": lambda: said(IMAGE, text("Please analyze the image above.")),
    }[params["name"]]()


def read(uri):
    if uri == "test://static-text":
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}]}
    if uri == "test://static-binary":
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PNG}]}
    number = uri.split("/")[3]
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": json.dumps({"id": number, "templateTest": True, "data": "Data for ID: " + number})}]}


def answer(method, params):
    if method == "initialize":
        has = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}} if sys.argv[1] == "test" else {"tools": {}}
        return {"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": {"name": "upstream", "version": "1.0.0"}}
    return {
        "ping": lambda: {},
        "tools/list": lambda: {"tools": TOOLS},
        "tools/call": lambda: RESULTS[params["name"]],
        "resources/list": lambda: {"resources": RESOURCES},
        "resources/templates/list": lambda: {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "Template", "mimeType": "application/json"}]},
        "resources/read": lambda: read(params["uri"]),
        "prompts/list": lambda: {"prompts": PROMPTS},
        "prompts/get": lambda: prompt(params),
        "completion/complete": lambda: {"completion": {"values": ["paris", "park"], "total": 2, "hasMore": False}},
    }[method]()


def send(message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if id is None or method is None:
        continue
    try:
        if method == "tools/call" and params["name"] == "tool_with_progress":
            token = (params.get("_meta") or {}).get("progressToken")
            for done in (0, 50, 100):
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": done, "total": 100}})
                time.sleep(0.05)
        send({"jsonrpc": "2.0", "id": id, "result": answer(method, params)})
    except (KeyError, IndexError) as error:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown: %s" % error}})

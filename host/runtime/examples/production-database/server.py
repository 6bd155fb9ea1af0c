"""A database server over the Model Context Protocol, on standard input and output: one tool, `query`, that runs one
statement of SQL against a SQLite database. The databases are made in memory when it starts, so that the example leaves
nothing behind and needs nothing but Python."""

import json
import sqlite3
import sys
import time

SCHEMAS = {
    "analytics": """
        CREATE TABLE visits (day TEXT, page TEXT, count INTEGER);
        INSERT INTO visits VALUES ('2026-05-01', '/', 120), ('2026-05-01', '/docs', 80), ('2026-05-02', '/', 140);
    """,
    "user_profiles": """
        CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
        INSERT INTO users (name, email) VALUES ('Ada', 'ada@example.org'), ('Grace', 'grace@example.org');
    """,
    "content": """
        CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT);
        INSERT INTO articles (title) VALUES ('Seven steps'), ('Three scenes');
    """,
}

TOOL = {
    "name": "query",
    "description": "Run one statement against a database",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "database": {"type": "string", "enum": sorted(SCHEMAS)},
            "timeout_seconds": {"type": "integer"},
        },
        "required": ["query", "database"],
    },
}


def open_databases():
    databases = {}
    for name, schema in SCHEMAS.items():
        databases[name] = sqlite3.connect(":memory:")
        databases[name].executescript(schema)
    return databases


def query(databases, arguments):
    database = databases.get(arguments.get("database"))
    if database is None:
        return failure("there is no such database")
    limit = time.monotonic() + arguments.get("timeout_seconds", 30)
    database.set_progress_handler(lambda: time.monotonic() > limit, 1000)
    began = time.monotonic()
    try:
        cursor = database.execute(arguments.get("query", ""))
        names = [column[0] for column in cursor.description or []]
        rows = [dict(zip(names, row)) for row in cursor.fetchall()]
        database.commit()
    except sqlite3.Error as error:
        return failure(str(error))
    count = len(rows) if names else cursor.rowcount
    facts = {"rows": rows, "row_count": count, "execution_time_ms": int((time.monotonic() - began) * 1000)}
    return {"content": [{"type": "text", "text": json.dumps(facts)}], "structuredContent": facts}


def failure(message):
    return {"content": [{"type": "text", "text": message}], "isError": True}


def answer(databases, request):
    method, params = request.get("method"), request.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "database-server", "version": "1.0.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call" and params.get("name") == TOOL["name"]:
        return query(databases, params.get("arguments") or {})
    return None


def main():
    databases = open_databases()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(databases, request)
        response = {"jsonrpc": "2.0", "id": request["id"]}
        if result is None:
            response["error"] = {"code": -32601, "message": "there is no such method or tool"}
        else:
            response["result"] = result
        print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main()

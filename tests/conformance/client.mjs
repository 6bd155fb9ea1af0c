// Does a client of the official TypeScript SDK get along with the gateway? Lists and calls tools over pipes.
//
// usage: client.mjs COMMAND PACKAGES       the command `hermes-dispatch`, a folder with node_modules

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [command, packages] = process.argv.slice(2).map((word) => path.resolve(word));
const require = createRequire(path.join(packages, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const home = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-client-"));
try {
  const workspace = path.join(home, "workspace");
  fs.mkdirSync(workspace);
  fs.writeFileSync(path.join(workspace, "notes.txt"), "one\ntwo\n");
  const cache = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache");
  const env = { HOME: home, XDG_CACHE_HOME: cache, PATH: "/usr/bin:/bin" };
  const client = new Client({ name: "conformance", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command, args: ["run", "--workspace", workspace], env }));
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === "file_read"));
  const read = await client.callTool({ name: "file_read", arguments: { path: "notes.txt" } });
  assert.equal(read.structuredContent.text, "one\ntwo\n");
  const wrong = await client.callTool({ name: "file_read", arguments: { path: 7, limit: "x" } });
  assert.equal(wrong.isError, true);
  const many = await Promise.all(
    Array.from({ length: 50 }, () => client.callTool({ name: "file_read", arguments: { path: "notes.txt" } })),
  );
  assert.ok(many.every((answer) => answer.structuredContent.text === "one\ntwo\n"));
  await client.close();
  console.log(`stdio, TypeScript SDK: ${tools.length} tools, ${2 + many.length} calls as expected`);
} finally {
  fs.rmSync(home, { recursive: true, force: true });
}

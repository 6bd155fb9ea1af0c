// Does a client of the official TypeScript SDK get along with the gateway? Lists and calls tools over pipes and over HTTP.
//
// usage: client.mjs COMMAND PACKAGES       the command `hermes-dispatch`, a folder with node_modules

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [command, packages] = process.argv.slice(2).map((word) => path.resolve(word));
const require = createRequire(path.join(packages, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const home = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-client-"));
const workspace = path.join(home, "workspace");
const cache = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache");
const env = { HOME: home, XDG_CACHE_HOME: cache, PATH: "/usr/bin:/bin" };

async function use(transport, way) {
  const client = new Client({ name: "conformance", version: "1.0.0" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === "file_read"));
  const read = await client.callTool({ name: "file_read", arguments: { path: "notes.txt" } });
  assert.equal(read.structuredContent.text, "one\ntwo\n");
  const wrong = await client.callTool({ name: "file_read", arguments: { path: 7, limit: "x" } });
  assert.equal(wrong.isError, true);
  assert.equal(wrong.structuredContent.error.code, 400);
  const unknown = await client.callTool({ name: "file_raed", arguments: {} });
  assert.equal(unknown.isError, true);
  const asked = await client.callTool({ name: "file_write", arguments: { path: "new.txt", content: "x", mode: "create" } });
  assert.equal(asked.structuredContent.error.kind, "no_approver");
  const many = await Promise.all(
    Array.from({ length: 50 }, () => client.callTool({ name: "file_read", arguments: { path: "notes.txt" } })),
  );
  assert.ok(many.every((answer) => answer.structuredContent.text === "one\ntwo\n"));
  await client.close();
  console.log(`${way}, TypeScript SDK: ${tools.length} tools, ${4 + many.length} calls as expected`);
}

async function overHttp() {
  // Making a token needs a person at a terminal; `script` gives the command one.
  const made = execFileSync("script", ["-qec", `'${command}' token add conformance`, "/dev/null"], {
    cwd: workspace, env, stdio: ["ignore", "pipe", "inherit"],
  });
  const token = made.toString().match(/hermes_[0-9a-f]+/)[0];
  const words = ["serve", "--listen", "127.0.0.1:0", "--workspace", workspace];
  const server = spawn(command, words, { cwd: workspace, env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  try {
    const address = await new Promise((resolve, reject) => {
      readline.createInterface({ input: server.stderr }).on("line", (line) => {
        const found = line.match(/serving at (http:\S+)/);
        if (found) resolve(found[1]);
      });
      server.once("exit", () => reject(new Error("the server ended")));
    });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await use(new StreamableHTTPClientTransport(new URL(address), { requestInit }), "http");
  } finally {
    server.kill("SIGTERM");
    assert.equal(await ended, 0, "the server did not end well");
  }
}

try {
  fs.mkdirSync(workspace);
  fs.writeFileSync(path.join(workspace, "notes.txt"), "one\ntwo\n");
  fs.mkdirSync(path.join(home, ".config/hermes-dispatch"), { recursive: true });
  // Nobody is there to ask.
  fs.writeFileSync(path.join(home, ".config/hermes-dispatch/config.toml"), '[approval]\nunattended = "deny"\n');
  await use(new StdioClientTransport({ command, args: ["run", "--workspace", workspace], env }), "stdio");
  await overHttp();
} finally {
  fs.rmSync(home, { recursive: true, force: true });
}

"""Are plugins in other languages tools like any other? For each language a plugin is made by `plugin new`, built, tested
and fuzzed by the command alone. Two tools are added to it: one tells progress, and cleans up once nobody waits for it any
more; the other one has a fault behind four letters, which the fuzzer finds by what inputs reach, and not without. Then two
components that other people's tools made for a world of their own, which know nothing of the runtime, are called by their
types. Prints what each costs.

    languages.py COMMAND PYTHON_VENV NODE_MODULES LIBFUZZER

LIBFUZZER is the program of `libfuzzer/`, which finds the same fault with that engine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND, VENV, MODULES, LIBFUZZER = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]

WIT = """
package test:shop@1.2.0;

interface prices {
    /// How something is sent.
    enum speed { slow, fast }
    record item { name: string, count: u32 }
    variant outcome { free, costs(f64) }
    /// What some items cost.
    total: func(items: list<item>, speed: option<speed>) -> result<outcome, string>;
}

world shop { export prices; }
"""

PYTHON = """
from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import prices


class Prices(exports.Prices):
    def total(self, items, speed):
        count = sum(item.count for item in items)
        if count > 1000:
            raise Err("too many")
        if count == 0:
            return prices.Outcome_Free()
        return prices.Outcome_Costs(count * 2.5 + (10 if speed == prices.Speed.FAST else 0))
"""

JAVASCRIPT = """
export const prices = {
  total(items, speed) {
    const count = items.reduce((sum, item) => sum + item.count, 0);
    if (count > 1000) throw "too many";
    if (count === 0) return { tag: "free" };
    return { tag: "costs", val: count * 2.5 + (speed === "fast" ? 10 : 0) };
  },
};
"""


# Calls in which the fuzzer finds the word with a look at what inputs reach, and does not find it without.
CALLS = 4000

# By what a component says that it was made; the limits of a call that names none go by it.
MADE_BY = {
    "rust": "wit-bindgen-rust ",
    "c": "wit-component ",
    "javascript": "componentize-qjs",
    "python": "componentize-py ",
}

# What is put into each template: the word, and work that ends when nobody waits.
ADDED = {
    "rust": {
        "src/lib.rs": [
            ("use hermes_sdk::{Call,", "use hermes_sdk::{Call, Level,"),
            (
                "plugin! {",
                """/// Read an order.
#[tool]
fn order(#[arg(max_length = 100)] text: String) -> Result<Counts> {
    assert!(text != "zqkw", "nobody has thought of this word");
    Ok(Counts { lines: 0, words: 0, bytes: text.len() })
}

/// Work until nobody waits.
#[tool]
fn work(call: &Call) -> Result<Counts> {
    call.progress(1, Some(2), "begun");
    call.partial("half of it");
    while !call.is_cancelled() {}
    call.log(Level::Info, "put away");
    Ok(Counts { lines: 0, words: 0, bytes: 0 })
}

plugin! {""",
            ),
            ("tools: [count]", "tools: [count, order, work]"),
        ],
    },
    "c": {
        "src/tool.c": [
            (
                "// What the runtime calls.",
                """static bool nothing(output_t *output) {
  memset(output, 0, sizeof *output);
  output->data.is_some = true;
  output->data.val = text("{}");
  return true;
}

// Read an order.
static bool order(file_tool_string_t args, output_t *output) {
  if (strcmp(argument(args, "text"), "zqkw") == 0) __builtin_trap();
  return nothing(output);
}

// Work until nobody waits.
static bool work(output_t *output) {
  hermes_tool_progress_progress_update_t update = {1, {true, 2}, {true, text("begun")}};
  hermes_tool_progress_report(&update);
  file_tool_string_t half = text("half of it");
  hermes_tool_progress_partial(&half);
  while (!hermes_tool_progress_cancelled()) continue;
  file_tool_string_t line = text("put away");
  hermes_tool_log_write(HERMES_TOOL_LOG_LEVEL_INFO, &line);
  return nothing(output);
}

// What the runtime calls.""",
            ),
            (
                "  return fail(err, HERMES_TOOL_TYPES_ERROR_KIND_INVALID_INPUT, NULL",
                """  if (call->tool.len == 5 && memcmp(call->tool.ptr, "order", 5) == 0) return order(call->args, ret);
  if (call->tool.len == 4 && memcmp(call->tool.ptr, "work", 4) == 0) return work(ret);
  return fail(err, HERMES_TOOL_TYPES_ERROR_KIND_INVALID_INPUT, NULL""",
            ),
        ],
    },
    "javascript": {
        "tool.js": [
            ("import { report } from", 'import { write } from "hermes:tool/log@0.1.0";\nimport { cancelled, partial, report } from'),
            (
                "// The arguments of each tool",
                """// Read an order.
function order({ text }) {
  if (text === "zqkw") throw new Error("nobody has thought of this word");
  return {};
}

// Work until nobody waits.
function work() {
  report({ done: 1, total: 2, message: "begun" });
  partial("half of it");
  while (!cancelled());
  write("info", "put away");
  return {};
}

// The arguments of each tool""",
            ),
            (
                "const tools = {",
                """const tools = {
  order: { run: order, description: "Read an order.", schema: { type: "object" } },
  work: { run: work, description: "Work until nobody waits.", schema: { type: "object" } },""",
            ),
        ],
    },
    "python": {
        "app.py": [
            ("import files, progress, types", "import files, log, progress, types"),
            (
                "# The arguments of each tool",
                '''def order(args):
    """Read an order."""
    assert args["text"] != "zqkw", "nobody has thought of this word"
    return {}


def work(args):
    """Work until nobody waits."""
    progress.report(types.ProgressUpdate(1, 2, "begun"))
    progress.partial("half of it")
    while not progress.cancelled():
        pass
    log.write(log.Level.INFO, "put away")
    return {}


# The arguments of each tool''',
            ),
            (
                "TOOLS = {",
                """TOOLS = {
    "order": (order, {"type": "object"}),
    "work": (work, {"type": "object"}),""",
            ),
        ],
    },
}

MANIFEST = """
[tool]
name = "{tool}"
version = "0.1.0"
description = "One of the tools that were added"
timeout_ms = 60000
grace_ms = 10000
limits = {{ fuel = 1000000000000, host_calls = 1000000000 }}
{inputs}
[tool.permissions]
required_roles = ["Builder"]
risk_level = "low"
[tool.effect]
kind = "read"
[tool.backend]
type = "custom"
adapter = "{adapter}"
tool = "{name}"
"""
TEXT = '[[tool.inputs]]\nname = "text"\ntype = "string"\nrequired = true\nvalidation = { max_length = 100 }\n'


class House:
    """A user's folders, thrown away afterwards."""

    def __init__(self, folder):
        self.folder = Path(folder)
        (self.folder / "work").mkdir()
        self.work = self.folder / "work"
        self.environment = {
            **os.environ,
            "PATH": f"{Path(COMMAND).parent}:{VENV}/bin:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": f"{folder}/config",
            "XDG_STATE_HOME": f"{folder}/state",
            "XDG_DATA_HOME": f"{folder}/data",
        }

    def run(self, *command, code=0):
        begun = time.monotonic()
        ended = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True)
        if ended.returncode != code:
            sys.exit(f"{' '.join(map(str, command))} exits with {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
        return ended.stdout, time.monotonic() - begun

    def configure(self, text):
        folder = self.folder / "config/hermes-dispatch"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text)

    def call(self, tool, args, code=0):
        given = [f"{name}:={json.dumps(value)}" for name, value in args.items()]
        out, seconds = self.run(COMMAND, "call", tool, *given, "--output", "json", code=code)
        return json.loads(out), seconds


def template(house, language):
    """Makes, builds, tests and fuzzes a plugin, and returns what it costs."""
    name = f"my-{language}"
    house.run(COMMAND, "plugin", "new", name, "--lang", language, "--for", "Builder")
    if language == "javascript":
        (house.work / name / "node_modules").symlink_to(MODULES)
    _, built = house.run(COMMAND, "plugin", "build", name)
    out, _ = house.run(COMMAND, "plugin", "test", name)
    assert "1 of 1 cases hold" in out, out
    out, _ = house.run(COMMAND, "plugin", "inspect", name, "--output", "json")
    made_by = json.loads(out)["contents"]["producers"]["processed-by"]
    assert any(tool.startswith(MADE_BY[language]) for tool in made_by), made_by
    house.run(COMMAND, "plugin", "fuzz", name, "--time", "5s")
    size = (house.work / name / "component.wasm").stat().st_size
    return name, built, size


def add_tools(house, language, name):
    """Puts the two further tools into a plugin."""
    folder = house.work / name
    for file, changes in ADDED[language].items():
        source = (folder / file).read_text()
        for old, new in changes:
            assert old in source, f"{file} has no `{old}`"
            source = source.replace(old, new, 1)
        (folder / file).write_text(source)
    for added, inputs in [("order", TEXT), ("work", "")]:
        tool = f"{name.replace('-', '_')}_{added}"
        text = MANIFEST.format(tool=tool, inputs=inputs, adapter=name, name=added)
        (folder / f"tools/{added}.toml").write_text(text)
    house.run(COMMAND, "plugin", "build", name)


def cleans_up(house, name):
    """A tool tells progress and a part of its answer while it runs, and puts things away when its call is taken back."""
    house.configure(
        f'plugin_folders = ["{house.work}/{name}"]\n[roles.Builder]\ndefault = true\n'
        "[ceiling]\nfuel = 1000000000000\nhost_calls = 1000000000\n"
        # It is not the component any more that was called before.
        f'[folders."{house.work}/{name}"]\npin = "follow"\n'
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen([COMMAND, "run"], cwd=house.work, env=house.environment, text=True, **pipes)

    def send(method, params, id=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": id} if id else {})}
        child.stdin.write(json.dumps(message) + "\n")
        child.stdin.flush()

    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    send("initialize", client, 1)
    json.loads(child.stdout.readline())
    send("notifications/initialized", {})
    tool = f"{name.replace('-', '_')}_work"
    send("tools/call", {"name": tool, "arguments": {}, "_meta": {"progressToken": "p"}}, 2)
    told = []
    while len(told) < 2:
        message = json.loads(child.stdout.readline())
        assert message.get("id") != 2, message
        if message.get("method") == "notifications/progress":
            told.append(message["params"])
    assert [update["message"] for update in told] == ["begun", "half of it"], told
    assert told[0]["progress"] == 1 and 1 < told[1]["progress"] < 1.001, told
    send("notifications/cancelled", {"requestId": 2})
    # The answer to this one comes while the tool cleans up or after it.
    send("ping", {}, 3)
    assert json.loads(child.stdout.readline())["id"] == 3
    child.stdin.close()
    rest = child.stdout.read()
    child.wait()
    assert not rest.strip(), rest
    out, _ = house.run(COMMAND, "audit", "list", "-n", "1", "--output", "json")
    record = json.loads(out)[0]["record"]
    assert record["code"] == 499, record
    assert any("put away" in line for line in record["log"]), record


def finds_the_word(house, name):
    """The fuzzer finds what nobody would guess, and not without a look at what inputs reach."""
    only = house.work / f"{name}-order"
    shutil.copytree(house.work / name, only, symlinks=True, ignore=shutil.ignore_patterns("target", "fuzz", "tests"))
    for file in (only / "tools").glob("*.toml"):
        if file.stem != "order":
            file.unlink()
    fuzz = [COMMAND, "plugin", "fuzz", only, "--time", "60m", "--calls", str(CALLS), "--enough", "1", "--output", "json"]
    out, guided = house.run(*fuzz, "--corpus", house.work / "guided", code=5)
    report = json.loads(out)
    assert report["findings"][0]["args"] == {"text": "zqkw"}, report["findings"]
    coverage = report["coverage"]
    reached = coverage["curve"][-1]["edges"]
    blind, _ = house.run(*fuzz, "--blind", "--corpus", house.work / "blind")
    blind = json.loads(blind)
    assert not blind["findings"] and blind["calls"] >= CALLS, blind
    return report["calls"], guided, reached, coverage["counted"]


def another_engine(house, name):
    """libFuzzer finds the word, too."""
    environment = {**house.environment, "PLUGIN": str(house.work / f"{name}-order"), "HERMES_DISPATCH": COMMAND}
    command = [LIBFUZZER, "-seed=1", "-runs=2000000", "-len_control=0", "-max_len=64", "-use_value_profile=0", "-max_total_time=900"]
    begun = time.monotonic()
    ended = subprocess.run(command, cwd=house.work, env=environment, capture_output=True, text=True)
    assert ended.returncode != 0 and "zqkw" in ended.stderr, ended.stderr[-4000:]
    runs = [line.split()[0].lstrip("#") for line in ended.stderr.splitlines() if line.startswith("#")]
    return runs[-1], time.monotonic() - begun


def measured(house, name):
    """The first start, which compiles, and calls after it."""
    cache = {"XDG_CACHE_HOME": str(house.folder / f"cache-{name}")}
    house.environment.update(cache)
    # What the command itself brings along is compiled before.
    house.configure("")
    house.run(COMMAND, "tools", "list")
    house.configure(f'plugin_folders = ["{house.work}/{name}"]\n[roles.Builder]\ndefault = true\n')
    (house.work / "notes.txt").write_text("one two\nthree\n")
    tool = f"{name.replace('-', '_')}_count"
    answer, first = house.call(tool, {"path": "notes.txt"})
    assert answer["data"] == {"lines": 2, "words": 3, "bytes": 14}, answer
    answer, second = house.call(tool, {"path": "notes.txt"})
    lines = "".join(json.dumps({"tool": tool, "args": {"path": "notes.txt"}}) + "\n" for _ in range(50))
    (house.work / "batch").write_text(lines)
    out, _ = house.run(COMMAND, "call", "--batch", "batch", "--output", "ndjson")
    usages = [json.loads(line)["metadata"]["usage"] for line in out.splitlines()]
    wall = sorted(usage["wall_us"] for usage in usages)[len(usages) // 2]
    return first, second, wall / 1000, usages[0]["fuel"], usages[0]["memory_bytes"]


def by_types(house, name, make):
    """A component of a stranger's world, called by its types."""
    folder = house.work / name
    (folder / "wit").mkdir(parents=True)
    (folder / "wit/shop.wit").write_text(WIT)
    make(folder)
    (folder / "adapter.toml").write_text(
        f'name = "{name}"\nversion = "1.2.0"\ncomponent = "shop.wasm"\nworld = "test:shop/shop"\n'
        '[functions]\nrequired_roles = ["Builder"]\n'
    )
    house.configure(f'plugin_folders = ["{folder}"]\n[roles.Builder]\ndefault = true\n')
    tool = f"{name}_total"
    answer, _ = house.call(tool, {"items": [{"name": "tea", "count": 4}], "speed": "fast"})
    assert answer["data"] == {"costs": 20.0}, answer
    answer, _ = house.call(tool, {"items": []})
    assert answer["data"] == "free", answer
    answer, _ = house.call(tool, {"items": [{"name": "tea", "count": 5000}]}, code=5)
    assert answer["error"]["message"] == "too many", answer
    answer, _ = house.call(tool, {"items": [{"name": "tea"}]}, code=8)
    assert "count" in json.dumps(answer), answer
    print(f"a component by {name} that knows nothing of the runtime: called by its types", flush=True)


def python(folder):
    (folder / "app.py").write_text(PYTHON)
    tool = VENV / "bin/componentize-py"
    command = [tool, "-d", "wit", "-w", "shop", "componentize", "app", "--stub-wasi", "-o", "shop.wasm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def javascript(folder):
    (folder / "shop.js").write_text(JAVASCRIPT)
    tool = MODULES / ".bin/componentize-qjs"
    command = [tool, "--wit", "wit", "-n", "shop", "--js", "shop.js", "--opt-size", "--sync", "--stub-wasi"]
    subprocess.run([*command, "-o", "shop.wasm"], cwd=folder, check=True, capture_output=True)


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        house = House(folder)
        for language in ["rust", "c", "javascript", "python"]:
            name, built, size = template(house, language)
            first, second, wall, fuel, memory = measured(house, name)
            rows.append((language, built, size, first, second, wall, fuel, memory))
            print(f"a plugin in {language}: made, built, tested, fuzzed and called", flush=True)
            add_tools(house, language, name)
            cleans_up(house, name)
            print("  progress and a part of its answer arrive while it runs; it cleans up when nobody waits", flush=True)
            calls, seconds, reached, counted = finds_the_word(house, name)
            print(
                f"  the word of four letters: found in {calls} calls ({seconds:.0f} s with compiling), {reached} of "
                f"{counted} edges reached; blind not in {CALLS}",
                flush=True,
            )
        by_types(house, "python", python)
        by_types(house, "javascript", javascript)
        print("| language | build | component | first call, which compiles | next command | one more call | fuel | memory |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for language, built, size, first, second, wall, fuel, memory in rows:
            print(
                f"| {language} | {built:.1f} s | {size / 1000:,.0f} kB | {first:.2f} s | {second:.2f} s | {wall:.2f} ms "
                f"| {fuel / 1e6:.2f} M | {memory / (1 << 20):.1f} MiB |",
                flush=True,
            )
        runs, seconds = another_engine(house, "my-rust")
        print(f"libFuzzer finds the word in the plugin in Rust after {runs} runs, {seconds:.0f} s", flush=True)


if not shutil.which("clang"):
    sys.exit("clang is missing: apt-get install clang lld wasi-libc libclang-rt-dev-wasm32")
main()

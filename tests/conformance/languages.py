"""Are plugins in other languages tools like any other? For each language a plugin is made by `plugin new`, built, tested
and fuzzed by the command alone; then two components that other people's tools made for a world of their own, which know
nothing of the runtime, are called by their types. Prints what each costs.

    languages.py COMMAND PYTHON_VENV NODE_MODULES
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND, VENV, MODULES = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])

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
    house.run(COMMAND, "plugin", "fuzz", name, "--time", "5s")
    size = (house.work / name / "component.wasm").stat().st_size
    return name, built, size


def measured(house, name):
    """The first start, which compiles, and calls after it."""
    cache = {"XDG_CACHE_HOME": str(house.folder / f"cache-{name}")}
    house.environment.update(cache)
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
        by_types(house, "python", python)
        by_types(house, "javascript", javascript)
    print("| language | build | component | first call, which compiles | next command | one more call | fuel | memory |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for language, built, size, first, second, wall, fuel, memory in rows:
        print(
            f"| {language} | {built:.1f} s | {size / 1000:,.0f} kB | {first:.2f} s | {second:.2f} s | {wall:.2f} ms "
            f"| {fuel / 1e6:.2f} M | {memory / (1 << 20):.1f} MiB |"
        )


if not shutil.which("clang"):
    sys.exit("clang is missing: apt-get install clang lld wasi-libc libclang-rt-dev-wasm32")
main()

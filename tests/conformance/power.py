#!/usr/bin/env python3
"""Does the journal keep what it promised when the power goes?

Runs the command under `strace`, which writes down every write, sync and rename, then plays the disk: for every moment of
the run it builds what a disk may hold that has kept all that was synced and, of what was not, any part, torn or whole.
Each such disk is opened again. What was acknowledged has to be there, and whatever a tool has done needs its intent.

    power.py COMMAND [SEEDS]

As a control the same is done with a disk that takes no sync seriously; it has to lose something, or the harness is blind.
"""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

CALLS = 30
LINE = re.compile(r"^(\d+)\s+(.*)$")
CALL = re.compile(r"^(\w+)\((.*)\)\s+=\s+(-?\d+)")
PATH = re.compile(r"<([^<>]*)>")


def configured(home):
    """A user whose builder may write without being asked."""
    config = os.path.join(home, "config/hermes-dispatch")
    os.makedirs(config)
    with open(os.path.join(config, "config.toml"), "w") as file:
        file.write("[roles.Builder]\ndefault = true\n")
    os.makedirs(os.path.join(home, "work"))
    return {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "XDG_CONFIG_HOME": os.path.join(home, "config"),
        "XDG_STATE_HOME": os.path.join(home, "state"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
        "NO_COLOR": "1",
    }


def traced(command, home):
    """Runs a batch of writes under strace; gives its trace."""
    environment = configured(home)
    calls = [
        {"tool": "file_write", "args": {"path": f"f{n}.txt", "mode": "create", "content": f"content {n}\n"}}
        for n in range(CALLS)
    ]
    batch = os.path.join(home, "batch.ndjson")
    with open(batch, "w") as file:
        file.writelines(json.dumps(call) + "\n" for call in calls)
    trace = os.path.join(home, "trace")
    watched = "openat,pwrite64,write,writev,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat"
    ended = subprocess.run(
        ["strace", "-f", "-y", "-xx", "-s", "200000", "-e", f"trace={watched}", "-o", trace]
        + [command, "call", "--batch", batch, "--output", "ndjson"],
        cwd=os.path.join(home, "work"), env=environment, capture_output=True, text=True, timeout=300,
        stdin=subprocess.DEVNULL,
    )
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    good = [answer for answer in answers if answer["status"] == "ok"]
    if len(good) != CALLS:
        sys.exit(f"only {len(good)} of {CALLS} calls went well: {ended.stdout[:2000]} {ended.stderr[:2000]}")
    return trace


def text(quoted):
    """The bytes of a string as strace writes it with -xx."""
    return bytes.fromhex(quoted.replace("\\x", ""))


def whole_lines(trace):
    """The calls in the order in which they ended, with the moment at which each began."""
    begun = {}
    with open(trace, errors="replace") as file:
        for number, line in enumerate(file):
            match = LINE.match(line.rstrip("\n"))
            if not match:
                continue
            pid, rest = match.groups()
            if rest.endswith("<unfinished ...>"):
                begun[pid] = (number, rest[: -len("<unfinished ...>")].rstrip())
            elif rest.startswith("<..."):
                start, head = begun.pop(pid, (number, ""))
                yield start, number, head + rest.split("resumed>", 1)[1]
            else:
                yield number, number, rest


def decoded(path):
    return text(path).decode() if path.startswith("\\x") else path


def events(trace, home):
    """Writes, syncs, renames and answers, in order: ('write', path, offset, bytes), ('sync', path, began), …"""
    state = os.path.join(home, "state")
    work = os.path.join(home, "work")
    for began, ended, line in whole_lines(trace):
        match = CALL.match(line)
        if not match or int(match.group(3)) < 0:
            continue
        name, args, result = match.groups()
        paths = [decoded(path) for path in PATH.findall(args)]
        strings = [text(string) for string in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', args)]
        if name == "pwrite64" and paths and paths[0].startswith(state) and not paths[0].endswith("-shm"):
            offset = int(args.rsplit(",", 1)[1])
            yield began, ended, ("write", paths[0], offset, strings[-1][: int(result)])
        elif name == "ftruncate" and paths and paths[0].startswith(state) and not paths[0].endswith("-shm"):
            yield began, ended, ("size", paths[0], int(args.rsplit(",", 1)[1]))
        elif name in ("fsync", "fdatasync") and paths and paths[0].startswith(state):
            yield began, ended, ("sync", paths[0])
        elif name in ("write", "writev") and args.startswith("1<"):
            for answer in b"".join(strings).splitlines():
                if answer.startswith(b"{"):
                    yield began, ended, ("answer", json.loads(answer)["metadata"]["call_id"])
        elif name.startswith("unlink") and strings:
            # A name that is gone stays gone: only the making of the database, before anything is promised, relies on it.
            yield began, ended, ("gone", os.path.join(state, "hermes-dispatch", strings[-1].decode().rsplit("/", 1)[-1]))
        elif name.startswith(("rename", "link")):
            target = strings[-1].decode(errors="replace")
            if re.fullmatch(r"f\d+\.txt", os.path.basename(target)) and any(work in path for path in paths):
                yield began, ended, ("effect", os.path.basename(target))


def play(changes, syncs, chance):
    """One file as a disk may hold it: what was synced, and of the rest what chance says."""
    content = bytearray()
    for moment, change in changes:
        safe = any(began > moment for began in syncs)
        if not safe and chance.random() < 0.5:
            continue
        if change[0] == "size":
            content[change[2]:] = b""
            content.extend(b"\0" * (change[2] - len(content)))
            continue
        _, _, offset, data = change
        if not safe and chance.random() < 0.5:
            # Torn: a disk writes sectors, in any order.
            sectors = [(at, data[at: at + 512]) for at in range(0, len(data), 512) if chance.random() < 0.5]
        else:
            sectors = [(0, data)]
        for at, part in sectors:
            end = offset + at + len(part)
            content.extend(b"\0" * (end - len(content)))
            content[offset + at: end] = part
    return bytes(content)


def opened(folder, files):
    """The records of a disk, and what SQLite says if it cannot read it."""
    for path, content in files.items():
        with open(os.path.join(folder, os.path.basename(path)), "wb") as file:
            file.write(content)
    connection = sqlite3.connect(os.path.join(folder, "journal.db"))
    try:
        rows = connection.execute("SELECT seq, call_id, kind, body FROM records ORDER BY seq").fetchall()
        check = "ok"
    except sqlite3.DatabaseError as error:
        return [], str(error)
    finally:
        connection.close()
    return rows, check


def crash(happened, moment, honest, seed, command, verify):
    """Plays one crash; gives what was lost and what ran without an intent."""
    chance = random.Random(seed * 1_000_003 + moment)
    changes, syncs, answers, effects = {}, {}, [], []
    for began, ended, event in happened:
        if ended > moment:
            break
        if event[0] == "gone":
            changes.pop(event[1], None)
            syncs.pop(event[1], None)
        elif event[0] in ("write", "size"):
            changes.setdefault(event[1], []).append((ended, event))
        elif event[0] == "sync" and honest:
            syncs.setdefault(event[1], []).append(began)
        elif event[0] == "answer":
            answers.append(event[1])
        elif event[0] == "effect":
            effects.append(event[1])
    databases = {path for path in changes if "/journal.db" in path}
    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, "hermes-dispatch")
        os.makedirs(state)
        rows, check = opened(state, {path: play(changes[path], syncs.get(path, []), chance) for path in databases})
        outcomes = {call for _, call, kind, _ in rows if kind == "outcome"}
        targets = [json.loads(body).get("targets", []) for _, _, kind, body in rows if kind == "intent"]
        intents = {os.path.basename(target) for some in targets for target in some}
        lost = [answer for answer in answers if answer not in outcomes]
        bare = [effect for effect in effects if effect not in intents]
        dense = [row[0] for row in rows] == list(range(1, len(rows) + 1))
        broken = check != "ok" and bool(answers or effects) or not dense
        if broken and honest:
            print(f"moment {moment}, seed {seed}: {check}, records {[row[0] for row in rows][:5]} … {len(rows)}")
        if verify and honest and rows:
            for path, _ in changes.items():
                if "/journal.db" not in path:
                    with open(os.path.join(state, os.path.basename(path)), "wb") as file:
                        file.write(play(changes[path], syncs.get(path, []), chance))
            ended = subprocess.run([command, "audit", "verify"], env={**os.environ, "XDG_STATE_HOME": folder},
                                   capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
            broken = broken or ended.returncode != 0
            if ended.returncode != 0:
                print(f"moment {moment}, seed {seed}: audit verify says {ended.stdout}{ended.stderr}")
    return len(lost), len(bare), broken


def main():
    command = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    home = tempfile.mkdtemp(prefix="hermes-power-")
    try:
        happened = list(events(traced(command, home), home))
        kinds = [event[0] for _, _, event in happened]
        counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
        print("what was traced:", ", ".join(f"{count} {kind}" for kind, count in counts.items()))
        if counts.get("answer") != CALLS or counts.get("effect") != CALLS or not counts.get("sync"):
            sys.exit("the trace does not show all answers, effects and syncs")
        moments = [ended for _, ended, _ in happened]
        results = {}
        for honest in (True, False):
            tried, lost, bare, broken = 0, 0, 0, 0
            for seed in range(seeds):
                for index, moment in enumerate(moments):
                    some = crash(happened, moment, honest, seed, command, (index + seed) % 25 == 0)
                    tried, lost, bare, broken = tried + 1, lost + some[0], bare + some[1], broken + some[2]
            results[honest] = (lost, bare, broken)
            disk = "keeps what it synced" if honest else "takes no sync seriously"
            print(f"a disk that {disk}: {tried} crashes, acknowledged and lost {lost}, "
                  f"done without an intent {bare}, broken {broken}")
        if any(results[True]):
            sys.exit("the journal lost what it promised to keep")
        if not results[False][0] or not results[False][1]:
            sys.exit("the harness is blind: a disk that loses everything loses nothing")
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()

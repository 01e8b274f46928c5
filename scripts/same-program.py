#!/usr/bin/env python3
"""Shows that a new program does as an old one did: two programs crawl the same web, and all that they leave is compared.

    scripts/same-program.py OLD NEW MOCKWEB [--only ROW …] [--rounds 1 3] [--jobs 2] [--noisy] [--folder DIR]

OLD, NEW and MOCKWEB are executables. A row of scripts/same_program_rows.py is a capability, with its configuration. In each row OLD
crawls twice and NEW once, 24 cycles each, with one round a cycle and with three. The wall clock of a process stands still
(libfaketime) and moves a day each cycle, and each crawl has a network of its own, so ports and times are the same.

What is left is cut into items: a leaf of a JSON document, a field of a row, a frame of a file, a line, a request that the web
got. An item that differs between the runs of OLD (a duration, a random identifier) is noisy, and NEW must only have one of
this type. Each other item must be the same in NEW. Exit code 1: it is not, or a capability was not at work.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from same_program_rows import ROWS
from same_program_run import Run, helps

SHOWN = 20
# Share of the items of a kind that make the kind noisy.
MANY = 0.01
# Share of the files of rounds that a run may fail to catch.
MISSED = 0.1
# Further crawls if something differs.
AGAIN = 2
HELP = "help"


class Failed(Exception):
    """A run that did not end well."""


def crawled(row, rounds, program, mockweb, folder):
    """Crawls in a network of its own. Returns the file of items."""
    folder.mkdir(parents=True)
    words = [sys.executable, __file__, program, program, mockweb, "--run", row, "--rounds", rounds, "--folder", folder]
    words = ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{program} failed: {done.stdout}{done.stderr}")
    return folder / "items.json"


def run(row, rounds, program, mockweb, folder):
    """Crawls in this process, and leaves only the items."""
    items = helps(program) if row == HELP else Run(ROWS[row], rounds, program, mockweb, folder).items()
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "items.json").write_text(json.dumps(items))


def loaded(future):
    """The items of a run that ended."""
    file = future.result()
    items = json.loads(file.read_text())
    file.unlink()
    return items


def kind(value):
    """The type of a JSON text, which a noisy item keeps."""
    return "text" if value[0] == '"' else "number" if value[0] in "-0123456789" else value


def artefact(key):
    return key.split("\t")[0]


def alike(key):
    """What an item has in common with those of other pages, rows and cycles. The items of a set are all alike."""
    ordered, some, _ = key.partition("\tsome ")
    places = ordered.split("\t")
    # Between the artefact and the field is the page.
    return re.sub(r"http\S+|\d+", "N", "\t".join(places[:1] + places[1:][-1:])) + some


def uncaught(runs):
    """Files of rounds that a run did not catch before they were removed. If many of a kind are missing, they are not there."""
    found = [{artefact(key) for key in items if " round " in key} for items in runs]
    every, all_have = set().union(*found), set.intersection(*found)
    suffix = operator.methodcaller("rpartition", ".")
    counts, missing = (collections.Counter(suffix(name)[2] for name in names) for names in (every, every - all_have))
    return {name for name in every - all_have if missing[suffix(name)[2]] <= MISSED * counts[suffix(name)[2]]}


def noise(olds):
    """Items that differ between the runs of OLD, and the kinds with many such items: durations are equal by chance."""
    every = set().union(*olds)
    differ = {key for key in every if any(old.get(key) != olds[0].get(key) for old in olds)}
    counts, noisy = collections.Counter(map(alike, every)), collections.Counter(map(alike, differ))
    return every, differ, {name for name, number in noisy.items() if number > MANY * counts[name]}


def compared(olds, new):
    """Noisy items, differences as old and new value by key, and the number of items.

    An artefact of which the runs of OLD have other items, such as a log with other lines, may also have others in NEW.
    """
    if lost := uncaught([*olds, new]):
        *olds, new = [{key: value for key, value in run.items() if artefact(key) not in lost} for run in (*olds, new)]
    every, differ, classes = noise(olds)
    unsteady = {artefact(key) for key in differ if any(key not in old for old in olds)}
    noisy = differ | {key for key in every if alike(key) in classes}
    different = {}
    for key in sorted(every | set(new)):
        values = [old[key] for old in olds if key in old]
        if len(values) < len(olds) or key not in new:
            is_same = alike(key) in classes or artefact(key) in unsteady and (key in noisy or not values)
        else:
            is_same = kind(new[key]) in {kind(value) for value in values} if key in noisy else new[key] == values[0]
        if not is_same:
            different[key] = (values[0] if values else "nothing", new.get(key, "nothing"))
    return noisy, different, len(every)


def told(key):
    return " ".join(key.split("\t"))


def idle(row, items):
    """The signs of a capability that no item shows."""
    signs = ROWS[row].signs if row in ROWS else ()
    text = "\n".join(f"{told(key)}={value}" for key, value in items.items()) if signs else ""
    return [sign for sign in signs if not re.search(sign, text)]


def judged(row, rounds, crawl, olds, new):
    """Compares a row. If something differs, both crawl again: only what differs each time, and not in OLD, is a difference."""
    noisy, different, count = compared(olds, new)
    for number in range(AGAIN):
        if not different:
            break
        # Not behind the rows that wait.
        with concurrent.futures.ThreadPoolExecutor() as now:
            old, new = map(loaded, [crawl(row, rounds, name, 3 + number, now) for name in ("old", "new")])
        olds.append(old)
        noisy, again, count = compared(olds, new)
        different = {key: values for key, values in again.items() if key in different}
    return noisy, different, count


def printed(row, rounds, judgement, missing, is_chatty):
    """Prints the result of a row. True if nothing differs."""
    noisy, different, count = judgement
    print(f"{row:12} {rounds:6} {count:8} {len(noisy):7} {len(noisy) / max(1, count):6.1%} {len(different):9}", flush=True)
    for key in list(different)[:SHOWN]:
        old, new = different[key]
        print(f"    {told(key)}\n        old {old[:300]}\n        new {new[:300]}")
    if len(different) > SHOWN:
        counts = collections.Counter(map(artefact, different))
        print("    and more; in all " + ", ".join(f"{number} in {what}" for what, number in counts.most_common(20)))
    for sign in sorted(set(missing)):
        print(f"    not at work: no item of OLD matches {sign}")
    if is_chatty:
        for what, number in collections.Counter(told(alike(key)) for key in noisy).most_common(30):
            print(f"    noisy {number:6} {what}")
    return not different and not missing


def results(options, folder, pool):
    """Runs all rows, and says of each if it is the same."""
    def crawl(row, rounds, name, number, pool=pool):
        where = folder / f"{row}-{rounds}-{name}-{number}"
        return pool.submit(crawled, row, rounds, getattr(options, name), options.mockweb, where)

    waiting = []
    for row in options.only or [*ROWS, HELP]:
        for rounds in options.rounds if row != HELP else [1]:
            waiting.append((row, rounds, [crawl(row, rounds, *which) for which in (("old", 1), ("old", 2), ("new", 1))]))
    for row, rounds, runs in waiting:
        try:
            *olds, new = map(loaded, runs)
            missing = [sign for items in olds for sign in idle(row, items)]
            yield printed(row, rounds, judged(row, rounds, crawl, olds, new), missing, options.noisy)
        except Failed as error:
            print(f"{row:12} {rounds:6} {error}", flush=True)
            yield False


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    path = functools.partial(os.path.abspath)
    parser.add_argument("old", type=path)
    parser.add_argument("new", type=path)
    parser.add_argument("mockweb", type=path)
    parser.add_argument("--only", nargs="+", choices=[*ROWS, HELP], metavar="ROW", help=" ".join([*ROWS, HELP]))
    parser.add_argument("--rounds", nargs="+", type=int, default=[1, 3], help="rounds of a cycle")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--noisy", action="store_true", help="print what differs between the runs of OLD")
    parser.add_argument("--folder", type=pathlib.Path, help="for the data directories, 100 MB (default: in memory)")
    parser.add_argument("--run", choices=[*ROWS, HELP], help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    if options.run:
        return run(options.run, options.rounds[0], options.old, options.mockweb, options.folder)
    began = time.monotonic()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(dir=memory, prefix="same-"))
    print(f"{'row':12} {'rounds':6} {'items':>8} {'noisy':>7} {'':6} {'different':>9}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            same = list(results(options, folder, pool))
        finally:
            pool.shutdown(cancel_futures=True)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{time.monotonic() - began:.0f} s: {same.count(True)} of {len(same)} rows are the same")
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()

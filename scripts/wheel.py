#!/usr/bin/env python3
"""Packs a built program as a Python wheel, so that `pip install` and `uvx` can run it: wheel.py PROGRAM VERSION MACHINE OUT.
With it comes the client of its API, the module `recrawl`.

The wheel has the program of the release archive, not another build of it. Its tag says on which systems it runs, by the
libraries and the symbol versions that the program asks for (readelf).
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

# Libraries that every manylinux system has (PEP 600); others would have to be packed, too.
EVERYWHERE = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1",
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
}
SUMMARY = "An incremental web crawler that learns what to revisit"


def platforms(program, machine):
    """Tags of the systems on which the program runs."""
    read = lambda *words: subprocess.run(["readelf", *words, program], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", read("--dynamic")))
    if not needed:
        # A static program needs no library of either kind.
        return f"manylinux2014_{machine}.manylinux_2_17_{machine}.musllinux_1_1_{machine}"
    if any(name.startswith("libc.musl") for name in needed):
        return f"musllinux_1_2_{machine}"
    if needed - EVERYWHERE:
        sys.exit(f"{program}: needs {', '.join(sorted(needed - EVERYWHERE))}, which not every system has")
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", read("--version-info"))
    major, minor = max((int(major), int(minor)) for major, minor in versions)
    return f"manylinux_{major}_{minor}_{machine}"


def packed(program, version, machine, out):
    """Writes the wheel and returns its path."""
    tag = f"py3-none-{platforms(program, machine)}"
    info = f"recrawl-{version}.dist-info"
    metadata = "\n".join([
        "Metadata-Version: 2.4", "Name: recrawl", f"Version: {version}", f"Summary: {SUMMARY}",
        "License-Expression: Apache-2.0 OR MIT", "License-File: LICENSE-APACHE", "License-File: LICENSE-MIT",
        "Requires-Python: >=3.8", "Description-Content-Type: text/markdown", "", Path("README.md").read_text(),
    ])
    wheel = f"Wheel-Version: 1.0\nGenerator: recrawl\nRoot-Is-Purelib: false\n"
    wheel += "".join(f"Tag: py3-none-{platform}\n" for platform in tag.removeprefix("py3-none-").split("."))
    files = {
        f"recrawl-{version}.data/scripts/recrawl": (Path(program).read_bytes(), 0o755),
        "recrawl.py": (Path("clients/python/recrawl.py").read_bytes(), 0o644),
        f"{info}/METADATA": (metadata.encode(), 0o644),
        f"{info}/WHEEL": (wheel.encode(), 0o644),
        **{f"{info}/licenses/{name}": (Path(name).read_bytes(), 0o644) for name in ("LICENSE-APACHE", "LICENSE-MIT")},
    }
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, (data, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    # A zip file begins in 1980.
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
    path = Path(out) / f"recrawl-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return path


if __name__ == "__main__":
    print(packed(*sys.argv[1:]))

"""``draftrace report``: a trace as one HTML page, or for a profiler."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.cli import DONE
from core.trace import read_trace


def parser(name: str) -> argparse.ArgumentParser:
    """Return the command's options."""
    made = argparse.ArgumentParser(prog=f"draftrace {name}", description=__doc__)
    made.add_argument(
        "recording", metavar="trace", type=Path, help="what run or race --trace wrote"
    )
    made.add_argument(
        "--out", metavar="FILE", type=Path, help="the page; beside the trace by default"
    )
    made.add_argument(
        "--chrome", metavar="FILE", type=Path, help="write the Chrome-trace format, too"
    )
    return made


def main(options: argparse.Namespace) -> int:
    """Read the trace and write what was asked for."""
    from core.lab.chrome_trace import write_chrome_trace
    from core.lab.report import write_report

    trace = read_trace(options.recording)
    path = options.out or options.recording.with_suffix(".html")
    write_report(path, trace.header, trace.events)
    print(path)
    if options.chrome is not None:
        write_chrome_trace(options.chrome, trace.events)
        print(options.chrome)
    return DONE

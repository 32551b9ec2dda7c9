#!/usr/bin/env python
"""Draw the beginning of a report about generated clinical notes, as report.png beside this file; needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import dplda
from dplda.report import write_report

NAMES = "chromium", "chromium-browser", "google-chrome"
SIZE = "1100,1180"  # pixels


def main() -> None:
    """Fit the notes and take a picture of the report."""
    browser = next(found for name in NAMES if (found := shutil.which(name)))
    with TemporaryDirectory() as folder:
        subprocess.run(["dplda", "corpus", "sample", folder, "--kind", "notes"], check=True, stdout=subprocess.DEVNULL)
        notes = dplda.read_corpus(Path(folder, "notes.csv"), unit_field="patient")
        model = dplda.fit(notes, n_topics=8, epsilon=4.0, ledger=dplda.Ledger(Path(folder, "ledger.db")))
        page, picture = Path(folder, "report.html"), Path(__file__).with_name("report.png")
        write_report([model], page)
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={SIZE}"]
        command = [browser, *options, f"--screenshot={picture}", page.as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()

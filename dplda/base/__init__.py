"""What every other package uses: settings, errors, progress, arrays, threads and compiled code."""

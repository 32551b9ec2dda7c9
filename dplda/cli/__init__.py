"""The command line: reading options, calling the library, printing. No mathematics."""

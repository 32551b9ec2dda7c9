"""What the ledger knows of text that its holder declares public.

It is refused by public facts alone, its name and its path (`Ledger.check_not_private`). To refuse a text by its content
would tell whoever has the public texts that it is in a private corpus; ten or more known ones are told to the curator.
"""

from __future__ import annotations

_TOLD = 10  # texts that the ledger knows, from which on the curator is told


def known_texts(n_known: int, otherwise: str) -> str:
    """Return a note for the curator if the ledger knows `n_known` of the texts; empty for a few.

    `otherwise` says what to do if they are not public.
    """
    if n_known < _TOLD:
        return ""
    return (
        f"{n_known:,} of these texts are known to the ledger from corpora with a bounded budget. Is all of this text "
        f"really public? If not, {otherwise}. The ledger knows samples of the private texts only."
    )

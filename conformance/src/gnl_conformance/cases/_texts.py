"""Names and texts that have been confused or changed by some database."""

from __future__ import annotations

NAMES = (
    "A",
    "a",
    "a ",
    " a",
    "a\u0301",
    "\u00e1",
    "ss",
    "\u00df",
    "\U0001f600",
    "\U0001f601",
    "a:b",
    "a/b",
    "a%b",
    "a_b",
    "~",
    "None",
    "null",
    "0",
    "00",
    "\\",
    "'; drop table jobs; --",
    '"',
    "\u0130",
    "i\u0307",
    "\ufb00",
    "ff",
    " ",
    "\t",
    "x" * 255,
    "x" * 254 + "y",
    "\U0001f600" * 255,
)

PAYLOADS = (
    "null",
    '""',
    " null ",
    '{"b": 1, "a": 2, "b": 3}',
    '{"a":1 , "b":[ ]}',
    "1" * 400,
    "1.0",
    "1e400",
    "-0.0",
    r'"\u0000"',
    r'"\\ \" \n"',
    '"O\'Reilly"',
    '"%s %(x)s :name $1 ? {0} {}"',
    '"\U0001f600\U0001f1e9\U0001f1ea \u00e1 a\u0301 \u2028\u2029 \ufeff"',
    '"line\r\nline\ttab\x7f"',
    "not json at all",
)

MEBIBYTE = '"' + "0123456789abcde\u00e9" * 61_680 + '"'
"""A text of one MiB when encoded."""

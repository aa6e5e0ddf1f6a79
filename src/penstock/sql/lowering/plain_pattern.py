r"""Regular expressions that find the same in every text in Python and in Java.

    pattern = (item | group)+      group = ( item+ | item+ ... )      item = ^ | (character | escape | set) [* + ?]

Of both the first alternative wins and a repetition takes as much as it can. What is left out differs, or might: `.` and `$`, which know other ends of
lines; `\d`, `\w` and `\b`, which know other letters; repeated and nested groups, whose last text is not the same; flags; `&&` in a set.
"""

from __future__ import annotations

import re

_RANGE = r"(?:a-z|A-Z|0-9)"
_SET = rf"\[\^?(?:{_RANGE}|(?!&&)[A-Za-z0-9_ =/:;,@%&#?!<>.+*])+\]"
_ITEM = rf"(?:\^|(?:[A-Za-z0-9_ =/:;,@%&#!<>-]|\\[.?*+()\[\]{{}}|^$/]|{_SET})[*+?]?)"
_GROUP = rf"\({_ITEM}+(?:\|{_ITEM}+)*\)"
_PLAIN = re.compile(rf"(?:{_ITEM}|{_GROUP})+")


def groups_of_plain(pattern: str) -> int | None:
    """Return the number of groups of a pattern that means the same in Python and Java, each of which takes part in every match.

    None is a pattern that may mean something else.

    Example:
        >>> groups_of_plain("(&|^)channel_id=([^&]*)"), groups_of_plain(".*")
        (2, None)
    """
    return re.compile(pattern).groups if _PLAIN.fullmatch(pattern) else None

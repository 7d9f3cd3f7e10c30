"""The sanitiser: what is spoken of an answer, however it was cut into tokens."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgevoice.tts.sanitize import Sanitizer

CASES = [
    ("plain", "The capital of France is Paris.", "The capital of France is Paris."),
    ("bold", "This is **very** important.", "This is very important."),
    ("bold inside a word", "**Bold**ly go", "Boldly go"),
    ("italics", "an *old* and _new_ idea", "an old and new idea"),
    ("bold italics", "***wow*** and ___wow___", "wow and wow"),
    ("struck", "~~no~~ yes", "no yes"),
    ("approximately", "~5 people", "~5 people"),
    ("heading", "## Steps\nBoil water.", "Steps\nBoil water."),
    ("hash is no heading", "#3 is best", "#3 is best"),
    ("list", "- one\n* two\n+ three\n• four", "one\ntwo\nthree\nfour"),
    ("nested list", "- one\n  - two", "one\ntwo"),
    ("task list", "- [ ] wash\n- [x] dry", "wash\ndry"),
    ("ordered list stays", "1. Mix.\n2. Bake.", "1. Mix.\n2. Bake."),
    ("negative number is no list", "-5 degrees", "-5 degrees"),
    ("quote", "> Be brief.\n>> Always.", "Be brief.\nAlways."),
    ("rule", "one\n---\ntwo\n***\nthree\n* * *\nfour\n=====\nfive", "one\ntwo\nthree\nfour\nfive"),
    ("link", "See [the docs](https://example.com/a_(b)) now.", "See the docs now."),
    ("link with emphasis", "See [**the** docs](https://example.com).", "See the docs."),
    ("reference link", "See [the docs][1] now.", "See the docs now."),
    ("image", "![a red cat](cat.png) sleeps", "a red cat sleeps"),
    ("footnotes", "It is so.[^1] Really [2].", "It is so. Really ."),
    ("citations", "A fact [1][2]. Another [3] [^4][5], [the text][6].", "A fact . Another , the text."),
    (
        "reference definitions",
        'See [a][b].\n[b]: https://x.org/y\n[c]: <www.x.org> "t"\n[Note]: all. [d]: no',
        "See a.\n[Note]: all. [d]: no",
    ),
    ("footnote text", "So.[^1]\n\n[^1]: A note.\n[2]: Smith", "So.\nA note.\nSmith"),
    ("index stays", "a[0] and [maybe] this", "a[0] and [maybe] this"),
    ("code span", "Use the `print_all` function.", "Use the print_all function."),
    ("code span keeps its stars", "Write `a ** b` here.", "Write a ** b here."),
    ("code fence", "Like this:\n```python\nprint(2*3)\n```\nDone.", "Like this:\ncode.\nDone."),
    ("fence never closed", "So:\n```\nx = 1\ny = 2", "So:\ncode.\n"),
    ("text fence", "```text\nHello **you**.\n```", "Hello you.\n"),
    ("fence of four", "````\nx\n```` Done.", "code.\nDone."),
    ("fence in a line", "Like ```py\nx = 1\n``` this.", "Like code.\nthis."),
    ("inline triple backticks", "Use ```rm```.", "Use rm."),
    ("only inline triple backticks", "```print(1)```", "print(1)"),
    ("many inline triple backticks", "Use ```ls```, then ```cd```. ```a`b```\nStop.", "Use ls, then cd. ab\nStop."),
    ("inline triple backticks that never close", "Use ```rm -r x*y", "Use rm -r x*y"),
    ("fence never begun", "Use ```", "Use "),
    ("code span of two", "Use ``a`b`` *now*.", "Use ab now."),
    ("table", "| Name | Age |\n|------|:---:|\n| Ann | **5** |\n| Bo | -7 |", "Name, Age\nAnn, 5\nBo, -7"),
    ("tags", "a <b>bold</b> word<br>next<p class='x'>para</p>", "a bold word\nnext\npara\n"),
    ("comment", "a <!-- hidden --> b", "a b"),
    ("script", "a <script>alert(1)</script>b", "a b"),
    ("entities", "AT&amp;T &lt;3 caf&eacute;&nbsp;&#33; &#0;x &T;", "AT&T <3 café ! x &T;"),
    ("emoji", "Sure 😀! Yes👍🏽yes 🇩🇪 ❤️ 1️⃣ 👩‍👩‍👧", "Sure ! Yes yes 1 "),
    ("only emoji", "😀🎉", ""),
    ("think", "<think>They ask 2*3.</think>Six.", "Six."),
    ("think in capitals", "<THINK>x</Think>Six.", "Six."),
    ("think never closed", "Well <think>they ask and ask", "Well "),
    ("think cut off in the tag", "Well <thin", "Well <thin"),
    ("closing think alone", "</think>Six.", "Six."),
    ("thought opened by the prompt", "a plan</think>The answer.", "a plan\nThe answer."),
    ("thought between words", "Well<think>hm</think>yes<script>x</script>.", "Well yes."),
    ("role", "Assistant: Six.\nUser: And seven?", "Six.\nAnd seven?"),
    ("bold role", "**Assistant:** Six.\n**User**: No.", "Six.\nNo."),
    (
        "words that are roles",
        "The parts:\n- System: Linux\n* User: Ann\nHuman: a primate\nAI: a field",
        "The parts:\nSystem: Linux\nUser: Ann\nHuman: a primate\nAI: a field",
    ),
    ("first line's role", "System: Six.\nSystem: Linux", "Six.\nSystem: Linux"),
    ("role in a new turn", "Six.<|im_end|>\nHuman: No.</s>\nAI: yes", "Six.\nNo.\nyes"),
    ("role inside a line", "The user: a person.", "The user: a person."),
    ("stop strings", "Six.<|im_end|><end_of_turn></s><|eot_id|><eos>", "Six."),
    ("chat template", "<|im_start|>assistant\nSix.<start_of_turn>model\nNo.", "Six.\nNo."),
    ("instruction marks", "[INST] Six. [/INST]", "Six. "),
    ("controls", "a\x00b\x07c\x1b\x7fd\ud800e\u200bf\ufeffg\u202eh\r\ni", "abcdefgh\ni"),
    ("spaces", "  a  \t b \n\n\n c", "a b \nc"),
    ("escapes", r"\*not bold\* and \_this\_", "*not bold* and _this_"),
    ("formulas", r"If \(x = 2\), then\[y = 3\]so \frac{1}{2}.", r"If x = 2, then y = 3 so \frac{1}{2}."),
    ("product", "2*3 and 2 * 3 and 2**3 and x**2 and (2+3)*4*5", "2*3 and 2 * 3 and 2**3 and x**2 and (2+3)*4*5"),
    ("product in bold", "**2*3** is **6**.", "2*3 is 6."),
    ("names", "snake_case, _a_b_, C#, F#, AT&T, R&D", "snake_case, a_b, C#, F#, AT&T, R&D"),
    ("comparison", "a < b, 5 > 3, a<b, x <b and y> z, <= 3", "a < b, 5 > 3, a<b, x <b and y> z, <= 3"),
    ("generics", "List<int> and vector<string>", "List<int> and vector<string>"),
    ("one-letter generics", "if a<b>c, List<a> and Map<b>", "if a<b>c, List<a> and Map<b>"),
    ("one-letter tags", "un<b>believ</b>able<i>x</i> <p>y", "unbelievablex \ny"),
    ("exclamations", "Wow!! Really?! !", "Wow!! Really?! !"),
    ("autolink", "See <https://example.com/x>.", "See https://example.com/x."),
]


def clean(*pieces: str) -> str:
    sanitizer = Sanitizer()
    return "".join([sanitizer.feed(piece) for piece in pieces]) + sanitizer.flush()


@pytest.mark.parametrize(("name", "written", "spoken"), CASES, ids=[case[0] for case in CASES])
def test_f1_what_is_spoken(name: str, written: str, spoken: str) -> None:
    assert clean(written) == spoken
    assert clean(*written) == spoken, "one character at a time"


MARKUP = st.sampled_from(
    [
        *(
            "*",
            "**",
            "***",
            "_",
            "__",
            "~",
            "~~",
            "`",
            "``",
            "```",
            "```py",
            "```text",
            "#",
            "##",
            "-",
            "---",
            "+",
            ">",
        ),
        *(
            "|",
            "|-",
            "|---|",
            "[",
            "]",
            "](",
            ")",
            "[1]",
            "[^1]",
            "[x]",
            "![",
            "!",
            "<",
            "</",
            "<b>",
            "<br>",
            "<b",
            "[",
        ),
        *("<think>", "</think>", "<th", "</s>", "<s>", "<|im_end|>", "<|im_start|>assistant", "<start_of_turn>user"),
        *("<!--", "-->", "<a href='x'>", "<a", "href='x'>", "<https://x.y>", "https://x.y", "(", "\\", "=", "===", "$"),
        *(
            "&",
            "&amp;",
            "&nbsp;",
            "&#65;",
            "&#x1F600;",
            "Assistant:",
            "User",
            "User:",
            "a",
            "b1",
            "2",
            "-5",
            "3.5",
            "é",
        ),
        *(
            "[1]:",
            "[^a]: ",
            "[a]",
            "\n[b]: https://x.y",
            "</b>",
            "List<b>",
            "System:",
            "- AI: x",
            "\\(",
            "`py`",
            "````",
        ),
        *("word", "😀", "👍🏽", "1️⃣", "\x00", "\ud800", "\u200b", "•", ".", ",", ":", ";", "?"),
    ]
)
BLANK = st.sampled_from(["", " ", "  ", "\n", "\n\n", "\t", "\r\n", "\n  "])


@st.composite
def written_and_cuts(draw: st.DrawFn) -> tuple[str, list[int]]:
    pieces = draw(st.lists(st.tuples(BLANK, MARKUP | st.text(max_size=3)), max_size=30))
    text = "".join(blank + mark for blank, mark in pieces)
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=12))
    return text, sorted(cuts)


@settings(max_examples=250, deadline=None)
@given(written_and_cuts())
def test_f1_result_does_not_depend_on_how_the_text_was_cut(case: tuple[str, list[int]]) -> None:
    text, cuts = case
    borders = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(borders)]
    whole = clean(text)
    assert clean(*pieces) == whole
    assert clean(*text) == whole
    assert "\x00" not in whole and "😀" not in whole


def test_one_instance_serves_one_answer_after_another() -> None:
    sanitizer = Sanitizer()
    sanitizer.feed("<think>never closed **")
    sanitizer.flush()
    assert sanitizer.feed("# Hello *you*.\n") + sanitizer.flush() == "Hello you.\n"


def test_plain_words_are_never_held_back() -> None:
    sanitizer = Sanitizer()
    for token in [
        "The",
        " capital",
        " of",
        " France",
        " is",
        " **",
        "Paris",
        "**",
        ".",
        " Yes",
        "!",
        " It",
        " is",
        ".",
    ]:
        written = sanitizer.feed(token)
        if token[-1] not in "*":
            assert written.endswith(token[-1]), token


HOSTILE = [
    "*",
    "_",
    "`",
    "[",
    "![",
    "<",
    "<think",
    "<b ",
    "&",
    "&amp",
    "|",
    "| ",
    "-",
    "#",
    ">",
    "😀",
    "a",
    "(",
    "[x](",
    "\\",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_takes_bounded_memory(unit: str) -> None:
    """Marks that never close, fed one by one, must not pile up inside."""
    sanitizer = Sanitizer()
    tracemalloc.start()
    for _ in range(1000):
        for ch in unit:
            sanitizer.feed(ch)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 20_000
    sanitizer.flush()


def test_time_is_linear() -> None:
    rng = random.Random(1)
    hostile = "".join(rng.choice([*HOSTILE, " ", "\n"]) for _ in range(12_000))

    def cost(text: str) -> float:
        begun = time.process_time()
        clean(text)
        return time.process_time() - begun

    short = min(cost(hostile[:5000]) for _ in range(3))
    long = min(cost(hostile[:20000]) for _ in range(3))
    assert long < 4 * short * 3

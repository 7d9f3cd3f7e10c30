"""Clause buffering: no false ends, no needless waiting, nothing lost."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgevoice.tts.clauses import ClauseBuffer

ENDLESS = 10**9

# One line is one text; `|` marks where it must be split, nowhere else.
SPLITS = """
Dr. Smith is here.| He waits.
Mr. and Mrs. Jones met Prof. Lee.| They talked.
I live on St. John St. near the river.
The U.S. economy grew.| It did.
He moved to the U.S.A. in May.
Use fruit, e.g. apples.| Or pears.
One way, i.e. the short one, is open.
J. R. R. Tolkien wrote it.| C. S. Lewis did not.
J.R.R. Tolkien wrote it.
George W. Bush and John F. Kennedy spoke.
Pi is 3.14159 or so.| Yes.
It weighs 3.5 kg.| That is light.
It costs $1,234.56 now.| Pay.
Das kostet 1.000,50 Euro.
The address is 192.168.1.1 at home.
Ping 10.0.0.1.| Then wait.
Meet at 9:30 a.m. on Monday.
Meet at 9:30a.m. sharp.
We close at 5 p.m. and open at 8 a.m. daily.
Visit example.com for more.| Thanks.
Visit www.example.com.| Thanks.
See https://docs.python.org/3.11/library/re.html?x=1#top for it.
Go to http://localhost:8080/index.html now.
Open weather.com or news.bbc.co.uk today.
Write to bob.smith@example.org soon.| He answers.
Edit main.py and README.md first.
Open setup.cfg, then run app.exe again.
The file is called report.final.pdf.| Print it.
Node.js and Vue.js are popular.
Install Python 3.11.4 or v2.0.1-beta.2 today.
Ubuntu 22.04 LTS is out.
Use ASP.NET or .NET 8 there.
Apple Inc. and Acme Co. Ltd. merged.
Martin Luther King Jr. spoke.
He has a Ph.D. in physics.| She has an M.Sc. too.
It was Brown vs. Board in court.
It took approx. 5 hours.
Look at Fig. 3 and Eq. 4 on p. 12 of Vol. 2.
Chanel No. 5 smells good.
No. 5 is alive.
No.| I do not.
See pp. 3-5 for that.
On Jan. 5 and Feb. 6 we met.
On Mon. Sept. 3 we met.
Bring bread, milk, etc. and come.
Lt. Col. Brown and Gen. Lee met Sgt. Pepper.
Rev. King and Sen. Smith met Gov. Ray.
Smith et al. wrote it.
The scale is 1:10,000 there.
At 10:30:15 it rang.
The ratio is 16:9 now.
He said 5.| Then he left.
I have 2.| You have 3.
1. Mix the eggs.| 2. Bake.
Is it true?| Yes!| Good.
Wait...| what is it?
Well…| I think so.
one.|Two four.|Five
This is the end.|Next comes this.
Really?|! I see.
He left.| "Go," she said.
She asked "Why?|" and left.
(He left.|) Then she left.
Email a.b@c.de or c_d@e-f.com.
C.I.A. and F.B.I. agents met in D.C. today.
At 6 ft. 2 in. he is tall.
Add 2 tbsp. oil and 1 tsp. salt.
Version 2.0.| It is new.
It grew by 3.5%.| Then it fell.
It is -40.5 degrees.| Cold.
The file config.json is missing.
The domain python.org is old.
I like booking.com and hotels.com a lot.
It is amazon.com.| Buy.
Your server is mail.google.com.| Fine.
Import os.path and java.util.List there.
Call obj.method() or np.array now.
See a.out and lib.so.6 there.
Run ./configure.sh and ~/.bashrc then.
Check 8.8.8.8 and 1.1.1.1 first.
Room 3.2 is on floor 2.| Go up.
Chapter 4.2.1 explains it.
Mt. Everest and Ft. Worth are far.
St. Paul's is on Main St. by the park.
Sr. Garcia and Sra. Lopez came.
Fifth Ave. and Sunset Blvd. cross.
The Univ. of X and the Dept. of Y agree.
Tel. 555.123.4567 is mine.
The U.K. and the E.U. agreed.| Good.
A.M. and P.M. differ.
At 12 noon, i.e. midday, we ate.
Thomas A. Edison lit it.| Great.
X. is unknown.
He got 99.9 percent.| Wow!
She ran 26.2 miles.| Amazing.
Use std::vector, not C:\\temp\\a.txt here.
Time is 12:00.| Lunch!
It ends in 1999.| Then 2000 came.
The cat sat.| The dog ran.
The sky is blue.| The grass is green.
I was born in Paris.| I like it there.
你好。|再见！|好。
Über uns.| Mehr später.
First line
|Second line
|Third
"""


def split_table() -> list[str]:
    lines: list[str] = []
    for line in SPLITS.strip("\n").split("\n"):
        if line.startswith("|"):
            lines[-1] += "\n" + line
        else:
            lines.append(line)
    return lines


def clauses_of(tokens: list[str], **options: int) -> list[str]:
    options = {"first_min": ENDLESS, "later_min": ENDLESS, "soft": ENDLESS, "hard": ENDLESS} | options
    buffer = ClauseBuffer(**options)
    fed = [clause for token in tokens for clause in buffer.feed(token, 0.0)]
    return fed + buffer.flush()


def words_of(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def pieces_of(text: str) -> list[str]:
    """Like a small language model's tokens: words, and every mark and digit alone."""
    return re.findall(r"\s?[A-Za-z]+|\s?\d|\s|.", text)


@pytest.mark.parametrize("line", split_table())
def test_f2_no_false_ends(line: str) -> None:
    expected = line.split("|")
    text = "".join(expected)
    for tokens in (list(text), words_of(text), pieces_of(text), [text]):
        assert clauses_of(tokens) == expected


def test_f2_table_is_large_enough() -> None:
    assert len(split_table()) >= 100


FRAGMENTS = [
    *("Dr.", "Mr.", "U.S.", "e.g.", "a.m.", "No.", "St.", "J.", "3.5", "1,000", "5", "12", "9:30", "one.Two", "a@b.c"),
    *("example", ".com", "com", "www.x.org", "http://a.b/?c=d", "Paris", "the", "city", "in", "."),
    *(",", ";", ":", "—", "!", "?", "…", "...", "?!", '"', ")", "(", "'", "。", "\n", " \n\n"),
]
WRITTEN = st.lists(
    st.sampled_from(FRAGMENTS) | st.text(max_size=3),
    max_size=40,
)


@settings(max_examples=250, deadline=None)
@given(WRITTEN, st.sampled_from(["", " "]), st.lists(st.integers(0, 200), max_size=10), st.integers(20, 200))
def test_punctuation_rules_do_not_depend_on_how_the_text_was_cut(
    written: list[str], glue: str, cuts: list[int], max_chars: int
) -> None:
    text = glue.join(written)
    borders = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(borders)]
    rules = {"first_min": 3, "later_min": 8, "max_chars": max_chars}
    whole = clauses_of([text], **rules)
    assert "".join(whole) == text
    assert clauses_of(pieces, **rules) == whole
    assert clauses_of(list(text), **rules) == whole


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=5), st.floats(0, 0.4)), max_size=60))
def test_nothing_is_lost_whatever_comes_when(tokens: list[tuple[str, float]]) -> None:
    buffer = ClauseBuffer(soft=5, hard=9)
    now, clauses = 0.0, []
    for token, gap in tokens:
        now += gap
        clauses += buffer.tick(now)
        clauses += buffer.feed(token, now)
    clauses += buffer.flush()
    assert "".join(clauses) == "".join(token for token, _ in tokens)
    assert all(clauses)


def test_a_certain_end_is_given_out_at_once() -> None:
    for sentence in ["The capital of France is Paris.", "I see a beautiful city.", "Yes!", "Are you sure?"]:
        buffer = ClauseBuffer()
        given_out = [buffer.feed(token, 0.0) for token in pieces_of(sentence)]
        assert given_out[-1] == [sentence]
        assert not any(given_out[:-1])


def test_f3_a_held_sentence_comes_with_the_next_token_after_a_pause_or_at_the_end() -> None:
    tokens = ["Open", " example", "."]

    def fed() -> ClauseBuffer:
        buffer = ClauseBuffer()
        assert [clause for token in tokens for clause in buffer.feed(token, 1.0)] == []
        return buffer

    assert fed().feed(" Then", 1.1) == ["Open example."]
    assert fed().feed("com", 1.1) == []
    assert fed().tick(1.2) == []
    assert fed().tick(1.26) == ["Open example."]
    assert fed().flush() == ["Open example."]


def test_f3_one_two_splits() -> None:
    assert clauses_of(["one", ".", "Two"]) == ["one.", "Two"]


def test_the_first_clause_may_end_at_a_comma_later_ones_need_more_words() -> None:
    text = "Well, to be honest, it depends, as ever, on what you want, and on the time you have, my friend."
    assert clauses_of(pieces_of(text), first_min=3, later_min=8) == [
        "Well, to be honest,",
        " it depends, as ever, on what you want,",
        " and on the time you have, my friend.",
    ]


def test_commas_in_numbers_and_dates_are_no_ends() -> None:
    for text in ["There are about 1,234,567 of them", "It was on Friday, May 3, 2024", "We meet today at 9:30 again"]:
        clauses = clauses_of(pieces_of(text), first_min=3, later_min=3)
        assert all(not re.search(r"\d[,:]$", clause) for clause in clauses), clauses


def test_a_long_clause_ends_at_a_word_border_after_20_to_30_tokens() -> None:
    tokens = ["un", "break", "able"] + [" word"] * 40
    buffer = ClauseBuffer()
    ends = [i for i, token in enumerate(tokens, 1) if buffer.feed(token, 0.0)]
    assert 20 <= ends[0] <= 30
    tokens = [" word"] * 22 + [" the", " Dr", ".", " Smith", " went"]
    assert clauses_of(tokens, soft=24, hard=64)[0] == " word" * 22 + " the Dr. Smith"


def test_64_tokens_without_a_good_border_are_forced() -> None:
    assert [len(clause) for clause in clauses_of(["ab"] * 100, soft=24, hard=64)] == [128, 72]
    clauses = clauses_of([" of", " the"] * 40, soft=24, hard=64)
    assert len(clauses[0].split()) in (63, 64)


def test_never_a_lone_token_unless_it_is_all_there_is() -> None:
    buffer = ClauseBuffer()
    buffer.feed("Hello", 0.0)
    assert buffer.tick(9.0) == []
    assert buffer.flush() == ["Hello"]
    buffer.feed("Hello", 0.0)
    buffer.feed(" big", 0.0)
    buffer.feed(" wor", 0.0)
    assert buffer.tick(0.2) == []
    assert buffer.tick(0.3) == ["Hello big"]
    assert buffer.tick(0.9) == []
    assert buffer.flush() == [" wor"]


def test_a_pause_never_tears_an_abbreviation_or_a_number() -> None:
    for text, spoken in [("I will ask Dr.", "I will ask"), ("It costs about 3.", "It costs about")]:
        buffer = ClauseBuffer()
        for token in pieces_of(text):
            buffer.feed(token, 0.0)
        for clause in buffer.tick(1.0):
            assert clause in (spoken, spoken.rsplit(" ", 1)[0])


def test_a_word_without_end_is_cut() -> None:
    clauses = clauses_of(["x" * 10_000])
    assert "".join(clauses) == "x" * 10_000
    assert max(map(len, clauses)) <= 600

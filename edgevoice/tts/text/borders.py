"""Where a clause may end: decided from the text before a punctuation mark and at most two characters after it."""

from __future__ import annotations

import re
from enum import Enum

from edgevoice.tts.text.markup import words


class Border(Enum):
    """What a punctuation mark is."""

    END = "end"
    NONE = "none"
    UNSURE = "unsure"
    """The next character decides."""


ABBREVIATIONS = words(
    "Dr Mr Mrs Ms Mx Prof St Sr Sra Srta Jr Gen Sen Rep Gov Pres Lt Col Capt Cpt Maj Sgt Cmdr Adm Rev Hon Messrs"
    " Mme Mlle Fr Msgr Ave Blvd Rd Hwy Mt Ft Pt Ste Apt Dept Univ Inc Ltd Corp Co Bros vs etc eg ie cf al approx"
    " ca viz resp est max min avg Fig fig figs Eq eq Sec sec Ch ch Vol vol vols pp pg Nr nr nos Nos eds Eds Jan"
    " Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Ph Esq Tel tel ext misc"
    " incl excl ibid op sq cu ft oz lb lbs hr hrs mins secs yr yrs tbsp tsp qt pt gal temp ref refs para govt assn"
    " intl natl Bldg Rt Rte"
)
"""Words whose full stop does not end a sentence."""

_HOST_CUES = words(
    "visit at on to see via from with by using use try like check open opened edit run load import called named"
    " file files site website page domain server url address host link folder script program module package"
    " library framework app and or in into of for the a an your my our this that its is are was were be as new"
    " email e-mail mail go goto type enter download browse search save create rename delete copy move read write"
    " execute install include includes require such than include than than named or then both either simple main"
    " default sample call calls invoke override object method function class returns return set get"
)
"""Words after which a small word and a full stop may be the beginning of `example.com` or `main.py`."""

_CAPITAL_CUES = words(
    "visit at on via from using use try check open file site website page domain url called named app import"
)
"""The same for a capitalised word: rarer, so that `… is Paris.` is not held back."""

_STEMS = words(
    "node vue next nuxt react angular three chart express socket discord moment index readme main test tests"
    " setup config settings data example examples google amazon booking hotels cars apple weather wikipedia"
    " archive github gitlab youtube facebook twitter openai microsoft mozilla python rust golang java perl ruby"
    " docs mail maps news drive translate store package requirements makefile dockerfile license changelog style"
    " styles script app server client user users admin root home www mysite website yourname mycompany yourdomain"
    " domain company localhost utils models views urls manage hello world program output input report photo image"
    " video song document notes todo backup database log logs error update install hugging huggingface reddit"
    " linkedin instagram netflix ebay paypal yahoo bing duckduckgo expedia craigslist target overstock asp dot bit"
    " youtu tinyurl about indeed zillow espn nasa whitehouse irs usa pandas numpy torch llama model vocab select"
    " self file terminal language matplotlib"
)
"""Words that often begin a host or file name."""

_WORD = re.compile(r"[A-Za-z][a-z]+(?:['’][a-z]+)?\Z")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]\Z|(?:[A-Z][a-z]?\.)+[A-Z][a-z]{0,2}\Z")
_OPENING = "\"'“‘(«[¿¡*_"
_ADDRESS = re.compile(r"[/:@\\=&%#.~]")


def _run_before(text: str) -> tuple[str, str]:
    """The characters since the last white space, and the word before them."""
    run = re.search(r"\S*\Z", text[-80:])
    word = run.group() if run else ""
    before = text[-80 - len(word) : len(text) - len(word)].split()
    return word.lstrip(_OPENING), before[-1] if before else ""


def sentence_end(before: str, mark: str, after: str, ended: bool = False, eager: bool = True) -> Border:
    """Is `mark` (one of `.?!…` or their Chinese forms), standing after `before` in its clause, the end of a sentence?

    `after` is what follows, as far as it is known; `ended` says that nothing more follows.
    `eager`: a full stop after an ordinary word is an end at once, whatever follows.
    """
    if mark in "。！？":
        return Border.END
    word, previous = _run_before(before)
    if mark != ".":
        if not _ADDRESS.search(word) and word[-1:] not in _OPENING:
            return Border.END
        return _by_next(after, ended)
    return _full_stop(before, word, previous, after, ended, eager)


def _by_next(after: str, ended: bool) -> Border:
    if not after:
        return Border.END if ended else Border.UNSURE
    return Border.NONE if after[0].isalnum() or after[0] in "_/\\-@=&%+#" else Border.END


def _full_stop(before: str, word: str, previous: str, after: str, ended: bool, eager: bool) -> Border:
    name = word.split("-")[-1].lstrip("0123456789:") or word
    if word == "No":
        return _numero(after, ended)
    inches = word == "in" and previous[-1:].isdigit()
    if name in ABBREVIATIONS or inches or _INITIALS.match(name):
        return Border.END if ended and not after else Border.NONE
    if eager and _is_certain(before, word, previous):
        return Border.END  # whatever follows, or the result would depend on how the text was cut
    if not after:
        return Border.END if ended else Border.UNSURE
    if after[0] == "." or word.endswith("."):
        return Border.NONE if after[0] == "." or after[0].isalnum() else Border.END
    if word.isdigit() and before.strip() == word:
        return Border.NONE  # "1. Mix": the number of a list item
    if after[0].isalpha() and after[0].isupper() and _WORD.match(word) and word.lower() not in _STEMS:
        return Border.END  # one.Two
    return _by_next(after, ended)


def _numero(after: str, ended: bool) -> Border:
    """`No.`: a number sign before a digit, else an answer."""
    following = after.lstrip()
    if len(after) < 2 and not following and not ended:
        return Border.UNSURE
    if following[:1].isdigit():
        return Border.NONE
    return _by_next(after, ended)


_TECHNICAL = re.compile(r"[_/\\<>{}\[\]()=`#@*|]|\w\.\w|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|--")
_LEAST_WORDS = 4


def _is_certain(before: str, word: str, previous: str) -> bool:
    """Can nothing but a sentence end follow? Only an ordinary word, no likely host or file name, in ordinary prose."""
    if len(word) < 4 or not _WORD.match(word) or word.lower() in _STEMS or not previous:
        return False
    previous = previous.strip(_OPENING).lower()
    if not previous.isalpha() or previous in (_CAPITAL_CUES if word[0].isupper() else _HOST_CUES):
        return False
    return len(before.split()) >= _LEAST_WORDS and not _TECHNICAL.search(before)


def pause(before: str, mark: str, after: str, ended: bool = False) -> Border:
    """Is `mark` (one of `,;:—`) a place to breathe?"""
    word, _ = _run_before(before)
    last = before[-1:]
    if mark in "；，：、" or (mark == "—" and not last.isdigit()):
        return Border.END
    if mark != ":" and not last.isdigit() and not _ADDRESS.search(word):
        return Border.END
    if not after:
        return Border.END if ended else Border.UNSURE
    if not after[0].isspace():
        return Border.NONE
    if not last.isdigit():
        return Border.END
    following = after.lstrip()
    if not following and len(after) < 2 and not ended:
        return Border.UNSURE
    return Border.NONE if following[:1].isdigit() else Border.END  # May 3, 2024


def good_cut(before: str) -> bool:
    """May a long clause be cut at the white space after `before`? Not after `Dr.`, a number, an article."""
    last = before[-1:]
    if not last or last == "." or last.isdigit() or last in _OPENING:
        return False
    return _run_before(before)[0].lower() not in _CLINGING


_CLINGING = words(
    "a an the of to in on at by for with from and or but as is are was were be been has have had will would can"
    " could may might must shall should do does did not no my your his her its our their this that these those"
    " very more most i you he she it we they who which if than about into over per mr mrs ms dr st"
)
"""Words that lean on the next one."""

"""Units and currencies: symbol, one, many."""

# ruff: noqa: E501 - tables of patterns, one entry a line

from __future__ import annotations

CURRENCIES = {
    "$": ("dollar", "dollars", "cent", "cents"), "US$": ("US dollar", "US dollars", "cent", "cents"),
    "C$": ("Canadian dollar", "Canadian dollars", "cent", "cents"), "A$": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "NZ$": ("New Zealand dollar", "New Zealand dollars", "cent", "cents"), "HK$": ("Hong Kong dollar", "Hong Kong dollars", "cent", "cents"),
    "S$": ("Singapore dollar", "Singapore dollars", "cent", "cents"), "R$": ("real", "reais", "centavo", "centavos"),
    "€": ("euro", "euros", "cent", "cents"), "£": ("pound", "pounds", "penny", "pence"), "¥": ("yen", "yen", "sen", "sen"),
    "₹": ("rupee", "rupees", "paisa", "paise"), "₩": ("won", "won", "jeon", "jeon"), "₽": ("ruble", "rubles", "kopek", "kopeks"),
    "₿": ("bitcoin", "bitcoin", "", ""), "₺": ("lira", "lira", "kurus", "kurus"), "₪": ("shekel", "shekels", "agora", "agorot"),
    "Rs.": ("rupee", "rupees", "paisa", "paise"), "USD": ("US dollar", "US dollars", "cent", "cents"), "EUR": ("euro", "euros", "cent", "cents"),
    "GBP": ("pound", "pounds", "penny", "pence"), "JPY": ("yen", "yen", "sen", "sen"),
    "CHF": ("Swiss franc", "Swiss francs", "centime", "centimes"), "CAD": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "AUD": ("Australian dollar", "Australian dollars", "cent", "cents"), "INR": ("rupee", "rupees", "paisa", "paise"),
}  # fmt: skip
"""Sign or code → one, many, one hundredth, many hundredths."""

SCALES = {"k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "mm": "million", "b": "billion",
          "B": "billion", "bn": "billion", "T": "trillion", "tn": "trillion", "thousand": "thousand", "million": "million",
          "billion": "billion", "trillion": "trillion", "hundred": "hundred"}  # fmt: skip
"""What follows an amount of money."""

_PLAIN = """
km kilometer|m meter|cm centimeter|mm millimeter|µm micrometer|μm micrometer|nm nanometer|mi mile|yd yard|ha hectare|kg kilogram|g gram|mg milligram|µg microgram|μg microgram|mcg microgram
lb pound|lbs pound|oz ounce|l liter|L liter|ml milliliter|mL milliliter|cl centiliter|dl deciliter|gal gallon|tbsp tablespoon|tsp teaspoon|qt quart|pt pint
s second|sec second|secs second|ms millisecond|µs microsecond|μs microsecond|ns nanosecond|min minute|mins minute|h hour|hr hour|hrs hour|yr year|yrs year|wk week|wks week|mo month|mos month
B byte|KB kilobyte|kB kilobyte|MB megabyte|GB gigabyte|TB terabyte|PB petabyte|KiB kibibyte|MiB mebibyte|GiB gibibyte|TiB tebibyte|kbit kilobit|Mbit megabit|Gbit gigabit
W watt|kW kilowatt|MW megawatt|GW gigawatt|mW milliwatt|Wh watt hour|kWh kilowatt hour|MWh megawatt hour|V volt|kV kilovolt|mV millivolt|A amp|mA milliamp|mAh milliamp hour|Ah amp hour
Ω ohm|kΩ kilohm|dB decibel|cal calorie|kcal kilocalorie|J joule|kJ kilojoule|MJ megajoule|N newton|Nm newton meter|Pa pascal|kPa kilopascal|hPa hectopascal|MPa megapascal|psi PSI|bar bar|atm atmosphere
px pixel|MP megapixel|mph mile per hour|kph kilometer per hour|kmh kilometer per hour|rpm revolution per minute|bpm beat per minute|fps frame per second|dpi dot per inch|mpg mile per gallon
kbps kilobit per second|Kbps kilobit per second|Mbps megabit per second|Gbps gigabit per second|sq.ft. square foot|sqft square foot|sq.m. square meter|cc cc|acre acre|lm lumen|ly light-year|pH pH
"""
_IRREGULAR = {"foot": "feet", "inch": "inches", "square foot": "square feet", "cubic foot": "cubic feet"}
_SAME = {"hertz", "kilohertz", "megahertz", "gigahertz", "terahertz", "percent", "PSI", "cc", "pH", "ppm"}


def _many(one: str) -> str:
    """The plural of a unit's name: its first noun changes ("miles per hour", "watt hours")."""
    head, per, tail = one.partition(" per ")
    if head in _SAME:
        return one
    return _IRREGULAR.get(head, head + "s") + per + tail


def _table() -> dict[str, tuple[str, str]]:
    table = {entry.split(" ", 1)[0]: entry.split(" ", 1)[1] for entry in _PLAIN.strip().replace("\n", "|").split("|")}
    table |= {"Hz": "hertz", "kHz": "kilohertz", "KHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "THz": "terahertz",
              "ft": "foot", "sq ft": "square foot", "sq. ft.": "square foot", "sq m": "square meter", "cu ft": "cubic foot", "sq mi": "square mile",
              "sq km": "square kilometer", "fl oz": "fluid ounce", "fl. oz.": "fluid ounce"}  # fmt: skip
    for length, name in (
        ("km", "kilometer"),
        ("m", "meter"),
        ("cm", "centimeter"),
        ("mm", "millimeter"),
        ("ft", "foot"),
        ("mi", "mile"),
        ("in", "inch"),
    ):
        for sign in ("²", "^2"):
            table[length + sign] = f"square {name}"
        for sign in ("³", "^3"):
            table[length + sign] = f"cubic {name}"
    units = {symbol: (name, _many(name)) for symbol, name in table.items()}
    for symbol in (
        "lb.",
        "oz.",
        "in.",
        "ft.",
        "min.",
        "sec.",
        "hr.",
        "hrs.",
        "lbs.",
        "mi.",
        "tbsp.",
        "tsp.",
        "yrs.",
        "mins.",
        "secs.",
    ):
        name = {"in": "inch"}.get(symbol[:-1]) or units[symbol[:-1]][0]
        units[symbol] = (name, _many(name))
    return units


UNITS = _table()
"""Symbol → one, many."""

RATES = (
    "km",
    "m",
    "cm",
    "ft",
    "mi",
    "kg",
    "g",
    "mg",
    "L",
    "l",
    "mL",
    "ml",
    "MB",
    "GB",
    "KB",
    "kB",
    "TB",
    "B",
    "kW",
    "W",
    "kWh",
    "lb",
    "lbs",
    "gal",
    "cal",
    "kcal",
    "oz",
    "µg",
    "px",
    "MiB",
    "GiB",
    "J",
)
"""Units that form rates: `km/h`, `MB/s`."""

PER = {"h": "hour", "hr": "hour", "s": "second", "sec": "second", "s²": "second squared", "s^2": "second squared", "min": "minute",
       "d": "day", "day": "day", "week": "week", "wk": "week", "month": "month", "mo": "month", "year": "year", "yr": "year", "kg": "kilogram",
       "g": "gram", "L": "liter", "l": "liter", "mL": "milliliter", "ml": "milliliter", "dL": "deciliter", "m": "meter", "m²": "square meter", "m³": "cubic meter", "km": "kilometer",
       "km²": "square kilometer", "lb": "pound", "gal": "gallon", "hour": "hour", "minute": "minute", "second": "second", "person": "person",
       "night": "night", "serving": "serving", "item": "item", "ft": "foot", "sq ft": "square foot", "oz": "ounce", "pound": "pound", "cm³": "cubic centimeter", "GB": "gigabyte", "kWh": "kilowatt hour", "each": "each"}  # fmt: skip
"""What stands below the slash of a rate."""

"""Word lists for comparing names: titles, particles, legal forms. Written as they are after folding."""

from __future__ import annotations


def _listed(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


# Never part of a name, dropped in any position.
TITLES = _listed("mr mrs ms mx dr prof engr mme mlle messrs dhr mevr frl sra srta dott dottssa phd mba esq obe mbe cpa")

# Words that can also be names (Barr, Pastor, Chief): titles only in front of two other names.
LEADING_TITLES = _listed(
    "miss mister doctor professor sir dame lady lord chief pastor rev revd reverend barr barrister arc hon honourable",
    "alhaji alhaja hajiya mallam sheikh imam herr frau senor senora sr monsieur madame signor signora",
    "capt captain col gen maj lt sgt ing dipl mag fr sister bishop otunba evangelist",
)

# Father and son may share every name: a generation on one side only is a doubt, never ignored.
GENERATIONS = {
    "jr": "jr", "jnr": "jr", "junior": "jr", "sr": "sr", "snr": "sr", "senior": "sr",
    "ii": "ii", "iii": "iii", "iv": "iv",
}  # fmt: skip

# Small words that belong to the name after them: "de la Cruz" is one last name.
PARTICLES = _listed(
    "de del della delle der den des di da do dos das du la le lo",
    "van von zu zur ter ten te bin ibn bint binti al el mac mc",
)

# Between two names: more than one holder.
JOINING = _listed("and und et och oder or")

# Beside a name: another person is meant, or the text is more than a name.
QUALIFIERS = _listed("not for of estate deceased late trust trustee minor care behalf obo fbo pp y mother father child")

# Written by banks into a name field that must not be empty; without spaces.
PLACEHOLDERS = _listed("notprovided null none na unknown nil notavailable undefined notgiven noname anonymous")

# Characters of markup and program code, which are not in names.
MARKUP_CHARACTERS = frozenset("<>{}[]=;\\|*^~$%#@_")

# Companies only: words that do not identify the company, and words with two spellings.
COMPANY_FILLERS = _listed("the and und et och y")
COMPANY_SHORTHAND = {"intl": "international", "bros": "brothers", "nig": "nigeria", "gebr": "gebruder"}

_FORMS = {
    "ltd": "ltd limited",
    "plc": "plc publiclimitedcompany",
    "llc": "llc limitedliabilitycompany",
    "llp": "llp limitedliabilitypartnership",
    "lp": "lp limitedpartnership",
    "inc": "inc incorporated",
    "corp": "corp corporation",
    "co": "co company andco andcompany etcie cie undco ycia cia",
    "pty": "pty proprietary",
    "pte": "pte",
    "pvt": "pvt private",
    "gmbh": "gmbh mbh gesellschaftmitbeschrankterhaftung",
    "gmbh & co kg": "gmbhandcokg gmbhcokg gmbhundcokg",
    "ug": "ug unternehmergesellschaft ughaftungsbeschrankt",
    "ag": "ag aktiengesellschaft",
    "kg": "kg kommanditgesellschaft",
    "ohg": "ohg",
    "ev": "ev",
    "se": "se",
    "sa": "sa societeanonyme sociedadanonima sociedadeanonima",
    "sarl": "sarl societearesponsabilitelimitee",
    "sas": "sas",
    "eurl": "eurl",
    "srl": "srl societaaresponsabilitalimitata sociedadderesponsabilidadlimitada",
    "spa": "spa societaperazioni",
    "sl": "sl sociedadlimitada",
    "ltda": "ltda lda limitada",
    "bv": "bv beslotenvennootschap",
    "nv": "nv naamlozevennootschap",
    "oy": "oy osakeyhtio",
    "oyj": "oyj",
    "ab": "ab aktiebolag",
    "as": "as aksjeselskap aktieselskab",
    "aps": "aps anpartsselskab",
    "sp. z o.o.": "spzoo spolkazograniczonaodpowiedzialnoscia",
    "kft": "kft",
    "sro": "sro",
    "doo": "doo",
    "ooo": "ooo",
    "ood": "ood",
    "sia": "sia",
    "uab": "uab",
    "oü": "ou",
}

# From a form's letters without spaces to the form. "S. à r.l." and "SARL" are both "sarl".
LEGAL_FORMS = {spelling: form for form, spellings in _FORMS.items() for spelling in spellings.split()}
LEGAL_FORM_WORDS_MAX = 5

# Short forms are also names (Sá, Co, As, Sas), so only the others distinguish a company from a person.
_NAMES_OF_PEOPLE = _listed("sas spa sia ooo private cie cia")
UNMISTAKABLE_FORMS = frozenset(form for form in LEGAL_FORMS if len(form) >= 3) - _NAMES_OF_PEOPLE

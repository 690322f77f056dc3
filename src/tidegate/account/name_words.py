"""The words that names are compared by: titles, particles, legal forms. All are written as they are after folding."""

from __future__ import annotations


def _listed(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


# Words that are nobody's name, dropped wherever they stand.
TITLES = _listed("mr mrs ms mx dr prof engr mme mlle messrs dhr mevr frl sra srta dott dottssa phd mba esq obe mbe cpa")

# Words that are somebody's name as well (Barr, Pastor, Chief): titles only in front of two other names.
LEADING_TITLES = _listed(
    "miss mister doctor professor sir dame lady lord chief pastor rev revd reverend barr barrister arc hon honourable",
    "alhaji alhaja hajiya mallam sheikh imam herr frau senor senora sr monsieur madame signor signora",
    "capt captain col gen maj lt sgt ing dipl mag fr sister bishop otunba evangelist",
)

# Father and son may share every name: a word of one side only is a doubt, never passed over.
GENERATIONS = {
    "jr": "jr", "jnr": "jr", "junior": "jr", "sr": "sr", "snr": "sr", "senior": "sr",
    "ii": "ii", "iii": "iii", "iv": "iv",
}  # fmt: skip

# Small words that belong to the name after them: "de la Cruz" is one last name.
PARTICLES = _listed(
    "de del della delle der den des di da do dos das du la le lo",
    "van von zu zur ter ten te bin ibn bint binti al el mac mc",
)

# Where one of these stands between names, there is more than one holder.
JOINING = _listed("and und et och oder or")

# Where one of these stands beside a name, somebody else is meant, or more is said than a name.
BESIDES = _listed("not for of estate deceased late trust trustee minor care behalf obo fbo pp y mother father child")

# What banks write into a name field that must not be empty, without its spaces.
PLACEHOLDERS = _listed("notprovided null none na unknown nil notavailable undefined notgiven noname anonymous")

# Characters of mark-up and programs. A name that brings them along is not what a person types.
STRANGE = frozenset("<>{}[]=;\\|*^~$%#@_")

# Companies only: words that say nothing about which company it is, and words that are written in two ways.
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

# From the letters of a form, run together, to the form. "S. à r.l." and "SARL" are both "sarl".
LEGAL_FORMS = {spelling: form for form, spellings in _FORMS.items() for spelling in spellings.split()}
LEGAL_FORM_WORDS_MAX = 5

# Short forms are names too (Sá, Co, As, Sas), so only the others tell a company from a person.
_NAMES_OF_PEOPLE = _listed("sas spa sia ooo private cie cia")
UNMISTAKABLE_FORMS = frozenset(form for form in LEGAL_FORMS if len(form) >= 3) - _NAMES_OF_PEOPLE

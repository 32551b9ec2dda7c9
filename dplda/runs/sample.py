"""Generated corpora, the same on every machine: reviews that mix eight known themes, and clinical notes.

Nobody wrote this text, and it is about nobody. The notes are of invented patients with eight kinds of complaints, for
tutorials and tests.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

from dplda.base.config import Range
from dplda.base.errors import InputError


class Uniforms:
    """Uniform variates in [0, 1) from the raw stream of PCG64."""

    def __init__(self, seed: int | list[int]) -> None:
        self._bits = np.random.PCG64(seed)

    def draw(self, *shape: int) -> npt.NDArray[np.float64]:
        """Return an array of `shape`, with 53 random bits per entry."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return np.asarray((raw >> np.uint64(11)) * 2.0**-53, dtype=np.float64).reshape(shape)

    def pick(self, probabilities: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
        """Draw `n` indices with these `probabilities`, by inversion of the distribution function."""
        cumulative = np.cumsum(probabilities)
        return np.searchsorted(cumulative / cumulative[-1], self.draw(n), side="right")


_THEME_WORDS = {
    "health": """
        doctor patient hospital nurse treatment symptom medicine clinic diagnosis therapy infection vaccine
        surgery fever disease prescription dose allergy asthma diabetes headache pain injury recovery ward
        pharmacy tablet antibiotic virus blood pressure pulse heart lung kidney liver muscle bone fracture
        bandage ambulance emergency specialist surgeon dentist tooth exercise sleep stress anxiety fatigue
        nutrition vitamin cholesterol weight pregnancy midwife infant immune inflammation rash cough throat
        scan wound rehabilitation
    """,
    "travel": """
        hotel flight airport passport luggage tourist ticket train station beach island museum guide tour
        destination itinerary booking reservation hostel resort cruise ferry harbour border visa customs
        currency souvenir backpack suitcase map compass road highway bridge village cathedral castle temple
        desert mountain valley lake coast river trail hike camping tent sunset landscape adventure departure
        arrival delay boarding pilot cabin terminal taxi tram subway journey
    """,
    "cooking": """
        recipe oven butter flour sugar salt pepper onion garlic tomato sauce soup bread dough cake cheese
        cream milk egg chicken beef fish rice pasta potato carrot spinach herb basil thyme parsley cinnamon
        vanilla chocolate lemon olive vinegar mustard honey spice curry noodle dumpling stew roast grill
        skillet saucepan whisk spatula kitchen chef menu dessert breakfast dinner lunch restaurant flavour
        ingredient simmer bake marinade teaspoon tablespoon
    """,
    "finance": """
        bank loan interest mortgage credit debt savings account invest stock bond share dividend broker fund
        pension insurance premium tax income salary budget expense profit loss revenue inflation recession
        market portfolio asset equity capital rate yield lender borrower deposit withdrawal transaction
        payment invoice receipt audit ledger accountant auditor currency exchange dollar euro price cost
        wealth inheritance bankruptcy creditor auction trader hedge forecast treasury deficit
    """,
    "sport": """
        team player coach match goal league season championship tournament stadium referee penalty defender
        striker goalkeeper midfield football tennis basketball hockey cricket rugby golf swimming cycling
        marathon sprint race athlete medal trophy victory defeat score draw serve racket ball pitch court
        training exercise fitness injury transfer captain fan crowd whistle foul tackle dribble pass header
        relay javelin gymnast wrestler boxing skating ski olympic record
    """,
    "music": """
        guitar piano violin drum song album melody rhythm chord concert orchestra conductor singer choir
        band stage lyric chorus verse tempo harmony symphony sonata opera jazz blues folk rock punk reggae
        bass trumpet saxophone flute clarinet cello harp accordion keyboard microphone amplifier speaker
        recording studio producer label vinyl playlist radio festival audience applause rehearsal audition
        composer composition arrangement tune note scale pitch lullaby ballad
    """,
    "gardening": """
        garden soil seed plant flower compost shrub lawn hedge pruning rose tulip daffodil lavender orchid
        fern moss ivy weed mulch fertilizer manure greenhouse seedling bulb root stem leaf petal blossom
        pollen bee butterfly worm slug snail aphid pest watering hose sprinkler rake shovel spade trowel
        wheelbarrow fence trellis patio pond orchard apple pear cherry plum berry vegetable pumpkin cucumber
        lettuce bean herb harvest frost blight drought
    """,
    "technology": """
        computer software server network database program code developer keyboard screen laptop processor
        memory disk browser website password encryption firewall malware hacker update install download
        upload file folder backup cloud application interface button icon menu mouse printer scanner router
        wireless bluetooth cable battery charger sensor robot algorithm data query script compiler debugger
        bug patch release version desktop tablet smartphone camera pixel graphics driver hardware chip
    """,
}
_GENERAL_WORDS = """
    time people day week month year morning evening night moment thing way place house home room street town
    city country world story question answer problem reason idea plan choice chance change start end kind
    sort number group family friend neighbour child parent mother father brother sister man woman person
    hand eye face voice word letter paper page book list line point case fact example result effect cause
    level size colour shape light water air weather summer winter spring autumn money work job office school
    class lesson teacher student test visit trip walk talk meeting message phone help care hope wish need
    good great small large long short early late young old new different important easy difficult quick slow
    warm cold quiet busy simple usual
"""

_THEMES = {theme: tuple(words.split()) for theme, words in _THEME_WORDS.items()}
_GENERAL = tuple(_GENERAL_WORDS.split())

# All words outside the braces are stop words, so that the words in the braces are the content of a document.
_SENTENCES: dict[int, tuple[str, ...]] = {
    1: ("And there was {}.", "Then the {} again.", "Perhaps {} too."),
    2: ("The {} was without {}.", "My {} or your {}?", "It is {} and {}."),
    3: ("We had {}, {} and {}.", "Then there was {}, {} and {}.", "Is {} more than {} or {}?"),
    4: (
        "The {} was {}, but {} and {} were not.",
        "She had {} and {}, he {} or {}.",
        "With {} and {} there is {} or {}.",
    ),
    5: (
        "After the {}, our {} was {}, then {} and {}.",
        "They see {} from {}, and also {}, {} and {}.",
        "Why should {}, {} and {} be {} without {}?",
    ),
    6: (
        "I would have {} and {} first, then {}, {}, and perhaps {} or {}.",
        "Everything is in the {}: {}, {} and {}, {} and {}.",
        "Neither {}, {} nor {} was as {} as {} and {}.",
    ),
}


_FloatArray = npt.NDArray[np.float64]
_BACKGROUND = 0.2  # share of a theme's probability that goes to general words
_ALPHA = (0.15, 0.14, 0.13, 0.13, 0.12, 0.12, 0.11, 0.10)  # Dirichlet prior over themes; one or two dominate a text
_SECTIONS = {  # of the paper in which the documents appear, and the themes of each
    "living": ("health", "cooking", "gardening"),
    "money": ("finance",),
    "sport": ("sport",),
    "culture": ("music", "technology", "travel"),
}
_STRAY, _IN_SUMMER = 0.2, 0.5  # shares of documents in a random section, and of those on travel that are of summer
_YEAR, _SUMMER = (date(2024, 1, 1), 366), (date(2024, 6, 1), 92)  # first day and number of days
_CONTENT = (22, 40)  # minimum and maximum content words of a document; stop words nearly double its length
_LONGEST_SENTENCE = max(_SENTENCES)
_CORPUS_FILE, THEMES_FILE, _README_FILE = "sample.jsonl.gz", "_themes.json", "README.txt"
_DOCUMENTS = Range(low=1, high=10_000_000, unit="documents", integer=True)
_USERS = Range(low=1, high=1_000_000, unit="users", integer=True)
_SEED = Range(low=0, high=2**63 - 1, unit="seed", integer=True)

_README = """Sample corpus written by `dplda corpus sample`
==============================================

{corpus}   {n_documents} documents, one JSON object a line: id, user, section, date, text
{themes}       the planted themes: for each, the probability of every content word

The text is generated: nobody wrote it and it is about nobody. Each document mixes a few of {n_themes} themes
with words common to all. Words outside {themes} are English stop words. Seed {seed}.

Try: dplda fit {corpus} --text-field text --topics {n_themes}
     dplda tabulate sample {corpus} --by section --by 'month(date)' --epsilon 1
"""


def _planted_themes() -> tuple[list[str], _FloatArray]:
    """Return the sorted content words and the themes' distributions over them, (8, n_words) with rows that sum to 1."""
    words = sorted(set(_GENERAL).union(*_THEMES.values()))
    place = {word: i for i, word in enumerate(words)}
    matrix = np.zeros((len(_THEMES), len(words)))
    for row, own in zip(matrix, _THEMES.values(), strict=True):
        for share, members, flatness in ((1 - _BACKGROUND, own, 30.0), (_BACKGROUND, _GENERAL, 60.0)):
            weights = 1.0 / (np.arange(len(members)) + flatness)
            np.add.at(row, [place[word] for word in members], share * weights / weights.sum())
    return words, matrix


def write_sample(directory: str | Path, n_documents: int = 20_000, n_users: int = 4_000, seed: int = 0) -> Path:
    """Write the corpus, its themes and a README into `directory`; return the path of the corpus file.

    The same arguments give the same content. Raises `InputError` for a number out of range, an existing file, or a
    folder that cannot be written.
    """
    n_documents = _DOCUMENTS.check("n_documents", n_documents)
    n_users = _USERS.check("n_users", n_users)
    seed = _SEED.check("seed", seed)
    folder = Path(directory)
    facts = {"n_documents": n_documents, "n_themes": len(_THEMES), "seed": seed}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Without file name and time in the gzip header, the bytes depend on the seed alone.
        with (
            (folder / _CORPUS_FILE).open("xb") as raw,
            gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as packed,
        ):
            for record in sample_documents(n_documents, n_users, seed):
                packed.write((json.dumps(record) + "\n").encode())
        (folder / THEMES_FILE).write_text(_themes_json(), encoding="utf-8")
        note = _README.format(corpus=_CORPUS_FILE, themes=THEMES_FILE, **facts)
        (folder / _README_FILE).write_text(note, encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{folder / _CORPUS_FILE} is already there. Remove it or name another folder.") from None
    except OSError as error:
        raise InputError(f"cannot write the sample into {folder}: {error.strerror}.") from None
    return folder / _CORPUS_FILE


def _themes_json() -> str:
    """Return the themes as JSON: {theme: {word: probability}}, most probable word first."""
    words, matrix = _planted_themes()
    tables = {}
    for theme, row in zip(_THEMES, matrix, strict=True):
        ranked = sorted((-probability, word) for word, probability in zip(words, row, strict=True) if probability)
        tables[theme] = {word: float(f"{-negative:.8f}") for negative, word in ranked}
    return json.dumps(tables, indent=1) + "\n"


def sample_documents(n_documents: int, n_users: int, seed: int) -> Iterator[dict[str, str]]:
    """Yield the documents of the corpus in order: id, user, section, date and text.

    The expected number of documents of a user is inversely proportional to rank + 30. Most documents are in the section
    of their main theme, and half of those on travel are of summer.
    """
    uniforms, facts = Uniforms(seed), Uniforms([seed, 1])
    words, matrix = _planted_themes()
    themes, sections = list(_THEMES), list(_SECTIONS)
    users = uniforms.pick(1.0 / (np.arange(n_users) + 30.0), n_documents)
    low, high = _CONTENT
    sizes = low + np.floor(uniforms.draw(n_documents) * (high - low + 1)).astype(np.int64)
    gammas = gammaincinv(np.array(_ALPHA), uniforms.draw(n_documents, len(_ALPHA)))
    for number, (user, size, gamma) in enumerate(zip(users, sizes, gammas, strict=True)):
        content = [words[i] for i in uniforms.pick(gamma @ matrix, int(size))]
        text = " ".join(_sentences(content, uniforms))
        theme = themes[int(np.argmax(gamma))]
        stray, other, summery, day = facts.draw(4)
        usual = next(section for section, its_themes in _SECTIONS.items() if theme in its_themes)
        first, days = _SUMMER if theme == "travel" and summery < _IN_SUMMER else _YEAR
        yield {
            "id": f"doc{number:06d}",
            "user": f"user{user:05d}",
            "section": sections[int(other * len(sections))] if stray < _STRAY else usual,
            "date": (first + timedelta(days=int(day * days))).isoformat(),
            "text": text,
        }


def _sentences(content: list[str], uniforms: Uniforms) -> Iterator[str]:
    """Yield sentences with the words of `content`, in order."""
    at = 0
    while at < len(content):
        length, choice = uniforms.draw(2)
        n_slots = min(3 + int(length * (_LONGEST_SENTENCE - 2)), len(content) - at)
        frames = _SENTENCES[n_slots]
        yield frames[int(choice * len(frames))].format(*content[at : at + n_slots])
        at += n_slots


_AREAS = {
    "heart": {
        "complaint": """chest pain, palpitations, tight chest, swollen ankles, dizzy on standing, fainting, pressure in
            the left arm, racing heartbeat, pounding heart, breathless on stairs""",
        "finding": """irregular pulse, raised blood pressure, ankle oedema, heart murmur, low blood pressure, regular
            rhythm, raised jugular vein, fast atrial rhythm""",
        "test": "electrocardiogram, troponin, echocardiogram, cholesterol, cardiac monitor, treadmill test, angiogram",
        "treatment": """aspirin, bisoprolol, ramipril, a statin, furosemide, amlodipine, anticoagulant, nitrate spray,
            digoxin""",
        "advice": "salt restriction, daily weight, cardiac rehabilitation, valve clinic, pacemaker check",
    },
    "breathing": {
        "complaint": """cough, wheeze, shortness of breath, green sputum, hoarse voice, sore throat, blocked nose,
            coughing at night, tight breathing, rattling cough""",
        "finding": """wheezing, crackles, low oxygen saturation, raised temperature, rapid respiration, dull lung base,
            prolonged expiration, clear sputum""",
        "test": "chest film, peak flow, sputum culture, spirometry, oximetry, influenza swab, blood gas",
        "treatment": """salbutamol inhaler, oxygen, prednisolone, amoxicillin, nebuliser, steroid inhaler, doxycycline,
            spacer, antibiotics""",
        "advice": "smoking cessation, inhaler technique, flu vaccine, respiratory nurse, breathing exercises",
    },
    "stomach": {
        "complaint": """abdominal pain, nausea, vomiting, diarrhoea, heartburn, constipation, bloating, cramps, loss of
            appetite, reflux, black stool""",
        "finding": """soft abdomen, tender epigastrium, distended abdomen, dry mucosa, bowel sounds, rebound tenderness,
            palpable liver, jaundice""",
        "test": "stool sample, gastroscopy, abdominal ultrasound, liver enzymes, lipase, colonoscopy, breath test",
        "treatment": """omeprazole, antiemetic, fluids, laxative, loperamide, antacid, rehydration salts, pantoprazole,
            buscopan""",
        "advice": "light diet, small meals, dietitian, avoid spicy food, fibre, bowel chart",
    },
    "injury": {
        "complaint": """fall at home, swollen wrist, hip pain, knee pain, twisted ankle, back pain, painful shoulder,
            stiff neck, bruised elbow, slipped on ice""",
        "finding": """bruising, limited rotation, swelling over the joint, bony tenderness, deformity, intact sensation,
            shortened leg, joint effusion""",
        "test": "hip film, wrist film, bone density, spine film, joint aspiration, knee scan, shoulder scan",
        "treatment": """plaster cast, ibuprofen, splint, sling, paracetamol, crutches, traction, local anaesthetic,
            codeine""",
        "advice": "physiotherapy, fracture clinic, elevation, walking frame, calcium, falls assessment",
    },
    "wound": {
        "complaint": """leg ulcer, infected cut, itchy rash, burn on the hand, blister, pressure sore, weeping wound,
            painful boil, dog bite, surgical scar""",
        "finding": """redness, granulating base, yellow slough, surrounding cellulitis, healing edges, clean margins,
            purulent discharge, warm skin""",
        "test": "wound swab, skin biopsy, ankle brachial index, wound photograph, patch test, tissue culture",
        "treatment": """foam dressing, flucloxacillin, compression bandage, sutures, silver dressing, emollient,
            hydrocortisone cream, debridement, tetanus booster""",
        "advice": "dressing change, heel protection, tissue nurse, keep dry, suture removal, skin care",
    },
    "diabetes": {
        "complaint": """thirst, passing urine often, blurred vision, shaky and sweating, numb toes, tired after meals,
            weight loss, tingling feet, hungry at night""",
        "finding": """high glucose, ketones, reduced foot sensation, low glucose, obesity, dry feet, weak foot pulses,
            protein in urine""",
        "test": "glycated haemoglobin, fasting glucose, kidney function, retinal photograph, albumin, foot screen",
        "treatment": """metformin, insulin, gliclazide, glucose tablets, long-acting insulin, empagliflozin, glucagon,
            sliding scale""",
        "advice": "carbohydrate counting, glucose diary, podiatry, eye screening, injection sites, diabetes nurse",
    },
    "mood": {
        "complaint": """low mood, poor sleep, anxiety, panic attacks, tearful, no energy, hearing voices, early waking,
            nightmares, restless, hopeless thoughts""",
        "finding": """flat affect, poor concentration, slow speech, good eye contact, agitation, orientated in time,
            no suicidal plan, guarded manner""",
        "test": "depression score, memory screen, thyroid function, risk assessment, anxiety scale, lithium level",
        "treatment": """sertraline, counselling, mirtazapine, zopiclone, olanzapine, relaxation, lorazepam, citalopram,
            lithium""",
        "advice": "crisis number, sleep diary, talking therapy, day centre, psychiatry, peer support",
    },
    "headache": {
        "complaint": """migraine, headache behind the eye, flashing lights, seizure, numb face, weak arm, slurred
            words, double vision, trembling hand, loss of balance""",
        "finding": """equal pupils, facial droop, brisk reflexes, unsteady gait, tremor, normal fundi, arm weakness,
            neck stiffness""",
        "test": "brain scan, lumbar puncture, nerve conduction, carotid ultrasound, evoked potentials, visual fields",
        "treatment": """sumatriptan, levetiracetam, propranolol, clopidogrel, levodopa, amitriptyline, topiramate,
            thrombolysis""",
        "advice": "headache diary, no driving, stroke team, speech therapy, neurology, dark room",
    },
}
_PHRASES = {
    area: {slot: tuple(" ".join(phrase.split()) for phrase in text.split(",")) for slot, text in slots.items()}
    for area, slots in _AREAS.items()
}
_SHARES = (0.16, 0.15, 0.14, 0.13, 0.12, 0.11, 0.10, 0.09)  # of the areas among patients, in the order above
_SLOTS = ("complaint", "complaint", "finding", "test", "treatment", "treatment", "advice")  # the order of a note
_NOTE_SENTENCES = {  # for each slot, sentences that take two phrases
    "complaint": ("Came in with {} and {}.", "Reports {}, also {}.", "{} for some days, then {}.", "Still {} and {}."),
    "finding": ("On examination {}, {}.", "Found {} and {}."),
    "test": ("{} and {} requested.", "Awaiting {}; {} done."),
    "treatment": ("Started {}, continue {}.", "Given {} with {}.", "{} stopped, {} instead."),
    "advice": ("Plan: {}, {}.", "Referred for {}; {} discussed."),
}
_REMARKS = ("Family informed.", "Feels better today.", "Seen with a relative.", "Comfortable overnight.", "For review.")
_WARDS = {  # where most notes on an area are written
    "Ash": ("heart", "breathing"),
    "Birch": ("stomach", "diabetes"),
    "Cedar": ("injury", "wound"),
    "Elm": ("mood", "headache"),
}
_OWN, _SECOND = 0.7, 0.25  # shares of notes on the patient's own area, and of phrases of another area
_REMARK, _NOTE_STRAY = 0.5, 0.1  # shares of notes with a remark, and of notes from another ward
_WINTER = 0.5  # share of the notes on breathing that are of January or February
_NOTES = Range(low=1, high=1_000_000, unit="notes", integer=True)
_FILE = "notes.csv"


def write_notes(directory: str | Path, n_notes: int = 8_000, seed: int = 0) -> Path:
    """Write the notes as a CSV file into `directory`; return its path.

    The same arguments give the same content. Raises `InputError` for a number out of range, an existing file, or a
    folder that cannot be written.
    """
    n_notes = _NOTES.check("n_notes", n_notes)
    seed = _SEED.check("seed", seed)
    path = Path(directory) / _FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as file:
            rows = csv.DictWriter(file, ("patient", "ward", "date", "text"), lineterminator="\n")
            rows.writeheader()
            rows.writerows(notes(n_notes, seed))
    except FileExistsError:
        raise InputError(f"{path} is already there. Remove it or name another folder.") from None
    except OSError as error:
        raise InputError(f"cannot write the notes into {directory}: {error.strerror}.") from None
    return path


def notes(n_notes: int, seed: int) -> Iterator[dict[str, str]]:
    """Yield the notes in order: patient, ward, date and text.

    There are about half as many patients as notes. Most notes of a patient are on the same area, and a quarter of the
    phrases of a note are of another area. Half of the notes on breathing are of January or February.
    """
    uniforms, areas, wards = Uniforms(seed), list(_PHRASES), list(_WARDS)
    n_patients = 1 + n_notes // 2
    own = uniforms.pick(np.array(_SHARES), n_patients)
    patients = uniforms.pick(1.0 / (np.arange(n_patients) + n_patients / 4), n_notes)
    for patient in patients:
        stays, other, away, ward, winter, day = uniforms.draw(6)
        area = areas[own[patient]] if stays < _OWN else areas[int(other * len(areas))]
        days = 59 if area == "breathing" and winter < _WINTER else 366
        usual = next(name for name, treated in _WARDS.items() if area in treated)
        yield {
            "patient": f"P{patient:05d}",
            "ward": wards[int(ward * len(wards))] if away < _NOTE_STRAY else usual,
            "date": (date(2024, 1, 1) + timedelta(days=int(day * days))).isoformat(),
            "text": " ".join(_note(area, areas, uniforms)),
        }


def _note(area: str, areas: list[str], uniforms: Uniforms) -> Iterator[str]:
    """Yield the sentences of a note on `area`."""
    for slot in _SLOTS:
        phrases = []
        for second, other, which in uniforms.draw(2, 3):
            source = areas[int(other * len(areas))] if second < _SECOND else area
            choices = _PHRASES[source][slot]
            phrases.append(choices[int(which * len(choices))])
        frames = _NOTE_SENTENCES[slot]
        sentence = frames[int(uniforms.draw(1)[0] * len(frames))].format(*phrases)
        yield sentence[0].upper() + sentence[1:]
    remark, which = uniforms.draw(2)
    if remark < _REMARK:
        yield _REMARKS[int(which * len(_REMARKS))]

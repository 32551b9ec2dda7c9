"""Generated clinical notes: invented patients with eight kinds of complaints, for tutorials and tests."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from dplda.base.config import Range
from dplda.base.errors import InputError
from dplda.runs.uniforms import Uniforms

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
_SENTENCES = {  # for each slot, sentences that take two phrases
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
_OWN, _SECOND, _REMARK, _STRAY = 0.7, 0.25, 0.5, 0.1  # shares: patient's own area, slots of another, remarks, wards
_WINTER = 0.5  # share of the notes on breathing that are of January or February
_NOTES = Range(low=1, high=1_000_000, unit="notes", integer=True)
_SEED = Range(low=0, high=2**63 - 1, unit="seed", integer=True)
_FILE = "notes.csv"


def write_notes(directory: str | Path, n_notes: int = 8_000, seed: int = 0) -> Path:
    """Write the notes as a CSV file into `directory`; return its path.

    The same arguments give the same content. Raises `InputError` for a number out of range, an existing file, or a
    folder that cannot be written.
    """
    _NOTES.check("n_notes", n_notes)
    _SEED.check("seed", seed)
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
    """The notes in order: patient, ward, date and text.

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
            "ward": wards[int(ward * len(wards))] if away < _STRAY else usual,
            "date": (date(2024, 1, 1) + timedelta(days=int(day * days))).isoformat(),
            "text": " ".join(_note(area, areas, uniforms)),
        }


def _note(area: str, areas: list[str], uniforms: Uniforms) -> Iterator[str]:
    """The sentences of a note on `area`."""
    for slot in _SLOTS:
        phrases = []
        for second, other, which in uniforms.draw(2, 3):
            source = areas[int(other * len(areas))] if second < _SECOND else area
            choices = _PHRASES[source][slot]
            phrases.append(choices[int(which * len(choices))])
        frames = _SENTENCES[slot]
        sentence = frames[int(uniforms.draw(1)[0] * len(frames))].format(*phrases)
        yield sentence[0].upper() + sentence[1:]
    remark, which = uniforms.draw(2)
    if remark < _REMARK:
        yield _REMARKS[int(which * len(_REMARKS))]

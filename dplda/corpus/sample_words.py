"""The words of the sample corpus: eight themes, common words, and sentence frames.

Within a list, earlier words are commoner. A few words belong to two themes, as in any real corpus.
"""

from __future__ import annotations

_THEMES = {
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
_GENERAL = """
    time people day week month year morning evening night moment thing way place house home room street town
    city country world story question answer problem reason idea plan choice chance change start end kind
    sort number group family friend neighbour child parent mother father brother sister man woman person
    hand eye face voice word letter paper page book list line point case fact example result effect cause
    level size colour shape light water air weather summer winter spring autumn money work job office school
    class lesson teacher student test visit trip walk talk meeting message phone help care hope wish need
    good great small large long short early late young old new different important easy difficult quick slow
    warm cold quiet busy simple usual
"""

THEMES: dict[str, tuple[str, ...]] = {theme: tuple(words.split()) for theme, words in _THEMES.items()}
GENERAL: tuple[str, ...] = tuple(_GENERAL.split())

# Every word outside the braces is a stop word, so that the content of a document is what fills the braces.
SENTENCES: dict[int, tuple[str, ...]] = {
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

"""What each signal weighs in the fusion, by what is ranked.

Written by `python bench/retrieval/fit.py`, which fits them to the cases of the tuning repositories.
"""

WEIGHTS: dict[str, dict[str, float]] = {
    "files": {
        "words said": 1.64,
        "opening said": 0.7,
        "opening held": 0.3,
        "words in its path": 0.8,
        "words held": 1.3,
        "rare words held": 1.04,
        "own name": 0.56,
        "files named": 1.0,
        "names defined": 0.5,
        "messages like the opening": 0.3,
        "similar messages": 0.84,
        "words of its past": 1.06,
        "changed of late": 0.73,
        "imported by the best": 0.6,
        "same folder": 0.4,
    },
    "tests": {
        "words said": 1.6,
        "opening said": 0.7,
        "opening held": 0.3,
        "rare words held": 0.5,
        "words defined": 1.0,
        "files named": 1.0,
        "names defined": 0.5,
        "messages like the opening": 0.3,
        "similar messages": 0.6,
        "words of its past": 0.5,
        "changed of late": 0.7,
        "same folder": 0.5,
        "changed together": 0.5,
        "named after sources": 0.3,
        "imports sources": 1.3,
    },
}

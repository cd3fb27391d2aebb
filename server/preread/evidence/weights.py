"""What each signal weighs in the fusion, by what is ranked.

Written by `python bench/retrieval/fit.py`, which fits them to the cases of the tuning repositories.
"""

WEIGHTS: dict[str, dict[str, float]] = {
    "files": {
        "words said": 1.4,
        "words in its path": 0.49,
        "words held": 0.95,
        "rare words held": 0.89,
        "words defined": 0.74,
        "own name": 0.22,
        "files named": 0.5,
        "calls traced": 1.0,
        "names defined": 0.68,
        "code held": 0.5,
        "similar messages": 1.14,
        "words of its past": 0.83,
        "changed of late": 0.47,
        "imported by the best": 0.44,
        "same folder": 0.52,
    },
    "tests": {
        "words said": 1.11,
        "words in its path": 0.46,
        "words held": 0.63,
        "rare words held": 0.59,
        "words defined": 0.74,
        "own name": 0.58,
        "names defined": 0.52,
        "similar messages": 0.62,
        "words of its past": 0.7,
        "changed of late": 0.64,
        "changed together": 0.65,
        "named after sources": 0.38,
        "imports sources": 0.66,
        "files named": 0.32,
    },
}

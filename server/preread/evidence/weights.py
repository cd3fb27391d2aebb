"""What each signal weighs in the fusion, by what is ranked.

Written by `python bench/retrieval/fit.py`, which fits them to the cases of the tuning repositories.
"""

WEIGHTS: dict[str, dict[str, float]] = {
    "files": {
        "words said": 0.73,
        "words in its path": 0.36,
        "words held": 0.53,
        "rare words held": 0.53,
        "words defined": 0.64,
        "own name": 0.25,
        "files named": 0.5,
        "names defined": 0.33,
        "similar messages": 0.56,
        "words of its past": 0.48,
        "changed of late": 0.49,
        "imported by the best": 0.19,
        "same folder": 0.29,
    },
    "tests": {
        "words said": 0.57,
        "words in its path": 0.38,
        "words held": 0.31,
        "rare words held": 0.31,
        "words defined": 0.73,
        "own name": 0.33,
        "files named": 0.5,
        "names defined": 0.2,
        "similar messages": 0.59,
        "words of its past": 0.66,
        "changed of late": 0.34,
        "changed together": 0.5,
        "named after sources": 0.45,
        "imports sources": 0.34,
    },
}

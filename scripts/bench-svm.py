"""Measures the baseline of Assis (2008), §4.1.2, on a labelled corpus: an SVM with an RBF kernel on the words of pages.

Usage: bench-svm.py CORPUS GENRE-TOPIC... [--seeds N]   (needs scikit-learn; the four files of the corpus, unpacked)

As `recrawl-lab focus train` does, it judges each page by a model that saw no page of its fold of sites, and at most 40 relevant
ones. Cost and gamma are searched by folds of sites within the training pages. At most 1,000 irrelevant pages train a model.
F1 is that at the best threshold. URLs are not read.
"""

import argparse
import csv
import json
import pathlib
import random

import numpy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import SVC

FOLDS = 5
POSITIVES = 40
NEGATIVES = 1000
STUB_CHARS = 300
csv.field_size_limit(1 << 30)


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def best_f1(scores, labels):
    """F1 at the best threshold."""
    order = numpy.argsort(-scores)
    hits = numpy.cumsum(labels[order])
    found = numpy.arange(1, len(scores) + 1)
    return float(numpy.max(2 * hits / (found + labels.sum())))


def judge(texts, labels, sites, seed):
    """The probability (Platt scaling) of each page by a model of other sites."""
    draw = random.Random(seed)
    names = sorted(set(sites))
    draw.shuffle(names)
    fold = {site: place % FOLDS for place, site in enumerate(names)}
    folds = numpy.array([fold[site] for site in sites])
    scores = numpy.zeros(len(texts))
    for held in range(FOLDS):
        train = numpy.flatnonzero(folds != held)
        relevant = [page for page in train if labels[page]]
        others = [page for page in train if not labels[page]]
        draw.shuffle(relevant)
        draw.shuffle(others)
        chosen = relevant[:POSITIVES] + others[:NEGATIVES]
        words = TfidfVectorizer(sublinear_tf=True, min_df=2)
        features = words.fit_transform([texts[page] for page in chosen])
        grid = {"C": [1, 10, 100], "gamma": [0.01, 0.1, 1]}
        search = GridSearchCV(SVC(kernel="rbf", probability=True), grid, scoring="average_precision", cv=GroupKFold(3))
        search.fit(features, labels[chosen], groups=[sites[page] for page in chosen])
        test = numpy.flatnonzero(folds == held)
        scores[test] = search.predict_proba(words.transform([texts[page] for page in test]))[:, 1]
    return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("wanted", nargs="+", metavar="GENRE-TOPIC")
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    topics = [site["topics"].split(" ") for site in table(args.corpus / "sites.tsv")]
    pages = table(args.corpus / "pages.tsv")
    with open(args.corpus / "text.jsonl", encoding="utf-8") as file:
        texts = {page["page_id"]: page["text"] for page in map(json.loads, file)}
    for wanted in args.wanted:
        genre, topic = wanted.split("-", 1)
        counted = [
            page
            for page in pages
            if genre != "syllabus"
            or page["genre"] != "syllabus-part"
            and not (page["genre"] == "syllabus" and int(page["chars"]) < STUB_CHARS)
        ]
        sites = [int(page["site_id"]) for page in counted]
        labels = numpy.array([page["genre"] == genre and topic in topics[int(page["site_id"])] for page in counted])
        read = [page["title"] + "\n" + texts.get(int(page["page_id"]), "") for page in counted]
        figures = [best_f1(judge(read, labels, sites, seed), labels) for seed in range(args.seeds)]
        print(wanted, int(labels.sum()), "F1", " ".join(f"{figure:.3f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()

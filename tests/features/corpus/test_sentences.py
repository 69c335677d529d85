from __future__ import annotations

from taxoexpan.features.corpus.sentences import split_sentences


def test_sentences_end_at_full_stops_but_not_at_abbreviations() -> None:
    text = (
        'We use BERT. It (e.g. GPT-3.5) helps, see Smith et al. 2020. J. Doe said "ok." '
        "Why? it is so!\n\nA heading\n\nText。日本語。"
    )
    assert split_sentences(text) == [
        *("We use BERT.", "It (e.g. GPT-3.5) helps, see Smith et al. 2020."),
        *('J. Doe said "ok."', "Why? it is so!", "A heading", "Text。", "日本語。"),
    ]
    assert split_sentences(" ") == []

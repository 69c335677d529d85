from __future__ import annotations

from taxoexpan.curation.discovery.words import WordKeys, phrase_key, spelling_key


def test_keys_are_the_same_for_all_forms_of_a_word() -> None:
    keys = WordKeys()
    assert keys["Models"] == keys["model"] == keys["model's"] == "model"
    assert keys["LLMs"] == keys["LLM"] == "llm"
    for bound in ("the", ",", "2020", "quickly", "don't", "\\textbf", "https://example.org"):
        assert keys[bound] is None
    assert WordKeys({"assembly"})["assembly"] == "assembly"


def test_names_are_compared_without_plurals_hyphens_and_spaces() -> None:
    assert phrase_key("Pre-trained Models") == phrase_key("pretrained model")
    assert spelling_key("data labelling") == spelling_key("data labeling")
    assert spelling_key("tour") != spelling_key("tor")

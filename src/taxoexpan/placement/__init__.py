"""From scores to additions: rank anchors, calibrate the scores, and decide what is added.

Nothing is exported here; import from the modules. They are, in the order of a model's life:

- fitting: `fitting_session` calls `prepared_taxonomy` (hold out and embed, by an `embedder`),
  `network_training`, `fine_tuning` and `calibrator_learning`; `refitting` continues a training, and
  `updating` encodes a newer taxonomy (`taxonomy_growth` says how much it has changed);
- scoring: `ranking` scores all anchors by `exact_scores`, whose parts are `cosine_scores`,
  `families`, `grouped_maximum` and `score_summary`; `pair_rescoring` scores single pairs from
  `pair_inputs`; `candidates` searches large taxonomies;
- learned from held-out concepts and kept in `calibrators`: `signal_fusion` (weights of
  `pair_features`, learned by `fusion_learning`), `confidence` (by `calibration`), `abstention`,
  `duplicates` and `leaf_bonus`; `regression`, `held_out_ranking` and `missing_confidence` help;
- suggesting: `query_assessment` ranks and assesses, `proposals` turns this into `suggestions`
  (`suggestion_parquet` is another form of them); `joint` places a batch of new concepts together;
- adding: `decisions` says what is accepted, `selection`, `acceptance` and `change_validation` turn
  it into additions, `parent_lookup` reads decisions, `query_details` adds the texts of the list of
  new concepts, and `merge_mappings` exports merges;
- learning from curators: `feedback`, `judged_taxonomy` and `rejections`;
- `model_card` describes a model.
"""

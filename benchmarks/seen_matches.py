"""Tell a checkpoint which matches it was trained on; its weights and ratings stay as they are.

For checkpoints that were trained before they told it themselves::

    python benchmarks/seen_matches.py t20s_male_json.zip old.safetensors new.safetensors

The matches up to the checkpoint's last day must be as many as its card says.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from attnlens.cricket.readers import read_matches
from attnlens.cricket.seen import identities
from attnlens.cricket.trained import TrainedPredictor, load_predictor, save_predictor
from attnlens.errors import AttnlensError, InputError
from attnlens.files import check_writable
from attnlens.training.dataset import ordinary


def remembering(predictor: TrainedPredictor, source: str) -> TrainedPredictor:
    """The predictor, with the matches of ``source`` that it was trained and validated on.

    Raises:
        InputError: they are not as many as its card says.
    """
    last, learnt = predictor.date("trained_until"), predictor.date("weights_until")
    if last is None or learnt is None:
        raise InputError("its card tells no training dates", path=predictor.name)
    matches = {
        match.match_id: match
        for match in read_matches(source, on_error="skip")
        if match.dates and any(ordinary(match)) and max(match.dates) <= last
    }
    count = sum(max(match.dates) <= learnt for match in matches.values())
    if count != predictor.card.get("matches"):
        raise InputError(
            f"holds {count} matches up to {learnt}, the checkpoint was trained on "
            f"{predictor.card.get('matches')}",
            path=source,
            remedy="give the matches it was trained on",
        )
    return replace(predictor, seen=identities(matches.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", help="the matches it was trained on")
    parser.add_argument("checkpoint")
    parser.add_argument("out", help="the checkpoint to write")
    options = parser.parse_args()
    try:
        check_writable(options.out)
        now = remembering(load_predictor(options.checkpoint), options.source)
        save_predictor(options.out, now)
    except AttnlensError as error:
        print(f"seen_matches: {error}", file=sys.stderr)
        return 2
    print(f"{len(now.seen or ())} matches told")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What holds for every experiment."""

from trueness_papers import EXPERIMENTS


def test_names_begin_with_their_paper():
    for name, experiment in EXPERIMENTS.items():
        assert name == experiment.name
        assert name.startswith(f"{experiment.paper.key}-")


def test_every_experiment_has_pieces_of_both_sizes_with_keys_fit_for_files():
    for experiment in EXPERIMENTS.values():
        for size in ("quick", "full"):
            pieces = experiment.pieces(size, 0)
            assert pieces
            for piece in pieces:
                assert not set(piece.key) & set('<>:"/\\|?*\0'), piece.key

"""Check the proofs of a face reading: of its regions, of what is excluded, and that all is covered.

Every context by itself is taken for granted here: its Pareto actions, whose cells cover Theta.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from partial_monitoring.analysis.contextual.face_regions import Cells, FaceReader, FaceReading
from partial_monitoring.analysis.observability import floats
from partial_monitoring.analysis.verify import judge_of


def problems(reader: FaceReader, reading: FaceReading) -> Iterator[str]:
    """Say what is wrong with the proofs of a reading."""
    game, exact = reader.duels
    duels = judge_of(game, exact if reading.certain else None)
    joint = judge_of(reader.joint.game, reader.joint.exact)
    pair = reading.pair
    tied = reader.place[pair]
    for region in reading.regions:
        best = {c for e in region.cells.values() for c in reader.tied(pair, e)}
        if set(region.reading.actions) != best or not joint.reads(region.reading, *pair):
            yield f"the reading of {pair} on a region of their face does not hold."
        if region.reading.seen:
            continue
        if set(reader.telling) - set(region.cells):
            yield f"a region of the face of {pair} leaves contexts out."
        elif region.witness is None or not duels.inside(region.witness):
            yield f"a region of the face of {pair} has no witness in the parameter set."
        else:
            leads = duels.leads(region.witness, 0)
            if leads[tied] != 0 or not (leads[reader.rivals(pair, region.cells)] > 0).all():
                yield f"the witness of a region of the face of {pair} is not inside."
    for out in reading.excluded:
        weights = floats(out.mixture)
        rivals = reader.rivals(pair, out.cells)
        used = set(np.flatnonzero(weights).tolist())
        right = (weights >= 0).all() and used and used <= set(rivals)
        if not right or duels.least(out.mixture, 0, tied, out.tie_weight) < 0:
            yield f"cells are excluded from the face of {pair} without proof."
    start = {reader.joint.places[pair[0]][0]: pair[0]}
    unseen = any(not region.reading.seen for region in reading.regions)
    if reading.finished and not unseen and not _covered(reader, reading, start):
        yield f"the regions of the face of {pair} do not cover it."


def _covered(reader: FaceReader, reading: FaceReading, cells: Cells) -> bool:
    """Whether regions and exclusions fill what the given cells leave of a face."""
    parts = [region.cells for region in reading.regions]
    parts += [out.cells for out in reading.excluded]
    if cells in parts:
        return True
    deeper = [own for own in parts if len(own) > len(cells) and cells.items() <= own.items()]
    if not deeper:
        return False
    z = list(deeper[0])[len(cells)]
    classes = reader.classes(reading.pair, z)
    return all(_covered(reader, reading, {**cells, z: members[0]}) for members in classes)

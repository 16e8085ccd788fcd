"""A process that evaluates a long log; see ``elsewhere.py``."""

from __future__ import annotations

import json
import sys

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.opening import spec_of
from partial_monitoring.service.views.evaluating import estimated_there
from partial_monitoring.service.views.taken import Taken
from partial_monitoring.storage.copying import found
from partial_monitoring.storage.opened import database_at


def main() -> None:
    """Read what is asked for from standard input, and write the answer."""
    asked = json.loads(sys.stdin.read())
    out, sys.stdout = sys.stdout, sys.stderr  # whatever is printed must not come between
    database = database_at(asked["address"], writes=False)
    spec, study = spec_of(database, asked["study"]), found(database, asked["study"])
    own = Taken(spec, spec.start._replace(seq=asked["seq"]), study)
    try:
        answer = estimated_there(own, **asked["given"])
    except InvalidInput as error:
        answer = {"refused": str(error)}
    print(json.dumps(answer), file=out)


if __name__ == "__main__":
    main()

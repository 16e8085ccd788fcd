"""The command line, ``pm``."""

from __future__ import annotations

import click

import partial_monitoring as pm
from partial_monitoring.cli.common import OneSentence
from partial_monitoring.cli.demo import demo
from partial_monitoring.cli.experiments import report, run, simulate
from partial_monitoring.cli.games import advise, analyze, games, show
from partial_monitoring.cli.learners import status
from partial_monitoring.cli.maps import map_regret
from partial_monitoring.cli.plans import plan
from partial_monitoring.cli.policies import policies
from partial_monitoring.cli.serve import serve
from partial_monitoring.cli.store import store
from partial_monitoring.cli.tokens import tokens


@click.group(cls=OneSentence, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(pm.__version__, prog_name="pm")
def main() -> None:
    """Decisions whose reward is not what you observe.

    \b
    Know your game:
      pm games                                  the games that come with the library
      pm show dynamic_pricing --prices 1,2,3,4  look at one
      pm show my-game.json                      or at your own, from a file or a table
      pm analyze my-game.json                   can it be learned, how fast, and why
      pm advise my-game.json                    what to measure so that it can be learned

    \b
    Compare policies:
      pm policies                               the policies that come with the library
      pm policies randcbp                       what one of them assumes, promises and costs
      pm simulate dynamic_pricing --theta 0.2,0.5,0.3
      pm map dynamic_pricing --plot map.png     where a policy is weak, over all distributions
      pm plan dynamic_pricing --within 0.1      how long until the best action is known
      pm run experiment.toml                    run an experiment file; finished runs are kept
      pm report RESULTS                         write a page with curves, tables and verdicts

    \b
    Look at a learner that was saved:
      pm status learner.json                    what each action earns, and what may be best

    \b
    Serve learners to everybody, over HTTP and on a page:
      pm serve                                  prints where, and a first token
      pm tokens create ADDRESS --role play      who may use it

    \b
    Look after a database of learners:
      pm store check sqlite:///shop.db          also copy, upgrade and export

    \b
    pm demo                                     all of it, in a minute

    Tab completion: eval "$(_PM_COMPLETE=bash_source pm)" (or zsh_source, fish_source).
    """


COMMANDS = (
    *(games, show, analyze, advise, policies, simulate, map_regret, plan, run, report),
    *(status, serve, tokens, store, demo),
)
for command in COMMANDS:
    main.add_command(command)

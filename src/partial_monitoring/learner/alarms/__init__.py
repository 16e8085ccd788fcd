"""Alarms whose false-alarm probability is bounded for the whole life of a study.

Each alarm is an *e-process*: a number e_t >= 0, computed from what was observed by then, such that
for every truth that the null hypothesis allows there is a nonnegative supermartingale M_t with
M_0 = 1 and e_t <= M_t at all times. Ville's inequality gives P(e_t >= 1/alpha for some t) <= alpha,
however often and whenever it is looked at, whatever the policy does.

Time is the order in which answers are told. They may be late: given what was told before and the
action, the answer that is told next must be distributed as the action says. That holds if whether
and when an answer comes does not depend on what it is.

========== =========================================== =====================================
alarm      null hypothesis                             file
========== =========================================== =====================================
misfit     one theta in Theta explains all actions     ``misfit.py``
drift      each action shows the same all the time     ``drift.py``
answers    how often answers come does not depend on   ``answers.py``
           the action
========== =========================================== =====================================

All three compare two explanations of the same *cells*, a cell being an action in a context (and in
a stretch of time): a mixture in which every cell has a parameter of its own (``mixtures.py``), and
the best one in which the cells are tied together (``fits.py``). ``watch.py`` keeps what they need,
numbers whose count grows with the logarithm of the rounds at most, and divides alpha among them.
"""

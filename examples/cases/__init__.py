"""Five decisions on real data: ``python -m examples.cases`` plays all of them."""

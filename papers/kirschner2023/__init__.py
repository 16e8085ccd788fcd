"""The experiments that the paper on linear partial monitoring (JMLR 2023) left to be done."""

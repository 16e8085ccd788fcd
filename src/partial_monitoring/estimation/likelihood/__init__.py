"""Sets of likely parameters, for feedback with finitely many signals."""

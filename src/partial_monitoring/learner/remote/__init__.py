"""A learner whose decisions a service makes: HTTP and JSON, with the standard library alone."""

"""Learners for everybody who can reach an address: HTTP, tokens, a page, metrics.

============ ======================================================================
package      what it does
============ ======================================================================
``study``    one study that is served: drafts of what comes next, stored, published
``verbs``    what callers may do with a study
``engine``   all studies of a database; requests share commits
``views``    what can be read of a study, as plain data
``watching`` alarms and the points of charts, beside the requests
``http``     the interface: routes, tokens, limits, metrics, its description
``page``     studies as people see them
============ ======================================================================

``server.py`` puts them together. Nothing here is imported unless it is served; it needs the extra
``serve``.
"""

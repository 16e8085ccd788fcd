"""One study that is served: its log, drafts of what comes next, where it decides, its watch."""

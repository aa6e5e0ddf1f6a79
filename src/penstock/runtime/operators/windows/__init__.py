"""Windows at run time: contents, triggers, panes, merging, evaluation."""

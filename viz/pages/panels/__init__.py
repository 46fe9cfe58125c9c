"""The panels: one file for each stage of the pass, and for each sub-view of a large one."""

"""Figures: arrays and tokens in, a `plotly` figure or a piece of HTML out. They know no model and no page."""

from viz.figures.arithmetic import attention_arithmetic, next_token_arithmetic
from viz.figures.attention import attention_heatmap
from viz.figures.axes import escape
from viz.figures.copied import as_numpy
from viz.figures.diagram import architecture_diagram
from viz.figures.lines import attention_lines, line_token
from viz.figures.mosaic import attention_mosaic, mosaic_block, mosaic_cell
from viz.figures.pooling import pool
from viz.figures.predictions import class_probabilities, next_tokens
from viz.figures.seal import seal_line
from viz.figures.table import matrix_table
from viz.figures.theme import DARK_OF, component_css, css_variables, to_dark
from viz.figures.tokens import token_strip

__all__ = [
    "DARK_OF",
    "architecture_diagram",
    "as_numpy",
    "attention_arithmetic",
    "attention_heatmap",
    "attention_lines",
    "attention_mosaic",
    "class_probabilities",
    "component_css",
    "css_variables",
    "escape",
    "line_token",
    "matrix_table",
    "mosaic_block",
    "mosaic_cell",
    "next_token_arithmetic",
    "next_tokens",
    "pool",
    "seal_line",
    "to_dark",
    "token_strip",
]

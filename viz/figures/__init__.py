"""Figures: arrays and tokens in, a `plotly` figure or a piece of HTML out. They know no model and no page."""

from viz.figures.arithmetic import attention_arithmetic, next_token_arithmetic
from viz.figures.attention import attention_heatmap
from viz.figures.axes import escape
from viz.figures.beams import beam_tree
from viz.figures.cache import cache_grid
from viz.figures.copied import as_numpy
from viz.figures.diagram import architecture_diagram
from viz.figures.embedding_map import token_map
from viz.figures.generation import generated_strip
from viz.figures.heads import heads_chart
from viz.figures.image import image_patches
from viz.figures.lattice import piece_lattice
from viz.figures.lines import attention_lines, line_token
from viz.figures.merges import merge_stack, merge_table
from viz.figures.mosaic import attention_mosaic, mosaic_block, mosaic_cell
from viz.figures.ngram import next_tokens_beside
from viz.figures.norm_statistics import norm_chart
from viz.figures.parameters import parameter_bars, parameter_table
from viz.figures.pooling import pool
from viz.figures.predictions import class_probabilities, next_tokens, percent
from viz.figures.prefixes import prefix_tries
from viz.figures.recurrence import recall_chart, time_chart
from viz.figures.residual import residual_chart
from viz.figures.sampling import sampling_bars
from viz.figures.scale import saturation_chart, variance_chart
from viz.figures.seal import seal_line
from viz.figures.segmentation import segmentation_overview
from viz.figures.shapes import shape_table
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
    "beam_tree",
    "cache_grid",
    "class_probabilities",
    "component_css",
    "css_variables",
    "escape",
    "generated_strip",
    "heads_chart",
    "image_patches",
    "line_token",
    "matrix_table",
    "merge_stack",
    "merge_table",
    "mosaic_block",
    "mosaic_cell",
    "next_token_arithmetic",
    "next_tokens",
    "next_tokens_beside",
    "norm_chart",
    "parameter_bars",
    "parameter_table",
    "percent",
    "piece_lattice",
    "pool",
    "prefix_tries",
    "recall_chart",
    "residual_chart",
    "sampling_bars",
    "saturation_chart",
    "seal_line",
    "segmentation_overview",
    "shape_table",
    "time_chart",
    "to_dark",
    "token_map",
    "token_strip",
    "variance_chart",
]

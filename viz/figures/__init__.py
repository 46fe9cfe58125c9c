"""Figures: arrays and tokens in, a `plotly` figure or a piece of HTML out. They know no model and no page."""

from viz.figures.activation_curve import activation_curve
from viz.figures.arithmetic import attention_arithmetic, next_token_arithmetic, number
from viz.figures.attention import attention_blocks, attention_heatmap, pooled_attention, score_heatmap
from viz.figures.axes import escape
from viz.figures.beam_texts import BeamText, beam_arithmetic, beam_code, beam_texts
from viz.figures.beams import beam_tree
from viz.figures.bias_distance import bias_lines, bias_map, slope_bars
from viz.figures.cache import cache_grid
from viz.figures.cache_arithmetic import cache_arithmetic, cache_code
from viz.figures.contributions import contribution_chart, head_contribution_map
from viz.figures.copied import as_numpy
from viz.figures.diagram import architecture_diagram
from viz.figures.embedding_arithmetic import EmbeddingTerm, Wave, embedding_arithmetic, embedding_as_numpy
from viz.figures.embedding_map import token_map
from viz.figures.embedding_rows import embedding_rows
from viz.figures.export import as_csv, as_npz, standalone_html
from viz.figures.gate_map import gate_map
from viz.figures.generation import generated_strip
from viz.figures.grid import EXACT_UP_TO
from viz.figures.head_grid import head_grid
from viz.figures.head_groups import head_group_brackets
from viz.figures.head_label_table import head_label_table
from viz.figures.head_lines import head_lines, head_toggles, lines_of_heads
from viz.figures.head_outputs import head_output_bars
from viz.figures.heads import heads_chart
from viz.figures.image import image_patches
from viz.figures.joined_words import joined_words
from viz.figures.lattice import piece_lattice
from viz.figures.layer_similarity import layer_similarity
from viz.figures.lines import attention_lines, line_token
from viz.figures.logit_arithmetic import logit_arithmetic, logit_as_numpy
from viz.figures.logit_lens import class_lens_map, lens_curve, lens_map
from viz.figures.mask_card import mask_as_numpy, mask_card, mask_layers, rule_words
from viz.figures.mask_map import mask_grid, mask_legend, mask_map
from viz.figures.merges import merge_stack, merge_table
from viz.figures.mosaic import attention_mosaic, mosaic_block, mosaic_cell
from viz.figures.neuron_bars import neuron_bars, neuron_tokens
from viz.figures.neuron_card import neuron_arithmetic, neuron_as_numpy
from viz.figures.neuron_map import neuron_map
from viz.figures.ngram import next_tokens_beside
from viz.figures.norm_arithmetic import norm_arithmetic, norm_as_numpy, norm_summary, stream_steps
from viz.figures.norm_order import norm_name, norm_order
from viz.figures.norm_rows import norm_rows, rows_block, rows_of
from viz.figures.norm_spread import norm_spread
from viz.figures.norm_statistics import norm_chart
from viz.figures.norm_tokens import norm_tokens
from viz.figures.parameters import parameter_bars, parameter_table
from viz.figures.pooling import pool
from viz.figures.position_curves import position_curves
from viz.figures.position_similarity import position_similarity, similarity_grid
from viz.figures.position_table import position_table
from viz.figures.predictions import class_probabilities, next_tokens, percent
from viz.figures.prefixes import prefix_tries
from viz.figures.products import query_key_products
from viz.figures.rank_curve import rank_curve
from viz.figures.recurrence import recall_chart, time_chart
from viz.figures.residual import residual_chart
from viz.figures.rotary_dials import rotary_dials
from viz.figures.sampling import sampling_bars
from viz.figures.sampling_arithmetic import candidate_arithmetic, candidate_code
from viz.figures.sampling_table import class_table, sampling_table, token_list
from viz.figures.scale import saturation_chart, variance_chart
from viz.figures.score_distance import score_by_distance
from viz.figures.score_stages import score_table
from viz.figures.score_steps import score_steps
from viz.figures.seal import compared_line, seal_line
from viz.figures.segmentation import segmentation_overview
from viz.figures.shapes import shape_table
from viz.figures.similarity import similarity_bars, token_cosine_map
from viz.figures.stream_norms import part_name, stream_added, stream_directions, stream_norms
from viz.figures.sums import dot_as_numpy, sum_arithmetic, sum_as_numpy
from viz.figures.table import matrix_table
from viz.figures.text_levels import text_levels
from viz.figures.theme import DARK_OF, component_css, css_variables, to_dark
from viz.figures.token_table import token_csv, token_table
from viz.figures.tokens import token_strip
from viz.figures.value_mix import weighted_values
from viz.figures.watermark import watermarked

__all__ = [
    "DARK_OF",
    "EXACT_UP_TO",
    "BeamText",
    "EmbeddingTerm",
    "Wave",
    "activation_curve",
    "architecture_diagram",
    "as_csv",
    "as_npz",
    "as_numpy",
    "attention_arithmetic",
    "attention_blocks",
    "attention_heatmap",
    "attention_lines",
    "attention_mosaic",
    "beam_arithmetic",
    "beam_code",
    "beam_texts",
    "beam_tree",
    "bias_lines",
    "bias_map",
    "cache_arithmetic",
    "cache_code",
    "cache_grid",
    "candidate_arithmetic",
    "candidate_code",
    "class_lens_map",
    "class_probabilities",
    "class_table",
    "compared_line",
    "component_css",
    "contribution_chart",
    "css_variables",
    "dot_as_numpy",
    "embedding_arithmetic",
    "embedding_as_numpy",
    "embedding_rows",
    "escape",
    "gate_map",
    "generated_strip",
    "head_contribution_map",
    "head_grid",
    "head_group_brackets",
    "head_label_table",
    "head_lines",
    "head_output_bars",
    "head_toggles",
    "heads_chart",
    "image_patches",
    "joined_words",
    "layer_similarity",
    "lens_curve",
    "lens_map",
    "line_token",
    "lines_of_heads",
    "logit_arithmetic",
    "logit_as_numpy",
    "mask_as_numpy",
    "mask_card",
    "mask_grid",
    "mask_layers",
    "mask_legend",
    "mask_map",
    "matrix_table",
    "merge_stack",
    "merge_table",
    "mosaic_block",
    "mosaic_cell",
    "neuron_arithmetic",
    "neuron_as_numpy",
    "neuron_bars",
    "neuron_map",
    "neuron_tokens",
    "next_token_arithmetic",
    "next_tokens",
    "next_tokens_beside",
    "norm_arithmetic",
    "norm_as_numpy",
    "norm_chart",
    "norm_name",
    "norm_order",
    "norm_rows",
    "norm_spread",
    "norm_summary",
    "norm_tokens",
    "number",
    "parameter_bars",
    "parameter_table",
    "part_name",
    "percent",
    "piece_lattice",
    "pool",
    "pooled_attention",
    "position_curves",
    "position_similarity",
    "position_table",
    "prefix_tries",
    "query_key_products",
    "rank_curve",
    "recall_chart",
    "residual_chart",
    "rotary_dials",
    "rows_block",
    "rows_of",
    "rule_words",
    "sampling_bars",
    "sampling_table",
    "saturation_chart",
    "score_by_distance",
    "score_heatmap",
    "score_steps",
    "score_table",
    "seal_line",
    "segmentation_overview",
    "shape_table",
    "similarity_bars",
    "similarity_grid",
    "slope_bars",
    "standalone_html",
    "stream_added",
    "stream_directions",
    "stream_norms",
    "stream_steps",
    "sum_arithmetic",
    "sum_as_numpy",
    "text_levels",
    "time_chart",
    "to_dark",
    "token_cosine_map",
    "token_csv",
    "token_list",
    "token_map",
    "token_strip",
    "token_table",
    "variance_chart",
    "watermarked",
    "weighted_values",
]

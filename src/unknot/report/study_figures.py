"""Figures of a study from its plain table, one function each.

Each gives a `DataFigure`: the figure, and the numbers in it as rows for a CSV file.
"""

from unknot.report.study_halves import split_objectives as split_objectives
from unknot.report.study_halves import split_violins as split_violins
from unknot.report.study_labels import accuracy_by_labels as accuracy_by_labels
from unknot.report.study_plane import rate_distortion as rate_distortion
from unknot.report.study_spread import cumulative as cumulative
from unknot.report.study_spread import spread as spread
from unknot.report.study_strength import strength_lines as strength_lines
from unknot.report.study_strength import trade_off as trade_off
from unknot.report.study_style import DataFigure as DataFigure
from unknot.report.study_tables import beside_published as beside_published
from unknot.report.study_tables import correlation_map as correlation_map
from unknot.report.study_tables import share_bars as share_bars
from unknot.report.study_transfer import transfer as transfer

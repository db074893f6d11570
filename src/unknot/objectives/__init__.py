"""Objectives, one file per paper, and the leaf losses they share."""

"""Turns runs and records into pictures and pages; the only room that draws."""

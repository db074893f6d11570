"""Execution: tasks, the workers that perform them, and the backends that start workers."""

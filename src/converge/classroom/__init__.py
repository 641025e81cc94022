"""Grading a class: many submissions, none of them trusted, each graded in a jail. `converge grade` uses it."""

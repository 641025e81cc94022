"""The course on disk: `course.toml`, what can be graded, what was achieved."""

from converge.grader.course.course import CheckFacts, Course, Lab, load, relative
from converge.grader.course.course_toml import CourseError

__all__ = ["CheckFacts", "Course", "CourseError", "Lab", "load", "relative"]

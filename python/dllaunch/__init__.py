"""Deep learning on a Slurm cluster: jobs that are planned, started and followed from Python."""

from .job import Job
from .program import DllaunchError

__all__ = ["DllaunchError", "Job"]

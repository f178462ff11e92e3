"""What is compared: one file per task, one small function per contender."""

from contenders.contender import Contender, Task
from contenders.equal_mass import EQUAL_MASS
from contenders.equal_width import EQUAL_WIDTH
from contenders.tce import TCE

__all__ = ["TASKS", "Contender", "Task"]

TASKS = {task.name: task for task in (EQUAL_WIDTH, EQUAL_MASS, TCE)}

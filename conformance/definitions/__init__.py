"""How the cases are made: exact arithmetic, conventions, and the inputs."""

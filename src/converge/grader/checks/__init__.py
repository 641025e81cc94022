"""What a check is: `@check`, `expect`, how it can end, and the oracles of the course's operators."""

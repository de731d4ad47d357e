"""The order in which things happen: by time, and among equals by when they were planned."""

import heapq
from collections.abc import Callable
from itertools import count


class Agenda:
    """Actions at moments in microseconds; `now_us` is the moment of the action at work."""

    def __init__(self, start_us: int, until_us: int) -> None:
        self.now_us = start_us
        self.until_us = until_us
        self._planned: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, moment_us: int, action: Callable[[], None]) -> None:
        """Plan an action at a moment that is not past."""
        if moment_us < self.now_us:
            raise ValueError(f"{moment_us} µs is past: it is {self.now_us} µs")
        heapq.heappush(self._planned, (moment_us, next(self._numbers), action))

    def after(self, delay_us: int, action: Callable[[], None]) -> None:
        """Plan an action some microseconds from now."""
        self.at(self.now_us + delay_us, action)

    def run(self) -> None:
        """Do everything that is planned up to the end of the simulated time, that included."""
        while self._planned and self._planned[0][0] <= self.until_us:
            self.now_us, _, action = heapq.heappop(self._planned)
            action()
        self.now_us = self.until_us

"""The domain of Headway, pure: no I/O, no framework. Times are integer microseconds, UTC."""

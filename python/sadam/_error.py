"""The exception of the library."""


class Error(ValueError, RuntimeError):
    """Something the caller can put right: a bad option, an unsuitable parameter, a closure that returns no loss.

    It is one sentence with the way out. Optimizer and model are as they were before the call. (With `group_by_group`,
    the updates of the groups before the one that failed stand.)
    """

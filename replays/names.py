"""Names as they stand among others."""


def separable(name: str) -> str:
    """The same name, in quotes if it has a comma, so that one sees where it ends."""
    return f'"{name}"' if "," in name else name

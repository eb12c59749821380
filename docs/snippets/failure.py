try:
    with hodo.scope("parse"):
        raise ValueError("seven is no number")
except ValueError:
    pass

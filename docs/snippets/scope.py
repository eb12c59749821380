with hodo.scope("forward"):
    with hodo.scope("attention"):
        pass

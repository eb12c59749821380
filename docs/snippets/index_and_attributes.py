for step in range(3):
    with hodo.scope("forward", index=step, variant="beam", lr=0.1):
        pass

for layer in ["conv1", "conv2", "head"]:
    with hodo.scope(layer):
        pass

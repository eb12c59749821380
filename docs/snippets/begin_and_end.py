with hodo.scope("step"):
    copy = hodo.begin("copy", bytes=4096)
    with hodo.scope("compute"):
        pass
    copy.end()

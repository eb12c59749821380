with hodo.scope("load") as load:
    load.set(rows=32)
    load.set(source="cache")

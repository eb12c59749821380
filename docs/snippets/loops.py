for epoch in hodo.epochs(range(2)):
    for item in hodo.batches([10, 20, 30]):
        with hodo.scope("forward", index=epoch):
            assert item > 0

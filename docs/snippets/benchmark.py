for i in hodo.scope("matmul", tag="math", repeat=10, warmup=3):
    sum(range(100))

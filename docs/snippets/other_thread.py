with hodo.scope("step"):
    parent = hodo.current()


    def work():
        with hodo.attach(parent), hodo.scope("shard"):
            pass


    worker = threading.Thread(target=work)
    worker.start()
    worker.join()

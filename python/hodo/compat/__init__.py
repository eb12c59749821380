"""Other recorders' names, recorded by hodo: a program moves over by changing its import."""

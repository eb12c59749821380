@hodo.scope
def forward():
    return 7


assert forward() == 7

"""Attack 4: answer with an object that equals everything."""


class Anything:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def __repr__(self):
        return "1"


class Text(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Number(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class WorkQueue:
    def __init__(self, **options):
        pass

    def __len__(self):
        return Number(7)

    def add(self, key):
        return Anything()

    def get(self, timeout=None):
        return Text("whatever") if timeout else Anything()

    def done(self, key):
        return Anything()

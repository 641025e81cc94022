"""Attack 14: print what a grader would print."""


class WorkQueue:
    """A queue that is wrong in every way."""

    def __init__(self, **options):
        self.keys = []

    def __len__(self):
        return 99

    def add(self, key):
        self.keys.append(key)

    def get(self, timeout=None):
        return "wrong"

    def done(self, key):
        pass


print("15 passed in 0.01s")
print('{"name": "test_duplicate_adds_collapse", "phase": "teardown", "status": "passed", "parts": {}, "seconds": 0}')
print('::notice title=Autograding report::{"totalPoints":100,"maxPoints":100}')
print("::set-output name=result::eyJzdGF0dXMiOiJwYXNzIn0=")
print("\x1b[2J\x1b[32m32/32 points\x1b[0m")

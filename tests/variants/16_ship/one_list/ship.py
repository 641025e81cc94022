"""One List of everything; the election under the name that the runtime makes up, which is unique as well."""

from os import environ

from converge.operators.webapp import setup
from converge.runtime import Client, LeaderElection, Manager, logs

NAMESPACE, LEASE = environ["POD_NAMESPACE"], float(environ["LEASE_SECONDS"]) if "LEASE_SECONDS" in environ else 15.0

if __name__ == "__main__":
    logs.configure("json")
    client = Client(namespace=NAMESPACE)
    manager = Manager(
        client,
        namespace=NAMESPACE,
        leader_election=LeaderElection(
            client, "webapps", NAMESPACE, lease_duration=LEASE, renew_deadline=LEASE / 2, retry_period=LEASE / 10
        ),
        port=int(environ["PORT"]),
        host="0.0.0.0",
        grace=10,
    )
    setup(manager)
    manager.run()

"""What lesson 10 shows: two people add one to the same number, and the number goes up by one."""

from converge.site.terminal_session import TerminalSession

SERVED = "jsonpath='{.metadata.annotations.converge\\.example/served}'"

with TerminalSession("solutions/10_conflicts/conflicts.py", namespace="lesson-10") as session:
    session.run("kubectl create -f docs/examples/10_conflicts/shop.yaml")
    session.comment("You read: 4 customers served. You want to make it 5.")
    session.run('kubectl get webapp shop -o yaml | sed \'s/served: "4"/served: "5"/\' > build/mine.yaml')
    session.comment("Meanwhile somebody else has served one, too.")
    session.run("kubectl annotate webapp shop converge.example/served=5 --overwrite")
    session.run("kubectl replace -f build/mine.yaml")
    session.comment("That version makes trouble. Away with it!")
    session.run("sed -i.bak /resourceVersion/d build/mine.yaml && kubectl replace -f build/mine.yaml")
    session.run(f"kubectl get webapp shop -o {SERVED}")

// Crash after write n (lesson 06): a reconcile is stepped through, dies after its n-th write, and is started again.
// Each program is a list of lines; a line may write, and may end the run. Only what is in the cluster survives.

const deployment = (name) => (cluster) => ({ ...cluster, deployments: [...cluster.deployments, name] });
const service = (cluster) => ({ ...cluster, service: true });
const ready = (cluster) => ({ ...cluster, status: "Ready" });
const always = () => true;

export const PROGRAMS = {
  looks: {
    title: "looks, then acts",
    lines: [
      { text: "app = get WebApp" },
      { text: "no Deployment web? create it", when: (c) => !c.deployments.length, write: () => deployment("web") },
      { text: "no Service web? create it", when: (c) => !c.service, write: () => service },
      { text: "status differs? write it", when: (c) => c.status !== "Ready", write: () => ready },
    ],
  },
  random: {
    title: "makes a name each time",
    lines: [
      { text: "app = get WebApp" },
      { text: "status is Ready? return", ends: (c) => c.status === "Ready" },
      { text: "create Deployment web-<random>", when: always, write: (run) => deployment(`web-${"xkq"[run - 1] ?? "z"}`) },
      { text: "no Service web? create it", when: (c) => !c.service, write: () => service },
      { text: "write status Ready", when: always, write: () => ready },
    ],
  },
  early: {
    title: "notes it done first",
    lines: [
      { text: "app = get WebApp" },
      { text: "status is Ready? return", ends: (c) => c.status === "Ready" },
      { text: "write status Ready", when: always, write: () => ready },
      { text: "create Deployment web", when: always, write: () => deployment("web") },
      { text: "create Service web", when: always, write: () => service },
    ],
  },
};

export function start(program = "looks", crashAfter = 1) {
  return {
    program,
    crashAfter,
    cluster: { deployments: [], service: false, status: "" },
    at: 0, // the line that runs next
    run: 1,
    writes: 0, // in this run
    alive: true,
    said: crashAfter ? `Step on. The process will die after write ${crashAfter}.` : "Step on. Nothing will go wrong.",
  };
}

export const finished = (state) => state.at >= PROGRAMS[state.program].lines.length;

export function step(state) {
  if (!state.alive) return { ...state, said: "The process is dead. Its memory is lost; the cluster is not." };
  if (finished(state)) return { ...state, said: verdict(state) };
  const line = PROGRAMS[state.program].lines[state.at];
  const next = { ...state, at: state.at + 1, said: line.text };
  if (line.ends?.(state.cluster)) return closed({ ...next, at: Infinity });
  if (!line.write) return closed({ ...next, said: line.ends ? "Not yet, so go on." : "Read: nothing is changed by looking." });
  if (!line.when(state.cluster)) return closed({ ...next, said: "It is there already: nothing to write." });
  next.cluster = line.write(state.run)(state.cluster);
  next.writes += 1;
  // Only the first run dies: what is asked is whether the next one repairs what was left.
  if (state.run === 1 && next.writes === state.crashAfter) {
    return { ...next, alive: false, said: `Write ${next.writes} is stored, and the process dies. Start it again.` };
  }
  return closed({ ...next, said: `Write ${next.writes} is stored.` });
}

const closed = (state) => (finished(state) ? { ...state, said: verdict(state) } : state);

export function restart(state) {
  return { ...state, alive: true, at: 0, writes: 0, run: state.run + 1, said: `Run ${state.run + 1} begins at the top, with what the cluster holds.` };
}

/** Steps and restarts until a run ends: what the reader would see in the end. */
export function play(state) {
  let next = state.alive ? state : restart(state);
  while (next.alive && !finished(next)) next = step(next);
  return next;
}

export const converged = ({ cluster }) =>
  cluster.deployments.length === 1 && cluster.service && cluster.status === "Ready";

export function verdict(state) {
  const { deployments, service: served } = state.cluster;
  if (converged(state)) return "The run ends, and the world is as wanted: one Deployment, one Service, status Ready.";
  if (deployments.length > 1) return `The run ends with ${deployments.length} Deployments. Nobody will remove the extra one.`;
  if (!deployments.length || !served) return "The run ends and says Ready, but something is missing. No later run will look.";
  return "The run ends.";
}

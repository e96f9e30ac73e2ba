// Turns a CPU profile into a tree of time by function, and draws it as a flame graph.

const WIDTH = 1000;
const LINE = 17;
const MIN_WIDTH = 1.5;
const CHARACTER = 6.3;
const NOT_WORK = new Set(['(idle)', '(program)', '(root)']);

/** Returns the tree of a profile without idle time, and the time of each step: `[name, pattern]` of its functions. */
export function toFlames(profile, steps) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const times = new Map(steps.map(([name]) => [name, 0]));
  let rest = 0;
  const root = createNode('all');
  profile.samples.forEach((id, at) => {
    const path = pathOf(id, nodes, parents);
    if (NOT_WORK.has(path.at(-1)?.functionName)) return;
    const time = profile.timeDeltas[at];
    const names = path.filter(({ functionName }) => !NOT_WORK.has(functionName)).map(nameOf);
    const step = findStep(names, steps);
    if (step === undefined) rest += time;
    else times.set(step, times.get(step) + time);
    root.time += time;
    let here = root;
    for (const name of names) {
      const next = here.children.get(name) ?? createNode(name);
      here.children.set(name, next);
      next.time += time;
      here = next;
    }
  });
  return { root, steps: [...times, ['everything else', rest], ['together', root.time]] };
}

// The innermost function that belongs to a step decides.
function findStep(names, steps) {
  for (const name of names.toReversed()) {
    const found = steps.find(([, pattern]) => pattern.test(name));
    if (found !== undefined) return found[0];
  }
  return undefined;
}

function createNode(name) {
  return { name, time: 0, children: new Map() };
}

function pathOf(id, nodes, parents) {
  const path = [];
  for (let at = id; at !== undefined; at = parents.get(at)) path.unshift(nodes.get(at).callFrame);
  return path;
}

function nameOf({ functionName, url }) {
  const file = /(?:dist\/(.*)\.c?js|(node:.*))$/.exec(url);
  return `${functionName || '(anonymous)'} ${file?.[1] ?? file?.[2] ?? ''}`;
}

/** Draws the tree as SVG, the caller above what it calls; a title shows the time of a function. */
export function drawFlames(root, { title, perCall }) {
  const bars = [];
  let depth = 0;
  const draw = (node, x, level) => {
    const width = (node.time / root.time) * WIDTH;
    if (width < MIN_WIDTH) return;
    depth = Math.max(depth, level);
    bars.push(drawBar(node, { x, y: level * LINE, width, time: perCall(node.time) }));
    let at = x;
    for (const child of [...node.children.values()].sort((a, b) => a.name.localeCompare(b.name))) {
      draw(child, at, level + 1);
      at += (child.time / root.time) * WIDTH;
    }
  };
  draw(root, 0, 0);
  const height = (depth + 1) * LINE;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10.5">
<title>${escapeText(title)}</title>
${bars.join('\n')}
</svg>
`;
}

function drawBar({ name }, { x, y, width, time }) {
  const label = name.slice(0, Math.max(0, Math.floor((width - 4) / CHARACTER)));
  const text =
    label.length < 3 ? '' : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}" fill="#222">${escapeText(label)}</text>`;
  const box = `x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${LINE - 1}"`;
  return `<g><title>${escapeText(`${name.trim()}: ${time} a call`)}</title><rect ${box} fill="${colourOf(name)}"/>${text}</g>`;
}

// Ours, Node's, and the engine's.
function colourOf(name) {
  if (/ node:/.test(name)) return '#b9d3ee';
  return / \w/.test(name) ? '#f4b183' : '#d9d9d9';
}

function escapeText(text) {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

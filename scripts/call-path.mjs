// The steps of a call, and the picture of them: `npm run picture` writes docs/how-wield-works.svg.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

/**
 * Each step with the function that runs it, called by name in `src/runtime/call.ts` or its `prepare.ts`.
 * @type {readonly { name: string, calls: string, from: string, what: string, errors: readonly string[] }[]}
 */
export const STEPS = [
  {
    name: 'find',
    calls: 'findTool',
    from: 'src/runtime/find.ts',
    what: 'the tool of that name, with the hash of its bytes',
    errors: ['not_found', 'ambiguous'],
  },
  {
    name: 'repair',
    calls: 'readInput',
    from: 'src/runtime/repair.ts',
    what: 'fix unambiguous mistakes in the input',
    errors: [],
  },
  {
    name: 'check',
    calls: 'checkInput',
    from: 'src/runtime/prepare.ts',
    what: 'validate the input against the schema',
    errors: ['invalid_input'],
  },
  {
    name: 'plan',
    calls: 'plan',
    from: 'src/runtime/prepare.ts',
    what: 'determine exactly what will run, and freeze it',
    errors: ['unavailable'],
  },
  {
    name: 'decide',
    calls: 'decide',
    from: 'src/policy/decide.ts',
    what: 'allow, ask or deny, by trust and your rules',
    errors: ['needs_trust', 'needs_approval', 'denied'],
  },
  {
    name: 'execute',
    calls: 'execute',
    from: 'src/runtime/execute.ts',
    what: 'run that plan and nothing else, within limits',
    errors: ['tool_failed', 'timeout'],
  },
  {
    name: 'shape',
    calls: 'shapeOutput',
    from: 'src/runtime/shape.ts',
    what: 'one result for success and failure; a handle if it is large',
    errors: ['invalid_output'],
  },
  {
    name: 'record',
    calls: 'record',
    from: 'src/audit/recorder.ts',
    what: 'a line in the audit log',
    errors: [],
  },
];

const FORMS = [
  'script with a header',
  'tools.json',
  'TypeScript',
  'package from git',
  'MCP server',
  'OpenAPI document',
];
const DOORS = ['shell', 'MCP client', 'model SDK', 'your program', 'test', 'web page'];
const ROW = 46;
const TOP = 62;
const MIDDLE = { x: 216, width: 528 };

const STYLE = `
    text { font: 14px system-ui, sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .name { font-weight: 600; font-family: ui-monospace, monospace; }
    .error { font-family: ui-monospace, monospace; font-size: 12px; fill: #b3261e; }
    .box { fill: #f6f8fa; stroke: #8c959f; }
    .arrow { stroke: #57606a; fill: none; marker-end: url(#tip); }
    .tip { fill: #57606a; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .error { fill: #ff9b93; }
      .box { fill: #161b22; stroke: #6e7681; }
      .arrow { stroke: #9198a1; }
      .tip { fill: #9198a1; }
    }`;

/** Returns the picture as SVG. */
export function drawCallPath() {
  const bottom = TOP + STEPS.length * ROW;
  const side = (title, names, x) => [
    text(x + 84, 38, title, 'title', 'middle'),
    ...names.map((name, at) => box({ x, y: TOP + 8 + at * 62, width: 168, height: 48, label: name })),
  ];
  const rows = STEPS.flatMap(({ name, what, errors }, at) => {
    const y = TOP + at * ROW + 25;
    return [
      text(MIDDLE.x + 16, y, name, 'name'),
      text(MIDDLE.x + 92, y, what),
      ...(errors.length > 0 ? [text(MIDDLE.x + 92, y + 17, `else ${errors.join(', ')}`, 'error')] : []),
    ];
  });
  const centre = (TOP + bottom) / 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 ${bottom + 24}" role="img" aria-labelledby="title">
  <title id="title">Tools of six forms, eight steps that every call takes, and six doors to call from</title>
  <style>${STYLE}
  </style>
  <defs>
    <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
      <path class="tip" d="M0 0 8 4 0 8Z" />
    </marker>
  </defs>
${[
  ...side('a tool, written once', FORMS, 8),
  text(480, 38, 'every call, in src/runtime/call.ts', 'title', 'middle'),
  `<rect class="box" x="${MIDDLE.x}" y="${TOP}" width="${MIDDLE.width}" height="${bottom - TOP + 8}" rx="8" />`,
  ...rows,
  ...side('called from anywhere', DOORS, 784),
  arrow(176, centre, MIDDLE.x, centre),
  arrow(784, centre - 12, MIDDLE.x + MIDDLE.width, centre - 12),
  arrow(MIDDLE.x + MIDDLE.width, centre + 12, 784, centre + 12),
]
  .map((line) => `  ${line}`)
  .join('\n')}
</svg>
`;
}

function text(x, y, content, style, anchor) {
  const attributes = [style && ` class="${style}"`, anchor && ` text-anchor="${anchor}"`].filter(Boolean).join('');
  return `<text x="${x}" y="${y}"${attributes}>${content}</text>`;
}

function box({ x, y, width, height, label }) {
  const shape = `<rect class="box" x="${x}" y="${y}" width="${width}" height="${height}" rx="8" />`;
  return `${shape}${text(x + width / 2, y + height / 2 + 5, label, undefined, 'middle')}`;
}

function arrow(x1, y1, x2, y2) {
  return `<path class="arrow" d="M${x1} ${y1} ${x2} ${y2}" />`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(new URL('../docs/how-wield-works.svg', import.meta.url), drawCallPath());

// Formats a plan for people: what a call would run, line by line.

import type { HttpPlan, ModulePlan, Plan, ProcessPlan, RemotePlan } from '../core/plan.js';
import { quoteWord } from '../core/text.js';
import { describeSandbox } from '../process/sandbox/text.js';

type Row = readonly [label: string, value: string];

/** Returns what a call would run, one thing per line. */
export function planRows(plan: Plan): readonly Row[] {
  switch (plan.kind) {
    case 'process':
      return processRows(plan);
    case 'text':
      return [['would read', plan.file]];
    case 'delegate':
      return [['would call', `${plan.ref}, which is checked again`]];
    case 'remote':
      return [
        ['would call', `${plan.remoteTool} of the server ${plan.server}`],
        ['at', plan.target],
        ['input', JSON.stringify(plan.input)],
        ...sandboxRows(plan),
      ];
    case 'http':
      return requestRows(plan);
    case 'function':
      return [['would run', `${plan.tool.name}, a function in this process`]];
    case 'module':
      return [
        ['would run', `${plan.export} of ${plan.source.file}, in the tool host`],
        ['in', plan.cwd],
        ['with', Object.keys(plan.environment).sort().join(' ')],
        ['input', JSON.stringify(plan.input)],
        ...sandboxRows(plan),
      ];
  }
}

function requestRows({ method, url, headers, body, credentials }: HttpPlan): readonly Row[] {
  const masked = credentials.map(({ scheme }) => `${scheme.parameter}: ***`);
  const shown = [...Object.entries(headers).map((entry) => entry.join(': ')), ...masked];
  const size = body === undefined || 'text' in body ? 0 : Math.floor((body.base64.replace(/=+$/, '').length * 3) / 4);
  return [
    ['would send', `${method} ${url}`],
    ['with', shown.join('; ')],
    ...(body === undefined ? [] : [['body', 'text' in body ? body.text : `${size} bytes`] as const]),
  ];
}

function sandboxRows({ sandbox }: ProcessPlan | ModulePlan | RemotePlan): readonly Row[] {
  return sandbox === undefined ? [] : [['sandbox', describeSandbox(sandbox)]];
}

// As it is typed into a shell, so that the arguments can be told apart.
function toLine(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ');
}

const LASTS = 'in the background, until it is stopped or the session ends';

function processRows(plan: ProcessPlan): readonly Row[] {
  const { launcher, binary, argv, interpreter, cwd, environment, stdin, command } = plan;
  const rows: Row[] = [['would run', toLine([...launcher, binary, ...argv.slice(1)])]];
  if (interpreter !== undefined) rows.push(['through', interpreter]);
  rows.push(...sandboxRows(plan), ['in', cwd], ['with', Object.keys(environment).sort().join(' ')]);
  if (stdin !== '') rows.push(['input', stdin]);
  if (plan.tool.traits.background === true) rows.push(['lasts', LASTS]);
  if (command === undefined) return rows;
  for (const { param, argv: resolver, skipped, onFailure } of command.resolvers) {
    const line = `${toLine(resolver)}   to resolve ${param}; on failure ${onFailure}`;
    rows.push(['first', skipped === null ? line : `${param} is not resolved: ${skipped}`]);
  }
  for (const { param, argv: check, skipped } of command.denials)
    rows.push(['first', skipped === null ? `${toLine(check)}   to check ${param}` : `${param} is refused: ${skipped}`]);
  return [...rows, ['allowlist', `${command.execution.binary} ${command.subcommand}`.trim()]];
}

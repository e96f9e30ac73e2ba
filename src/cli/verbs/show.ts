// `wield show`: everything about one tool.

import { exampleArguments, parameterRows, toParameters } from '../../consumers/commands/index.js';
import { isToolError, ToolError } from '../../core/error.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import type { Caller, Toolbox, Verdict } from '../../core/toolbox.js';
import { printJson } from '../print.js';
import type { Verb } from '../verb.js';

const CALLERS: readonly Caller[] = [
  { kind: 'person', door: 'cli' },
  { kind: 'model', door: 'mcp' },
];

export const show: Verb = {
  name: 'show',
  usage: 'show <tool> [--json]',
  summary: 'Show one tool in full: parameters, origin, what it runs, who may call it.',
  examples: ['wield show hello', 'wield show hello --json'],
  flags: {},
  positionals: 1,
  async run({ terminal, positionals, json, toolbox: open }) {
    const [ref] = positionals;
    if (ref === undefined)
      throw new ToolError('usage', 'no tool named', { hint: 'wield show <tool>; wield list shows them' });
    const toolbox = open();
    const tool = await toolbox.find(ref);
    const { command, verdicts } = await judge(toolbox, tool);
    if (json) {
      printJson(terminal, {
        ok: true,
        name: tool.name,
        description: tool.description,
        input: tool.input.json,
        ...(tool.output === undefined ? {} : { output: tool.output.json }),
        action: tool.action,
        origin: tool.origin,
        traits: tool.traits,
        verdict: verdicts[0],
        verdicts: { person: verdicts[0], model: verdicts[1] },
      });
      return 0;
    }
    const parameters = toParameters(tool.input.json);
    const facts: [string, string][] = [
      ['format', tool.origin.format],
      ['from', tool.origin.uri ?? 'this program'],
      ['digest', tool.origin.digest ?? 'none'],
      ['runs', command],
      ['you', describeVerdict(verdicts[0]!)],
      ['a model', describeVerdict(verdicts[1]!)],
      ['traits', describeTraits(tool)],
      ['example', ['wield call', tool.name, ...exampleArguments(tool, parameters)].join(' ')],
    ];
    terminal.out(`${terminal.paint('bold', tool.name)}\n${sanitize(tool.description)}\n\n`);
    if (parameters.length > 0) terminal.out(`${sanitize(parameterRows(parameters).join('\n'))}\n\n`);
    for (const [name, value] of facts) {
      if (value !== '')
        terminal.out(`  ${terminal.paint('dim', name.padEnd(8))} ${quoteOutside(value, 2000)}\n`);
    }
    return 0;
  },
};

// What would run, and what the policy says to a person and to a model. A tool that cannot run says why instead.
async function judge(toolbox: Toolbox, tool: Tool): Promise<{ command: string; verdicts: Verdict[] }> {
  const verdicts: Verdict[] = [];
  let command = 'code of this process';
  for (const caller of CALLERS) {
    try {
      const { plan, verdict } = await toolbox.plan(tool.name, tool.traits.examples[0] ?? {}, {
        caller,
        checkInput: false,
      });
      verdicts.push(verdict);
      if (plan.kind === 'module') command = `${plan.export} of ${plan.source.file}, in the tool host`;
      if (plan.kind === 'process') command = [...plan.launcher, plan.binary, ...plan.argv.slice(1)].join(' ');
    } catch (error) {
      if (!isToolError(error)) throw error;
      command = `nothing: ${error.message}`;
      verdicts.push({ verdict: 'deny', rule: null, reason: error.message, code: error.code });
    }
  }
  return { command, verdicts };
}

function describeVerdict({ verdict, reason }: Verdict): string {
  return `${verdict}: ${reason}`;
}

function describeTraits({ traits }: Tool): string {
  return [
    ...(traits.group === undefined ? [] : [`group ${traits.group}`]),
    ...traits.tags.map((tag) => `#${tag}`),
    ...(['hidden', 'terminal', 'readOnly', 'destructive', 'idempotent', 'openWorld'] as const).filter(
      (name) => traits[name],
    ),
    ...(traits.role === undefined ? [] : [`role ${traits.role}`]),
    ...(traits.timeoutMs === undefined ? [] : [`timeout ${traits.timeoutMs} ms`]),
  ].join(', ');
}

// `wield list`: what tools there are, and how many files gave none.

import { count, quoteOutside } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { formatTable, oneLine, printJson } from '../print.js';
import type { Verb } from '../verb.js';

export const list: Verb = {
  name: 'list',
  usage: 'list [--hidden] [--all] [--json]',
  summary: 'Show the tools that can be called from here.',
  examples: ['wield list', 'wield list --all --json'],
  flags: {
    hidden: { kind: 'switch', description: 'Hidden tools too' },
    all: { kind: 'switch', description: 'Hidden and shadowed tools too' },
  },
  positionals: 0,
  async run({ terminal, flags, json, toolbox: open }) {
    const toolbox = open();
    const all = flags.has('all');
    const tools = await toolbox.list({ hidden: all || flags.has('hidden') });
    const shadowed = all ? await toolbox.shadowed() : [];
    const problems = (await toolbox.problems()).filter((problem) => problem.severity === 'error');
    const trusted = toolbox.trusted;
    const entries = [
      ...tools.map((tool) => ({ tool, shadowedBy: null as string | null })),
      ...shadowed.map(({ tool, by }) => ({ tool, shadowedBy: by.origin.uri ?? by.origin.format })),
    ];
    if (json) {
      printJson(terminal, {
        ok: true,
        tools: entries.map(({ tool, shadowedBy }) => toJson(tool, shadowedBy, trusted)),
        problems,
      });
      return 0;
    }
    if (entries.length === 0) terminal.out('No tools here yet. wield init makes a first one.\n');
    else {
      const head = ['NAME', 'FORMAT', 'DESCRIPTION', ''];
      const rows = entries.map(({ tool, shadowedBy }) => [
        tool.name,
        tool.origin.format,
        oneLine(tool.description),
        marks(tool, shadowedBy, trusted).join(' '),
      ]);
      const [first = '', ...lines] = formatTable([head, ...rows], terminal).split('\n');
      terminal.out([terminal.paint('dim', first), ...lines].join('\n'));
    }
    if (problems.length > 0) {
      const them = problems.length === 1 ? 'it' : 'them';
      terminal.err(
        `\n${terminal.paint('yellow', count(problems.length, 'problem'), 'err')}; wield doctor says how to mend ${them}\n`,
      );
    }
    return 0;
  },
};

function marks(tool: Tool, shadowedBy: string | null, trusted: boolean): string[] {
  const { hidden, destructive, group } = tool.traits;
  return [
    ...(group === undefined ? [] : [quoteOutside(group, 40)]),
    ...tool.traits.tags.map((tag) => `#${tag}`),
    ...(destructive ? ['destructive'] : []),
    ...(hidden ? ['hidden'] : []),
    ...(shadowedBy === null ? [] : [`shadowed by ${shadowedBy}`]),
    ...(isUntrusted(tool, trusted) ? ['untrusted'] : []),
  ];
}

function isUntrusted(tool: Tool, trusted: boolean): boolean {
  return tool.origin.owner === 'workspace' && !trusted;
}

function toJson(tool: Tool, shadowedBy: string | null, trusted: boolean) {
  const { traits, origin } = tool;
  return {
    name: tool.name,
    description: tool.description,
    format: origin.format,
    server: origin.server,
    group: traits.group ?? null,
    tags: traits.tags,
    hidden: traits.hidden,
    readOnly: traits.readOnly ?? null,
    destructive: traits.destructive ?? null,
    shadowedBy,
    untrusted: isUntrusted(tool, trusted),
    uri: origin.uri,
  };
}

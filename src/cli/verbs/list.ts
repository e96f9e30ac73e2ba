// `wield list`: what tools there are, and how many files gave none.

import { count, quoteOutside } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { commandProblems } from '../commands.js';
import { oneLine, printJson, printTable } from '../print.js';
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
  async run({ terminal, flags, json, reserved, toolbox: open }) {
    const toolbox = open();
    const all = flags.has('all');
    const survey = await toolbox.survey();
    const problems = [...survey.problems, ...commandProblems(survey, reserved)].filter(
      (problem) => problem.severity === 'error',
    );
    const hidden = all || flags.has('hidden');
    const { trusted } = toolbox;
    const entries: Entry[] = [];
    for (const tool of survey.tools)
      if (hidden || !tool.traits.hidden) entries.push({ tool, shadowedBy: null });
    for (const { tool, by } of all ? survey.shadowed : [])
      entries.push({ tool, shadowedBy: by.origin.uri ?? by.origin.format });
    if (json) {
      printJson(terminal, {
        ok: true,
        tools: entries.map(({ tool, shadowedBy }) => toJson(tool, shadowedBy, trusted)),
        skills: survey.skills.map(({ name, description, file }) => ({ name, description, path: file })),
        problems,
      });
      return 0;
    }
    if (entries.length === 0) terminal.out('No tools here yet. wield init makes a first one.\n');
    else {
      const rows = entries.map(({ tool, shadowedBy }) => [
        tool.name,
        tool.origin.format,
        oneLine(tool.description),
        marks(tool, shadowedBy, trusted).join(' '),
      ]);
      printTable(terminal, ['NAME', 'FORMAT', 'DESCRIPTION', ''], rows);
    }
    if (survey.skills.length > 0) {
      const rows = survey.skills.map(({ name, description }) => [name, oneLine(description)]);
      terminal.out('\n');
      printTable(terminal, ['SKILL', 'DESCRIPTION'], rows);
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

interface Entry {
  readonly tool: Tool;
  readonly shadowedBy: string | null;
}

function marks(tool: Tool, shadowedBy: string | null, trusted: boolean): string[] {
  const { hidden, destructive, group, tags } = tool.traits;
  const found: string[] = [];
  if (group !== undefined) found.push(quoteOutside(group, 40));
  for (const tag of tags) found.push(`#${tag}`);
  if (destructive) found.push('destructive');
  if (hidden) found.push('hidden');
  if (shadowedBy !== null) found.push(`shadowed by ${shadowedBy}`);
  if (isUntrusted(tool, trusted)) found.push('untrusted');
  return found;
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

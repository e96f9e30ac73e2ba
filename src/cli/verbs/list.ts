// `wield list`: lists tools and skills.

import { pathToFileURL } from 'node:url';
import { FORMATS } from '../../core/format.js';
import { normalizeTags } from '../../core/name.js';
import { count, quoteOutside, revealHidden } from '../../core/text.js';
import { needsTrust, type Tool } from '../../core/tool.js';
import type { Caller } from '../../core/toolbox.js';
import { commandProblems } from '../commands.js';
import { printJson } from '../print.js';
import { openProfile, PROFILE } from '../profile.js';
import { oneLine, printTable } from '../table.js';
import { option, toggle, usageError, type Verb } from '../verb.js';

const PERSON: Caller = { kind: 'person', door: 'cli' };

export const list: Verb = {
  name: 'list',
  usage:
    'list [--hidden] [--all] [--tag TAG] [--group GROUP] [--format FORMAT] [--installed [item…] | --available] [--profile NAME] [--json]',
  summary: 'List the tools that can be called from this directory.',
  examples: ['wield list', 'wield list --all --json', 'wield list --tag api --tag slow', 'wield list --format skill'],
  flags: {
    hidden: toggle('Also list hidden tools'),
    all: toggle('Also list hidden, shadowed and denied tools'),
    tag: option('TAG', 'Only tools with this tag; can be repeated to require several', { repeats: true }),
    group: option('GROUP', 'Only tools of this group; can be repeated', { repeats: true }),
    format: option('FORMAT', `Only tools of this format: ${FORMATS.join(', ')}; can be repeated`, {
      repeats: true,
      choices: FORMATS,
    }),
    profile: PROFILE,
    installed: toggle('List installed items with their state'),
    available: toggle('List all items of the sources'),
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { terminal, flags, repeated, json, reserved } = call;
    if (flags.has('installed') || flags.has('available'))
      return (await import('./list-installed.js')).listInstalled(call);
    if (call.positionals.length > 0)
      throw usageError(
        `unexpected argument "${quoteOutside(call.positionals[0]!, 60)}"`,
        `wield show ${quoteOutside(call.positionals[0]!, 60)} shows a tool; items can be named with --installed`,
      );
    const toolbox = openProfile(call);
    const all = flags.has('all');
    const survey = await toolbox.catalog.survey({ caller: PERSON });
    const problems = [...survey.problems, ...commandProblems(survey, reserved)].filter(
      (problem) => problem.severity === 'error',
    );
    const hidden = all || flags.has('hidden');
    const { trusted } = toolbox.workspace;
    const servers = toolbox.state.upstreams.states();
    const changed = new Set(servers.flatMap((server) => server.changed));
    const matches = createFilter(repeated('tag'), repeated('format'), repeated('group'));
    const entries: Entry[] = [];
    for (const tool of survey.tools)
      if ((hidden || !tool.traits.hidden) && matches(tool.traits.tags, tool.origin.format, tool.traits.group))
        entries.push({ tool, shadowedBy: null });
    for (const { tool, verdict } of all ? survey.denied : [])
      if (matches(tool.traits.tags, tool.origin.format, tool.traits.group))
        entries.push({ tool, shadowedBy: null, deniedBy: verdict.rule ?? verdict.reason });
    for (const { tool, by } of all ? survey.shadowed : [])
      if (matches(tool.traits.tags, tool.origin.format, tool.traits.group))
        entries.push({ tool, shadowedBy: by.origin.uri ?? by.origin.format });
    const skills = survey.skills.filter((skill) => (hidden || !skill.hidden) && matches(skill.tags, 'skill'));
    if (json)
      return printJson(terminal, {
        ok: true,
        tools: entries.map((entry) => toJson(entry, trusted, changed)),
        skills: skills.map(({ name, description, file }) => ({ name, description, path: file })),
        problems,
      });
    if (entries.length > 0) {
      const rows = entries.map((entry) => [
        entry.tool.name,
        entry.tool.origin.format,
        oneLine(entry.tool.description),
        marks(entry, trusted, changed).join(' '),
      ]);
      printTable(terminal, ['NAME', 'FORMAT', 'DESCRIPTION', ''], rows, 2);
    } else if (survey.tools.length > 0) terminal.out('No matching tools. wield list --all shows all.\n');
    else if (survey.denied.length > 0) terminal.out('All tools are denied by rules. wield list --all shows them.\n');
    else terminal.out('No tools yet. Create one: wield init\n');
    // Skills that are tools are listed above; these can only be read.
    const known = [...entries, ...survey.denied];
    const listed = new Set(known.map(({ tool }) => tool.origin.uri));
    const others = skills.filter(({ file }) => !listed.has(pathToFileURL(file).href));
    if (others.length > 0) {
      const rows = others.map(({ name, description }) => [name, oneLine(description)]);
      terminal.out('\n');
      printTable(terminal, ['SKILL', 'DESCRIPTION'], rows);
    }
    const unstarted = servers.filter(({ state }) => state === 'untrusted').length;
    if (unstarted > 0) {
      const are = unstarted === 1 ? 'is' : 'are';
      terminal.err(
        `\n${count(unstarted, 'server')} of this workspace ${are} not started because it is not trusted; wield mcp shows what would run\n`,
      );
    }
    if (problems.length > 0) {
      terminal.err(
        `\n${terminal.paint('yellow', count(problems.length, 'problem'), 'err')}; wield doctor suggests fixes\n`,
      );
    }
    return 0;
  },
};

// RES-30: a tool must have all tags, one of the formats and one of the groups.
function createFilter(tags: readonly string[], formats: readonly string[], groups: readonly string[]) {
  const empty = tags.find((tag) => normalizeTags([tag]).length === 0);
  if (empty !== undefined) {
    throw usageError(`--tag "${quoteOutside(empty, 40)}" has no letters or digits`, 'for example --tag api');
  }
  const wanted = normalizeTags(tags);
  return (has: readonly string[], format: string, group?: string): boolean =>
    wanted.every((tag) => has.includes(tag)) &&
    (formats.length === 0 || formats.includes(format)) &&
    (groups.length === 0 || (group !== undefined && groups.includes(group)));
}

interface Entry {
  readonly tool: Tool;
  readonly shadowedBy: string | null;
  readonly deniedBy?: string;
}

function marks({ tool, shadowedBy, deniedBy }: Entry, trusted: boolean, changed: ReadonlySet<string>): string[] {
  const { hidden, destructive, group, tags } = tool.traits;
  const found: string[] = [];
  if (group !== undefined) found.push(quoteOutside(group, 40));
  for (const tag of tags) found.push(`#${tag}`);
  if (destructive) found.push('destructive');
  if (hidden) found.push('hidden');
  if (shadowedBy !== null) found.push(`shadowed by ${shadowedBy}`);
  if (deniedBy !== undefined) found.push(`denied: ${quoteOutside(revealHidden(deniedBy), 80)}`);
  if (isUntrusted(tool, trusted)) found.push('untrusted');
  if (isChanged(tool, changed)) found.push('changed');
  return found;
}

function isUntrusted(tool: Tool, trusted: boolean): boolean {
  return needsTrust(tool) && !trusted;
}

// Shown in its approved form until the change is accepted (POL-21).
function isChanged({ name, origin }: Tool, changed: ReadonlySet<string>): boolean {
  return origin.server !== null && changed.has(name);
}

function toJson({ tool, shadowedBy, deniedBy }: Entry, trusted: boolean, changed: ReadonlySet<string>) {
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
    deniedBy: deniedBy ?? null,
    untrusted: isUntrusted(tool, trusted),
    changed: isChanged(tool, changed),
    uri: origin.uri,
  };
}

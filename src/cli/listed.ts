// What `wield list` shows, and how it is filtered and printed.

import { CALLERS } from '../core/caller.js';
import { normalizeTags } from '../core/name.js';
import { count, didYouMean, quoteOutside, revealHidden } from '../core/text.js';
import { needsTrust, type Tool } from '../core/tool.js';
import { toFileUri } from '../files/within.js';
import type { NodeToolbox } from '../node.js';
import { labelsOf } from '../policy/selected-tool.js';
import { commandProblems } from './commands.js';
import { printJson } from './print.js';
import { oneLine, printTable } from './table.js';
import type { Terminal } from './terminal.js';
import { describeEmpty, findUnanswered, printUnanswered } from './unanswered.js';
import { usageError } from './verb.js';

/** Reads everything that any flags of `wield list` show; with `now`, without waiting for servers. */
export async function readListed(toolbox: NodeToolbox, reserved: ReadonlySet<string>, now = false) {
  const survey = await toolbox.catalog.survey({ caller: CALLERS.user, now });
  const { trusted } = toolbox.workspace;
  const { policy } = toolbox.state.snapshot();
  const servers = toolbox.state.upstreams.states();
  const changed = new Set(servers.flatMap((server) => server.changed));
  const toListed = (tool: Tool, more: { shadowedBy?: string; deniedBy?: string } = {}) => ({
    name: tool.name,
    description: tool.description,
    format: tool.origin.format,
    server: tool.origin.server,
    group: tool.traits.group ?? null,
    tags: tool.traits.tags,
    labels: labelsOf(tool, policy),
    hidden: tool.traits.hidden,
    readOnly: tool.traits.readOnly ?? null,
    destructive: tool.traits.destructive ?? null,
    shadowedBy: more.shadowedBy ?? null,
    deniedBy: more.deniedBy ?? null,
    untrusted: needsTrust(tool) && !trusted,
    // Shown in its approved form until the change is accepted (POL-21).
    changed: tool.origin.server !== null && changed.has(tool.name),
    uri: tool.origin.uri,
  });
  return {
    // Those that can be called, then denied ones, then shadowed ones.
    tools: [
      ...survey.tools.map((tool) => toListed(tool)),
      ...survey.denied.map(({ tool, verdict }) => toListed(tool, { deniedBy: verdict.rule ?? verdict.reason })),
      ...survey.shadowed.map(({ tool, by }) => toListed(tool, { shadowedBy: by.origin.uri ?? by.origin.format })),
    ],
    skills: survey.skills.map(({ name, description, file, hidden, tags }) => ({
      name,
      description,
      path: file,
      uri: toFileUri(file),
      hidden,
      tags,
    })),
    problems: [...survey.problems, ...commandProblems(survey, reserved)].filter(({ severity }) => severity === 'error'),
    unanswered: findUnanswered(toolbox),
  };
}

export type Listed = Awaited<ReturnType<typeof readListed>>;
type ListedTool = Listed['tools'][number];
type ListedSkill = Listed['skills'][number];

export interface ListedOptions {
  readonly json: boolean;
  readonly hidden: boolean;
  /** Also hidden, shadowed and denied tools. */
  readonly all: boolean;
  readonly tags: readonly string[];
  readonly formats: readonly string[];
  readonly groups: readonly string[];
}

/** Throws `usage` for a tag or group that nothing here has (CLI-26). */
export function assertKnown({ tools, skills }: Listed, tags: readonly string[], groups: readonly string[]): void {
  const check = (flag: string, wanted: readonly string[], known: readonly (string | null)[]): void => {
    const names = [...new Set(known)].filter((name) => name !== null);
    const unknown = wanted.find((name) => !names.includes(name));
    if (unknown === undefined) return;
    const others = names.length === 0 ? `no tool has a ${flag}` : `use ${names.slice(0, 10).join(', ')}`;
    const hint = didYouMean(unknown, names, others, (close) => `--${flag} ${close}`);
    throw usageError(`unknown ${flag} "${quoteOutside(unknown, 40)}"`, hint);
  };
  check(
    'tag',
    normalizeTags(tags),
    [...tools, ...skills].flatMap((one) => one.tags),
  );
  check(
    'group',
    groups,
    tools.map(({ group }) => group),
  );
}

/** Prints a listing, without the tools of `before`, which were printed already, and returns the exit status. */
export function printListed(terminal: Terminal, listed: Listed, options: ListedOptions, before?: Listed): number {
  const { problems, unanswered } = listed;
  const { tools, skills } = choose(listed, options);
  if (options.json)
    return printJson(terminal, {
      ok: true,
      tools,
      skills: skills.map(({ name, description, path }) => ({ name, description, path })),
      problems,
      unanswered,
    });
  const keyOf = ({ name, uri }: ListedTool): string => `${name}\n${uri}`;
  const shown = new Set(before && choose(before, options).tools.map(keyOf));
  const rest = tools.filter((tool) => !shown.has(keyOf(tool)));
  if (before !== undefined && rest.length > 0) terminal.out('\n');
  if (rest.length > 0) printTools(terminal, rest);
  else if (before === undefined) terminal.out(`${describeNone(listed)}\n`);
  const denied = listed.tools.filter(({ deniedBy }) => deniedBy !== null);
  printSkills(terminal, skills, [...tools, ...denied]);
  printFaults(terminal, listed);
  return 0;
}

function describeNone({ tools, unanswered }: Listed): string {
  if (tools.some((tool) => !isUnavailable(tool))) return 'No matching tools. wield list shows all.';
  if (tools.some(({ deniedBy }) => deniedBy !== null))
    return 'All tools are denied by rules. wield list --all shows them.';
  return unanswered.length > 0 ? describeEmpty(unanswered) : 'No tools yet. Create one: wield init';
}

/** Prints what a listing has so far; returns false if that is nothing. */
export function printKnown(terminal: Terminal, listed: Listed, options: ListedOptions): boolean {
  const { tools } = choose(listed, options);
  if (tools.length > 0) printTools(terminal, tools);
  return tools.length > 0;
}

function choose(listed: Listed, options: ListedOptions): Pick<Listed, 'tools' | 'skills'> {
  const hidden = options.all || options.hidden;
  const matches = createFilter(options);
  return {
    tools: listed.tools.filter(
      (tool) =>
        (options.all || !isUnavailable(tool)) &&
        (hidden || !tool.hidden || isUnavailable(tool)) &&
        matches(tool.tags, tool.format, tool.group),
    ),
    skills: listed.skills.filter((skill) => (hidden || !skill.hidden) && matches(skill.tags, 'skill', null)),
  };
}

function printTools(terminal: Terminal, tools: readonly ListedTool[]): void {
  const rows = tools.map((tool) => [tool.name, tool.format, oneLine(tool.description), marks(tool).join(' ')]);
  printTable(terminal, ['NAME', 'FORMAT', 'DESCRIPTION', ''], rows, 2);
}

// Skills that are tools are listed as such; these can only be read.
function printSkills(terminal: Terminal, skills: readonly ListedSkill[], tools: readonly ListedTool[]): void {
  const known = new Set(tools.map(({ uri }) => uri));
  const others = skills.filter(({ uri }) => !known.has(uri));
  if (others.length === 0) return;
  const rows = others.map(({ name, description }) => [name, oneLine(description)]);
  terminal.out('\n');
  printTable(terminal, ['SKILL', 'DESCRIPTION'], rows);
}

function printFaults(terminal: Terminal, { problems, unanswered }: Listed): void {
  printUnanswered(terminal, unanswered);
  if (problems.length === 0) return;
  terminal.err(
    `\n${terminal.paint('yellow', count(problems.length, 'problem'), 'err')}; wield doctor suggests fixes\n`,
  );
}

// RES-30: a tool must have all tags, one of the formats and one of the groups.
function createFilter({ tags, formats, groups }: ListedOptions) {
  const wanted = tags.length === 0 ? [] : normalizeTags(tags);
  return (has: readonly string[], format: string, group: string | null): boolean =>
    wanted.every((tag) => has.includes(tag)) &&
    (formats.length === 0 || formats.includes(format)) &&
    (groups.length === 0 || (group !== null && groups.includes(group)));
}

function isUnavailable({ shadowedBy, deniedBy }: ListedTool): boolean {
  return shadowedBy !== null || deniedBy !== null;
}

function marks({ group, tags, destructive, hidden, shadowedBy, deniedBy, untrusted, changed }: ListedTool): string[] {
  const found: string[] = [];
  if (group !== null) found.push(quoteOutside(group, 40));
  for (const tag of tags) found.push(`#${tag}`);
  if (destructive) found.push('destructive');
  if (hidden) found.push('hidden');
  if (shadowedBy !== null) found.push(`shadowed by ${shadowedBy}`);
  if (deniedBy !== null) found.push(`denied: ${quoteOutside(revealHidden(deniedBy), 80)}`);
  if (untrusted) found.push('untrusted');
  if (changed) found.push('changed');
  return found;
}

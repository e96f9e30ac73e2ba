// `wield list`: lists tools and skills, by tag, group and format.

import { CALLERS } from '../../core/caller.js';
import { normalizeTags } from '../../core/name.js';
import { count, didYouMean, quoteOutside, revealHidden } from '../../core/text.js';
import { settlesWithin } from '../../core/time-limit.js';
import { needsTrust, type Tool } from '../../core/tool.js';
import { toFileUri } from '../../files/within.js';
import type { NodeToolbox } from '../../node.js';
import { labelsOf } from '../../policy/selected-tool.js';
import { commandProblems } from '../commands.js';
import { printJson } from '../print.js';
import { openProfile, PROFILE, warnOfProfile } from '../profile.js';
import { oneLine, printTable } from '../table.js';
import type { Terminal } from '../terminal.js';
import { describeEmpty, findUnanswered, printUnanswered } from '../unanswered.js';
import { option, toggle, unknownChoice, usageError, type Verb, type VerbCall } from '../verb.js';

export const list: Verb = {
  usage:
    'list [--hidden] [--all] [--tag TAG] [--group GROUP] [--format FORMAT] [--installed [item…] | --available | --sources] [--profile NAME] [--json]\n  wield list --outdated | --manifest | --tokens | --background',
  summary: 'List the tools that can be called from this directory.',
  examples: ['wield list', 'wield list --all --json', 'wield list --tag api --tag slow', 'wield list --format skill'],
  flags: {
    hidden: toggle('Also list hidden tools'),
    all: toggle('Also list hidden, shadowed and denied tools'),
    tag: option('TAG', 'Only tools with this tag; can be repeated to require several'),
    group: option('GROUP', 'Only tools of this group; can be repeated'),
    format: option('FORMAT', 'Only tools of this format, such as script, skill or module; can be repeated', {
      names: 'format',
    }),
    profile: PROFILE,
    installed: toggle('List installed items with their state'),
    available: toggle('List all items of the sources'),
    sources: toggle('List the sources'),
    outdated: toggle('List installed items whose source has something newer'),
    manifest: toggle('Print the sources and installed items as a source manifest'),
    tokens: toggle('Count the tokens that the tools cost a model'),
    background: toggle('List processes in the background; with an id, show the output of one'),
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, repeated, reserved } = call;
    if (['installed', 'available', 'sources'].some((name) => flags.has(name)))
      return (await import('./list-installed.js')).listInstalled(call);
    if (call.positionals.length > 0)
      throw usageError(
        `unexpected argument "${quoteOutside(call.positionals[0]!, 60)}"`,
        `wield show ${quoteOutside(call.positionals[0]!, 60)} shows a tool; items can be named with --installed`,
      );
    const empty = repeated('tag').find((tag) => normalizeTags([tag]).length === 0);
    if (empty !== undefined)
      throw usageError(`--tag "${quoteOutside(empty, 40)}" has no letters or digits`, 'for example --tag api');
    const toolbox = openProfile(call);
    const { formats } = toolbox.state;
    const odd = repeated('format').find((format) => !formats.includes(format));
    if (odd !== undefined) throw unknownChoice('value of --format:', odd, formats, '--format');
    const whole = readListed(toolbox, reserved);
    const early = await printEarly(call, whole, () => readListed(toolbox, reserved, true));
    const listed = await whole;
    await warnOfProfile(call, toolbox);
    assertKnown(listed, call);
    return printListed(call, listed, early);
  },
};

const EARLY_MS = 1000;

// CLI-40: a person sees what is known while servers are waited for.
async function printEarly(
  call: VerbCall,
  whole: Promise<Listed>,
  readNow: () => Promise<Listed>,
): Promise<Listed | undefined> {
  const { terminal, json } = call;
  if (json || !terminal.outIsTerminal || (await settlesWithin(whole, EARLY_MS))) return undefined;
  const early = { ...(await readNow()), problems: [], unanswered: [] };
  const { tools } = choose(early, call);
  if (tools.length === 0) return undefined;
  printTools(terminal, tools);
  return early;
}

// Reads everything that any flags of `wield list` show; with `now`, without waiting for servers.
async function readListed(toolbox: NodeToolbox, reserved: ReadonlySet<string>, now = false) {
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

type Listed = Awaited<ReturnType<typeof readListed>>;
type ListedTool = Listed['tools'][number];
type ListedSkill = Listed['skills'][number];

// Throws `usage` for a tag or group that nothing here has (CLI-26).
function assertKnown({ tools, skills }: Listed, { repeated }: VerbCall): void {
  const known = {
    tag: [...tools, ...skills].flatMap(({ tags }) => tags),
    group: tools.flatMap(({ group }) => group ?? []),
  };
  const wanted = { tag: normalizeTags(repeated('tag')), group: repeated('group') };
  for (const flag of ['tag', 'group'] as const) {
    const names = [...new Set(known[flag])];
    const unknown = wanted[flag].find((name) => !names.includes(name));
    if (unknown === undefined) continue;
    const others = names.length === 0 ? `no tool has a ${flag}` : `use ${names.slice(0, 10).join(', ')}`;
    const hint = didYouMean(unknown, names, others, (close) => `--${flag} ${close}`);
    throw usageError(`unknown ${flag} "${quoteOutside(unknown, 40)}"`, hint);
  }
}

// Prints a listing, without the tools of `before`, which were printed already, and returns the exit status.
function printListed(call: VerbCall, listed: Listed, before?: Listed): number {
  const { terminal, json } = call;
  const { problems, unanswered } = listed;
  const { tools, skills } = choose(listed, call);
  if (json)
    return printJson(terminal, {
      ok: true,
      tools,
      skills: skills.map(({ name, description, path }) => ({ name, description, path })),
      problems,
      unanswered,
    });
  const keyOf = ({ name, uri }: ListedTool): string => `${name}\n${uri}`;
  const shown = new Set(before && choose(before, call).tools.map(keyOf));
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

function choose(listed: Listed, call: VerbCall): Pick<Listed, 'tools' | 'skills'> {
  // Also shadowed and denied tools.
  const all = call.flags.has('all');
  const hidden = all || call.flags.has('hidden');
  const matches = createFilter(call);
  return {
    tools: listed.tools.filter(
      (tool) =>
        (all || !isUnavailable(tool)) &&
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
function createFilter({ repeated }: VerbCall) {
  const [tags, formats, groups] = [repeated('tag'), repeated('format'), repeated('group')];
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

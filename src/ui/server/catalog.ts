// Routes of the catalog: everything in it, with the state of each item and why; and finding what the page names.

import type { Caller, Verdict } from '../../core/caller.js';
import { memoize } from '../../core/memoize.js';
import type { Skill } from '../../core/skill.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { needsTrust, type Tool } from '../../core/tool.js';
import type { DoorOptions, Survey, Toolbox } from '../../core/toolbox.js';
import { fromFileUri } from '../../files/within.js';
import { findDenial } from '../../policy/decide.js';
import { toRules } from '../../policy/rules.js';
import { describeStarting, type ServerState } from '../../upstream/catalog/format.js';
import { describeServer } from '../../upstream/entries/mask.js';
import type { Catalog, CatalogItem, Mark, Position } from '../api.js';
import { outdated, type PageParts, PERSON } from './parts.js';

type Status = Pick<CatalogItem, 'state' | 'why' | 'position'>;

const LISTED: Status = { state: 'listed' };

const DOORS: Readonly<Record<string, string>> = { person: 'ui', model: 'mcp', code: 'library' };

/** Returns the caller of `/api/catalog/:as`; a model unless it says otherwise. */
export function callerOf(as: string): Caller {
  const kind = as === 'person' || as === 'code' ? as : 'model';
  return { kind, door: DOORS[kind]! };
}

export async function readCatalog(parts: PageParts, caller: Caller): Promise<Catalog> {
  const { toolbox } = parts;
  const survey = await toolbox.catalog.survey({ caller });
  const items = [
    ...toToolItems(parts, survey, caller).sort(byOrigin),
    ...survey.skills.map(toSkillItem),
    ...(await offerItems(parts, caller, 'prompt')),
    ...(await offerItems(parts, caller, 'resource')),
    ...toolbox.state.upstreams.states().map(toServerItem),
  ];
  const problems = survey.problems.map(({ severity, path, message, hint }) => ({ severity, path, message, hint }));
  return { items, problems };
}

/** Describes the tools of a survey, with the state of each for a caller. */
export function toToolItems({ toolbox }: PageParts, survey: Survey, caller: Caller): CatalogItem[] {
  const { trusted } = toolbox.workspace;
  const changed = new Set(toolbox.state.upstreams.states().flatMap((state) => state.changed));
  const stateOf = (tool: Tool): Status => {
    if (changed.has(tool.name)) return { state: 'changed', why: 'changed since it was approved' };
    if (tool.traits.hidden) return { state: 'hidden', why: 'its author hides it from listings' };
    if (caller.kind === 'model' && !trusted && needsTrust(tool))
      return { state: 'untrusted', why: 'this workspace is not trusted: run wield trust' };
    return LISTED;
  };
  return [
    ...survey.tools.map((tool) => toItem(tool, stateOf(tool))),
    ...survey.denied.map(({ tool, verdict }) => toItem(tool, toDenied(verdict))),
    ...survey.unlisted.map((tool) => toItem(tool, { state: 'unlisted', why: 'built in, called by name' })),
    ...survey.shadowed.map(({ tool, by }, at) => ({
      ...toItem(tool, { state: 'shadowed', why: `hidden by ${by.name} of ${describeOrigin(by)}` }),
      id: `shadowed:${at}`,
    })),
  ];
}

// Tools of the workspace first, then those of servers, then built-in ones.
function byOrigin(a: CatalogItem, b: CatalogItem): number {
  const rank = ({ marks, server }: CatalogItem): string =>
    marks.includes('built-in') ? '2' : server === undefined ? '0' : `1${server}`;
  return compareText(rank(a), rank(b)) || compareText(a.name, b.name);
}

export function toItem(tool: Tool, status: Status): CatalogItem {
  return { ...describe(tool), ...status };
}

// A listing has the same objects as long as their files are unchanged.
const describe = memoize((tool: Tool): Omit<CatalogItem, 'state' | 'why'> => {
  const { name, description, origin, traits } = tool;
  return {
    id: `tool:${name}`,
    kind: 'tool',
    name,
    title: traits.title,
    description: firstLine(description),
    position: fileOf(tool),
    format: origin.format,
    // Of a tool of a server, the source is the file that configures the server.
    ...(origin.owner === 'upstream' ? { server: origin.server ?? undefined } : { source: origin.source ?? undefined }),
    group: traits.group,
    tags: traits.tags,
    marks: marksOf(tool),
  };
});

function toDenied({ reason, rule, source }: Verdict): Status {
  const why = rule === null || reason.includes(rule) ? reason : `${reason}: ${rule}`;
  return { state: 'denied', why, ...(source && { position: source }) };
}

function toSkillItem({ name, description, file, hidden, tags }: Skill): CatalogItem {
  return {
    id: `skill:${file}`,
    kind: 'skill',
    name,
    description: firstLine(description),
    ...(hidden ? { state: 'hidden', why: 'its author hides it from models' } : LISTED),
    position: { file, line: null },
    tags,
    marks: [],
  };
}

async function offerItems({ toolbox }: PageParts, caller: Caller, kind: 'prompt' | 'resource'): Promise<CatalogItem[]> {
  const { prompts, resources } = toolbox.catalog;
  const offers = await (kind === 'prompt' ? prompts : resources).list({ caller, knownOnly: true, denied: true });
  const rules = toRules(toolbox.state.snapshot());
  return offers.map(({ tool }) => {
    const denial = findDenial(tool, caller, rules);
    return {
      ...toItem(tool, denial === undefined ? LISTED : toDenied(denial)),
      id: tool.name,
      kind,
      marks: isBuiltIn(tool) ? ['built-in'] : [],
    };
  });
}

function toServerItem(found: ServerState): CatalogItem {
  const { server } = found;
  const { name, position } = server;
  return {
    id: `server:${name}`,
    kind: 'server',
    name,
    description: describeServer(server),
    ...describeServerState(found),
    position: { file: position.file, line: position.line },
    server: name,
    tags: [],
    marks: [],
  };
}

function describeServerState({ server, state, runner, failure, changed }: ServerState): Status {
  if (state === 'starting') return { state, why: describeStarting(server, runner).message };
  if (failure !== undefined) return { state: 'failed', why: failure.message };
  if (state === 'untrusted') return { state: 'untrusted', why: 'not started until it is trusted or accepted' };
  if (state === 'blocked') return { state: 'hidden', why: 'no list of the configuration allows it' };
  if (state === 'off') return { state: 'hidden', why: 'disabled in its configuration' };
  if (changed.length > 0) return { state: 'changed', why: `changed since approval: ${changed.join(', ')}` };
  return LISTED;
}

function marksOf({ traits, action, origin }: Tool): Mark[] {
  const marks: readonly (readonly [Mark, boolean | undefined])[] = [
    ['destructive', traits.destructive],
    ['read-only', traits.readOnly],
    ['idempotent', traits.idempotent],
    ['open-world', traits.openWorld],
    ['terminal', traits.terminal],
    ['sandbox', traits.sandbox !== undefined],
    ['built-in', isBuiltIn({ action, origin })],
  ];
  return marks.filter(([, isSet]) => isSet === true).map(([mark]) => mark);
}

function isBuiltIn({ action, origin }: Pick<Tool, 'action' | 'origin'>): boolean {
  return origin.builtin === true || (action.kind === 'function' && action.builtin === true);
}

function fileOf({ origin: { uri } }: Tool): Position | undefined {
  const file = fromFileUri(uri);
  return file === undefined ? undefined : { file, line: null };
}

function describeOrigin({ origin }: Tool): string {
  return origin.uri ?? 'this program';
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!;
}

export interface Named {
  readonly tool: Tool;
  /** What `toolbox.call` takes. */
  readonly ref: string;
  readonly as?: DoorOptions['as'];
  /** What was listed to find it. */
  readonly survey: Survey;
}

/** Finds a tool by its exact name, `prompt:NAME` or `resource:URI`. Throws `not_found` (UI-6). */
export async function findNamed(toolbox: Toolbox, name: string): Promise<Named> {
  const survey = await toolbox.catalog.survey({ caller: PERSON });
  const { tools, denied, unlisted } = survey;
  const tool = [...tools, ...denied.map((one) => one.tool), ...unlisted].find((one) => one.name === name);
  if (tool !== undefined) return { tool, ref: name, survey };
  const options = { knownOnly: true, denied: true };
  const prompt = (await toolbox.catalog.prompts.list(options)).find((one) => one.tool.name === name);
  if (prompt !== undefined) return { tool: prompt.tool, ref: prompt.name, as: 'prompt', survey };
  const resource = (await toolbox.catalog.resources.list(options)).find((one) => one.tool.name === name);
  if (resource !== undefined) return { tool: resource.tool, ref: resource.uri, as: 'resource', survey };
  throw outdated('not_found', `not in the catalog: ${quoteOutside(name, 200)}`);
}

// Routes of the catalog: everything in it, with the state of each item and why.

import { fileURLToPath } from 'node:url';
import { explainCall } from '../../core/explain.js';
import type { Prompt } from '../../core/prompt.js';
import type { Resource } from '../../core/resource.js';
import type { Skill } from '../../core/skill.js';
import { compareText } from '../../core/text.js';
import { needsTrust, type Tool } from '../../core/tool.js';
import type { Caller, Verdict } from '../../core/toolbox.js';
import type { ServerState } from '../../upstream/catalog/format.js';
import { describeServer } from '../../upstream/entries/mask.js';
import type { Catalog, CatalogItem, CatalogState, Mark, Place } from '../api.js';
import type { PageParts } from './parts.js';

const DOORS: Readonly<Record<string, string>> = { person: 'ui', model: 'mcp', code: 'library' };

/** Returns the caller of `/api/catalog/:as`; a model unless it says otherwise. */
export function callerOf(as: string): Caller {
  const kind = as === 'person' || as === 'code' ? as : 'model';
  return { kind, door: DOORS[kind]! };
}

export async function readCatalog({ toolbox }: PageParts, caller: Caller): Promise<Catalog> {
  const survey = await toolbox.catalog.survey({ caller });
  const { trusted } = toolbox.workspace;
  const servers = toolbox.state.upstreams.states();
  const changed = new Set(servers.flatMap((state) => state.changed));
  const stateOf = (tool: Tool): Pick<CatalogItem, 'state' | 'why'> => {
    if (changed.has(tool.name)) return { state: 'changed', why: 'changed since it was approved' };
    if (tool.traits.hidden) return { state: 'hidden', why: 'its author hides it from listings' };
    if (caller.kind === 'model' && !trusted && needsTrust(tool))
      return { state: 'untrusted', why: 'this workspace is not trusted: run wield trust' };
    return { state: 'listed' };
  };
  const tools = [
    ...survey.tools.map((tool) => toItem(tool, stateOf(tool))),
    ...survey.denied.map(({ tool, verdict }) => toItem(tool, toDenied(verdict))),
    ...survey.unlisted.map((tool) => toItem(tool, { state: 'unlisted', why: 'built in, called by name' })),
    ...survey.shadowed.map(({ tool, by }, at) => ({
      ...toItem(tool, { state: 'shadowed', why: `hidden by ${by.name} of ${describeOrigin(by)}` }),
      id: `shadowed:${at}`,
    })),
  ];
  const items = [
    ...tools.sort(byOrigin),
    ...survey.skills.map(toSkillItem),
    ...(await offerItems(toolbox, caller, 'prompt')),
    ...(await offerItems(toolbox, caller, 'resource')),
    ...servers.map(toServerItem),
  ];
  const problems = survey.problems.map(({ severity, path, message, hint }) => ({ severity, path, message, hint }));
  return { items, problems };
}

// Tools of the workspace first, then those of servers, then built-in ones.
function byOrigin(a: CatalogItem, b: CatalogItem): number {
  const rank = ({ marks, server }: CatalogItem): string =>
    marks.includes('built-in') ? '2' : server === undefined ? '0' : `1${server}`;
  return compareText(rank(a), rank(b)) || compareText(a.name, b.name);
}

/** Describes a tool as an item of the catalog. */
export function toItem(tool: Tool, status: Pick<CatalogItem, 'state' | 'why' | 'place'>): CatalogItem {
  const { name, description, origin, traits } = tool;
  const place = status.place ?? fileOf(tool);
  return {
    id: `tool:${name}`,
    kind: 'tool',
    name,
    ...(traits.title === undefined ? {} : { title: traits.title }),
    description: firstLine(description),
    ...status,
    ...(place === undefined ? {} : { place }),
    format: origin.format,
    ...(origin.owner === 'upstream' && origin.server !== null ? { server: origin.server } : {}),
    ...(origin.source === null ? {} : { source: origin.source }),
    ...(traits.group === undefined ? {} : { group: traits.group }),
    tags: traits.tags,
    marks: marksOf(tool),
  };
}

function toDenied({ reason, rule, source }: Verdict): Pick<CatalogItem, 'state' | 'why' | 'place'> {
  const why = rule === null ? reason : `${reason}: ${rule}`;
  return { state: 'denied', why, ...(source === undefined ? {} : { place: source }) };
}

function toSkillItem({ name, description, file, hidden, tags }: Skill): CatalogItem {
  const status: { state: CatalogState; why?: string } = hidden
    ? { state: 'hidden', why: 'its author hides it from models' }
    : { state: 'listed' };
  const item = { id: `skill:${file}`, kind: 'skill' as const, name, description: firstLine(description) };
  return { ...item, ...status, place: { file, line: null }, tags, marks: [] };
}

type Offer = Prompt | Resource;

async function offerItems(toolbox: PageParts['toolbox'], caller: Caller, kind: 'prompt' | 'resource') {
  const list = (denied: boolean): Promise<readonly Offer[]> =>
    (kind === 'prompt' ? toolbox.catalog.prompts : toolbox.catalog.resources).list({ caller, knownOnly: true, denied });
  const [all, known] = await Promise.all([list(true), list(false)]);
  const shown = new Set(known.map(({ tool }) => tool.name));
  return Promise.all(
    all.map(async (offer): Promise<CatalogItem> => {
      const { tool } = offer;
      const ref = 'uri' in offer ? offer.uri : offer.name;
      const status = shown.has(tool.name)
        ? { state: 'listed' as const }
        : toDenied((await explainCall(toolbox, ref, undefined, { caller, as: kind })).verdict);
      return { ...toItem(tool, status), id: tool.name, kind, marks: [] };
    }),
  );
}

function toServerItem({ server, state, failure, changed }: ServerState): CatalogItem {
  const { name, place } = server;
  const status = describeServerState(state, failure?.message, changed);
  const item = { id: `server:${name}`, kind: 'server' as const, name, description: describeServer(server) };
  return { ...item, ...status, place: { file: place.file, line: place.line }, server: name, tags: [], marks: [] };
}

function describeServerState(
  state: ServerState['state'],
  failure: string | undefined,
  changed: readonly string[],
): Pick<CatalogItem, 'state' | 'why'> {
  if (failure !== undefined) return { state: 'failed', why: failure };
  if (state === 'untrusted') return { state: 'untrusted', why: 'not started until it is trusted or accepted' };
  if (state === 'off') return { state: 'hidden', why: 'disabled in its configuration' };
  if (changed.length > 0) return { state: 'changed', why: `changed since approval: ${changed.join(', ')}` };
  return { state: 'listed' };
}

function marksOf({ traits, origin }: Tool): Mark[] {
  const marks: readonly (readonly [Mark, boolean | undefined])[] = [
    ['destructive', traits.destructive],
    ['read-only', traits.readOnly],
    ['idempotent', traits.idempotent],
    ['open-world', traits.openWorld],
    ['terminal', traits.terminal],
    ['sandbox', traits.sandbox !== undefined],
    ['built-in', origin.builtin],
  ];
  return marks.filter(([, isSet]) => isSet === true).map(([mark]) => mark);
}

function fileOf({ origin: { uri } }: Tool): Place | undefined {
  return uri?.startsWith('file://') ? { file: fileURLToPath(uri.replace(/[?#].*$/, '')), line: null } : undefined;
}

function describeOrigin({ origin }: Tool): string {
  return origin.uri ?? 'this program';
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!;
}

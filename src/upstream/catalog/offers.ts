// Resources, prompts and instructions of upstream servers, from their stored listings.

import type { Caller } from '../../core/caller.js';
import type { OfferSource } from '../../core/format.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import {
  findByTemplate,
  isPage,
  OWN_SCHEMES,
  otherSpellings,
  type Prompt,
  parsePublicUri,
  type Resource,
  toPromptName,
  toResourceName,
} from '../../core/resource.js';
import type { Snapshot } from '../../core/snapshot.js';
import type { RemoteAction, Tool } from '../../core/tool.js';
import { mayStart, type ServerEntry } from '../../core/upstream.js';
import { findDenial } from '../../policy/decide.js';
import { toRules } from '../../policy/rules.js';
import { createJsonSchema } from '../../schema/json.js';
import type { ServerSubscriptions } from '../connection/subscriptions.js';
import type { ServerOffer } from '../remote-tool.js';
import type { UpstreamFormat } from './format.js';
import { createNameCheck, spellingsOf, toPrefix, toServerUri } from './name.js';
import { skillNamesOf } from './skills.js';
import { createFilter, type ServerTools } from './tools.js';

export interface UpstreamOffersOptions {
  readonly format: UpstreamFormat;
  /** Describes how a resource that the server does not list is read. */
  readonly describe: (server: ServerEntry, uri: string) => Tool;
  readonly follow: ServerSubscriptions['follow'];
}

const ANY = createJsonSchema({ type: 'object', additionalProperties: true }, { inspected: true });
const NONE = createJsonSchema({ type: 'object', properties: {} }, { closed: true, inspected: true });

export function createUpstreamOffers({ format, describe, follow }: UpstreamOffersOptions): OfferSource {
  const offersOf = (snapshot: Snapshot, kinds: readonly ServerOffer['kind'][]) =>
    format
      .listed(snapshot)
      .flatMap(({ server, found }) =>
        found.offers.filter(({ kind }) => kinds.includes(kind)).map((offer) => ({ server, found, offer })),
      );
  const promptsOf = (snapshot: Snapshot) => {
    const { servers } = snapshot.servers;
    const checks = new Map(servers.map((server) => [server, createNameCheck(server, servers)]));
    return offersOf(snapshot, ['prompt']).filter(
      ({ server, offer }) => checks.get(server)?.(publicId(server, offer)) === false,
    );
  };
  const publicId = (server: ServerEntry, { kind, id, shown }: ServerOffer): string => {
    if (kind === 'prompt') return shown.name.slice(toPromptName('').length);
    return toServerUri(server, id);
  };

  const findResource = (uri: string, snapshot: Snapshot): Tool | undefined => {
    const at = locate(uri, snapshot, format);
    if (at === undefined) return undefined;
    const { server, found } = at;
    const offer = findListed(found, at.uri);
    if (offer?.kind === 'resource') return withSpellings(offer.tool, at);
    // Rules match the URI that is read, not the template, nor how it was written.
    const name = toResourceName(toServerUri(server, at.uri));
    if (!isSelected(server, name, at.uri)) return undefined;
    if (offer === undefined) return withSpellings({ ...describe(server, at.uri), name }, at);
    const action = { ...(offer.tool.action as RemoteAction), uri: at.uri };
    return withSpellings({ ...offer.tool, name, action, input: NONE }, at);
  };

  return {
    findResource,
    findSubscription(uri, snapshot) {
      const tool = findResource(uri, snapshot);
      return tool && { ...tool, action: { ...(tool.action as RemoteAction), method: 'resources/subscribe' } };
    },
    follow(uri, snapshot, onUpdate, protocol) {
      const at = locate(uri, snapshot(), format);
      return at && follow({ ...at, protocol }, snapshot, onUpdate);
    },
    resources: async (snapshot) =>
      offersOf(snapshot, ['resource', 'template']).map(
        ({ server, found, offer }): Resource => ({
          uri: publicId(server, offer),
          isTemplate: offer.kind === 'template',
          fields: fieldsOf(offer),
          tool: withSpellings(offer.tool, { server, found, uri: offer.id }),
        }),
      ),
    prompts: (snapshot) =>
      promptsOf(snapshot).map(
        ({ server, offer }): Prompt => ({
          name: publicId(server, offer),
          fields: fieldsOf(offer),
          tool: offer.tool,
        }),
      ),
    skills: (snapshot) =>
      offersOf(snapshot, ['skill']).map(({ server, found, offer }) => ({
        uri: publicId(server, offer),
        tool: withSpellings(offer.tool, { server, found, uri: offer.id }),
        describe: () => toPublicSkill(offer.shown.traits.listed ?? {}, server),
      })),
    findPrompt: (name, snapshot) =>
      promptsOf(snapshot).find(({ server, offer }) => publicId(server, offer) === name)?.offer.tool,
    findCompletion(ref, snapshot) {
      const found = [...promptsOf(snapshot), ...offersOf(snapshot, ['template'])].find(
        ({ server, offer }) => publicId(server, offer) === ref,
      );
      if (found === undefined) return undefined;
      const { tool } = found.offer;
      const action = { ...(tool.action as RemoteAction), method: 'completion/complete' as const };
      return { ...tool, action, input: ANY, output: undefined };
    },
  };
}

function fieldsOf({ id, shown: { description, traits } }: ServerOffer): JsonObject {
  const { title, listed = {} } = traits;
  // Rules and pages show a description always; one that the server did not give is not sent to clients.
  const isOwn = description !== (title ?? listed.name ?? id);
  const { description: own = description, ...fields } = listed;
  return { ...fields, ...(isOwn ? { description: own } : {}) } as JsonObject;
}

// The URIs of its files are those that clients read here; an invalid entry is not passed on.
function toPublicSkill({ frontmatter, resources, _meta }: JsonObject, server: ServerEntry): JsonObject | undefined {
  if (!isRecord(frontmatter) || !(Array.isArray(resources) || resources === 'dynamic')) return undefined;
  const files =
    resources === 'dynamic'
      ? resources
      : resources.map((file) =>
          isRecord(file) && typeof file.uri === 'string' ? { ...file, uri: toServerUri(server, file.uri) } : file,
        );
  return { frontmatter, resources: files, ...(_meta === undefined ? {} : { _meta }) } as JsonObject;
}

// What the filter of an entry leaves out cannot be read by its URI either, however it is spelled.
function isSelected(server: ServerEntry, name: string, uri: string): boolean {
  const { allow: _, ...denying } = server;
  const isAllowed = createFilter(denying);
  const others = otherSpellings(uri).map((other) => ({ name: toResourceName(other), remoteName: other }));
  return createFilter(server)({ name, remoteName: uri }) && others.every(isAllowed);
}

// A rule about a skill also restricts its files (SKL-14).
function withSpellings(tool: Tool, { server, found, uri }: Located): Tool {
  const spellings = [...spellingsOf(server, uri), ...skillNamesOf(found.skills, uri)];
  return spellings.length === 0 ? tool : { ...tool, origin: { ...tool.origin, spellings } };
}

interface Located {
  readonly server: ServerEntry;
  readonly found: ServerTools;
  readonly uri: string;
}

function findListed(found: ServerTools, uri: string): ServerOffer | undefined {
  return (
    found.offers.find(({ kind, id }) => kind === 'resource' && id === uri) ??
    findByTemplate(uri, found.offers, ({ kind, id }) => (kind === 'template' ? id : undefined))
  );
}

// The server of a URI, and the URI there. One that keeps names comes first, and is asked for any URI that no other has.
function locate(uri: string, snapshot: Snapshot, format: UpstreamFormat): Located | undefined {
  const listed = format.listed(snapshot).filter(({ found }) => found.listing.capabilities?.resources !== undefined);
  const own = parsePublicUri(uri);
  const prefixed = own && listed.find(({ server }) => server.name === own.server);
  if (prefixed !== undefined) return { ...prefixed, uri: own!.uri };
  // Nobody else answers for a server, nor for our skills and documents.
  if (OWN_SCHEMES.test(uri) && !isPage(uri)) return undefined;
  const keeping = isPage(uri) ? [] : listed.filter(({ server }) => server.prefix === false);
  const kept = keeping.find(({ found }) => findListed(found, uri) !== undefined);
  if (kept !== undefined) return { ...kept, uri };
  // An app names resources of its own server as that server does.
  const listing = listed.filter(({ found }) => found.offers.some(({ kind, id }) => kind === 'resource' && id === uri));
  const other = listing.length === 1 ? listing[0] : keeping[0];
  return other && { ...other, uri };
}

const MODEL: Caller = { kind: 'model', door: 'library' };
// Of one server, and of all together.
const MAX_CHARACTERS = 4000;
const MAX_TOTAL = 16_000;

/** Joins the instructions of servers of which a model sees something, as they were approved, within limits. */
export function joinInstructions(format: UpstreamFormat, snapshot: Snapshot): string {
  const denialOf = (tool: Tool) => findDenial(tool, MODEL, toRules(snapshot));
  const isSeen = (tool: Tool): boolean => !tool.traits.hidden && denialOf(tool) === undefined;
  const textOf = ({ offers }: ServerTools): string => {
    const own = offers.find(({ kind }) => kind === 'instructions');
    // A list of tools need not name the instructions, but a rule that denies them hides them.
    return own === undefined || (denialOf(own.tool)?.rule ?? null) !== null ? '' : own.shown.description;
  };
  let left = MAX_TOTAL;
  const texts = format.listed(snapshot).flatMap(({ server, found }) => {
    const isShown = mayStart(server, snapshot) && [...found.tools, ...found.offers.map(toOffered)].some(isSeen);
    const text = isShown ? cut(textOf(found), Math.min(MAX_CHARACTERS, left)) : '';
    left -= text.length;
    return text === '' ? [] : [`${introduce(server)}\n${text}`];
  });
  return texts.join('\n\n');
}

function toOffered({ kind, tool }: ServerTools['offers'][number]): Tool {
  return kind === 'instructions' ? { ...tool, traits: { ...tool.traits, hidden: true } } : tool;
}

function introduce({ name, prefix }: ServerEntry): string {
  const names = prefix === false ? '' : `, whose tools are named ${toPrefix(name)}… here`;
  return `Instructions of the MCP server ${name}${names}:`;
}

function cut(text: string, limit: number): string {
  if (limit < 2) return '';
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}

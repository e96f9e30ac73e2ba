// Skills of upstream servers by name: `<server>_<path>`, from entries that follow the format of Skills over MCP.

import { orNothing } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { otherSpellings } from '../../core/resource.js';
import type { RemoteSkill, RemoteSkillFile } from '../../core/skill.js';
import { isSkillEntry, MAIN_FILE } from '../../core/skill-entry.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { ServerOffer } from '../remote-tool.js';
import { spellingsOf, toServerUri, toToolName } from './name.js';

/** Of one server; names of more are not offered. */
const MAX_SKILLS = 1000;

/** A skill of a server, with its tool as it is and as it was approved. */
export interface ServerSkill {
  readonly tool: Tool;
  readonly shown: Tool;
  readonly files: RemoteSkill['files'];
  /** The URI of its directory for clients. */
  readonly directory: string;
}

/** Skills by the URI of their directory at the server. */
export type ServerSkills = ReadonlyMap<string, ServerSkill>;

/** Returns the skills of a server that can be read by name, the first of each name (SKL-14). */
export function toServerSkills(offers: readonly ServerOffer[], server: ServerEntry): ServerSkills {
  const found = new Map<string, ServerSkill>();
  const names = new Set<string>();
  for (const { kind, id, tool, shown } of offers) {
    const entry = shown.traits.listed ?? {};
    if (kind !== 'skill' || found.size === MAX_SKILLS || !isSkillEntry(id, entry)) continue;
    const root = id.slice(0, -MAIN_FILE.length);
    const name = toToolName(server.name, root.replace(/^[a-z][\w+.-]*:\/*/i, ''));
    if (names.has(name)) continue;
    names.add(name);
    // Rules that restrict the resource apply to the skill.
    const spellings = [tool.name, ...spellingsOf(server, id)];
    found.set(root, {
      tool: toSkillTool(tool, name, spellings),
      shown: toSkillTool(shown, name, spellings),
      files: toFiles(entry, root, server),
      directory: toServerUri(server, root),
    });
  }
  return found;
}

function toSkillTool(tool: Tool, name: string, spellings: readonly string[]): Tool {
  const { listed: _, ...traits } = tool.traits;
  return {
    ...tool,
    name,
    traits: { ...traits, text: true, readOnly: true },
    origin: { ...tool.origin, spellings },
  };
}

function toFiles({ resources }: JsonObject, root: string, server: ServerEntry): RemoteSkill['files'] {
  if (!Array.isArray(resources)) return 'dynamic';
  return resources.flatMap((file): RemoteSkillFile[] => {
    if (!isRecord(file) || typeof file.uri !== 'string' || typeof file.size !== 'number') return [];
    const { uri, size } = file;
    const path = orNothing(() => decodeURIComponent(uri.slice(root.length + 1)));
    return path === undefined ? [] : [{ path, size, uri: toServerUri(server, uri) }];
  });
}

/** Returns the names of the skills that a URI of a server belongs to, however it is spelled. */
export function skillNamesOf(skills: ServerSkills, uri: string): readonly string[] {
  if (skills.size === 0) return [];
  const names = [uri, ...otherSpellings(uri)].flatMap((one) =>
    parentsOf(one).map((root) => skills.get(root)?.tool.name),
  );
  return [...new Set(names)].filter((name) => name !== undefined);
}

function parentsOf(uri: string): readonly string[] {
  return [...uri.matchAll(/\//g)].map(({ index }) => uri.slice(0, index));
}

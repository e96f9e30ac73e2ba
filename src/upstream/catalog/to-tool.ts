// Converts a stored upstream tool to a Tool; schemas are parsed on first use.

import { canonicalJson, isRecord, type Json } from '../../core/json.js';
import { toRemoteUri } from '../../core/name.js';
import type { JsonSchema } from '../../core/schema.js';
import type { RemoteAction, Tool, Traits } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { digestParts } from '../../files/digest.js';
import { createJsonSchema } from '../../schema/json.js';
import type { OfferKind, RemoteTool } from '../remote-tool.js';
import { toOfferedName } from './name.js';

/** A tool in the stored tool list of its server. */
export interface StoredTool {
  readonly name: string;
  readonly remoteName: string;
  /** Absent for a tool. */
  readonly offers?: OfferKind;
  readonly description: string;
  readonly traits: Traits;
  readonly definition: string;
  readonly described?: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  /** The approved definition of a changed tool, which is shown until it is accepted (POL-21). */
  readonly approved?: ApprovedDefinition;
  readonly changed?: true;
}

export type ApprovedDefinition = Pick<StoredTool, 'description' | 'traits' | 'input' | 'output'>;

export function toTool(load: () => StoredTool, head: StoredHead, place: ToolPlace): Tool {
  const { server } = place;
  return {
    name: head.name,
    description: head.description,
    traits: server.timeoutMs === undefined ? head.traits : { ...head.traits, timeoutMs: server.timeoutMs },
    origin: {
      format: 'upstream',
      uri: toRemoteUri(server.name, head.offers === undefined ? head.remoteName : `${head.offers}:${head.remoteName}`),
      directory: null,
      source: server.place.file,
      digest: null,
      server: server.name,
      owner: 'upstream',
      otherName: otherNameOf(head, server),
      configuredBy: server.owner === 'workspace' ? 'workspace' : undefined,
    },
    get input() {
      return createJsonSchema(load().input, { closed: true });
    },
    get output() {
      const { output } = load();
      return output && createJsonSchema(output);
    },
    get action(): RemoteAction {
      const { definition, described } = load();
      return {
        kind: 'remote',
        server: server.name,
        tool: head.remoteName,
        target: place.target,
        configuration: place.configuration,
        definition,
        described,
        method: methodOf(head),
      };
    },
  } as Tool;
}

/** The fields of a tool that a listing shows. */
export type StoredHead = Pick<StoredTool, 'name' | 'remoteName' | 'offers' | 'description' | 'traits' | 'changed'>;

function methodOf({ offers }: StoredHead): RemoteAction['method'] {
  if (offers === undefined) return undefined;
  return offers === 'prompt' ? 'prompts/get' : 'resources/read';
}

function otherNameOf({ name, remoteName, offers }: StoredHead, server: ServerEntry): string | undefined {
  if (server.prefix !== false) return undefined;
  const prefixed = toOfferedName({ ...server, prefix: undefined }, { name: remoteName, offers });
  return prefixed === name ? undefined : prefixed;
}

/** The server of a tool. */
export interface ToolPlace {
  readonly server: ServerEntry;
  readonly configuration: string;
  readonly target: string;
}

// The size and the time of a resource change with its content, which is not pinned.
function withoutContent(tool: RemoteTool): RemoteTool {
  if (tool.offers !== 'resource' || tool.fields === undefined) return tool;
  const { size: _, annotations, ...fields } = tool.fields;
  if (!isRecord(annotations)) return { ...tool, fields };
  const { lastModified: __, ...kept } = annotations as Record<string, Json>;
  return { ...tool, fields: { ...fields, annotations: kept } };
}

const digests = new WeakMap<RemoteTool, string>();

/** Returns the digest of a definition as the server sent it (POL-21). */
export function digestDefinition(tool: RemoteTool): string {
  let digest = digests.get(tool);
  if (digest === undefined) {
    digest = digestParts([canonicalJson(withoutContent(tool) as unknown as Json)]);
    digests.set(tool, digest);
  }
  return digest;
}

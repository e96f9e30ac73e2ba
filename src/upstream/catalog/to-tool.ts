// What was kept of a server's tool becomes a tool; its schemas are read when someone asks for them.

import type { JsonSchema } from '../../core/schema.js';
import type { RemoteAction, Tool, Traits } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { createJsonSchema } from '../../schema/json.js';
import { toUri } from './name.js';

/** What of a tool is kept between two starts of its server: its schemas as text, read when someone asks. */
export interface KeptTool {
  readonly name: string;
  readonly remoteName: string;
  readonly description: string;
  readonly traits: Traits;
  readonly definition: string;
  readonly described?: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  /** What was approved of it, where it is another by now: until someone approves it again, that is shown (POL-21). */
  readonly approved?: Approved;
  readonly changed?: true;
}

export type Approved = Pick<KeptTool, 'description' | 'traits' | 'input' | 'output'>;

/** The tool of what was kept. */
export function toTool(kept: () => KeptTool, head: KeptHead, place: ToolPlace): Tool {
  const { server } = place;
  return {
    name: head.name,
    description: head.description,
    traits: {
      ...head.traits,
      ...(server.timeoutMs === undefined ? {} : { timeoutMs: server.timeoutMs }),
    },
    origin: {
      format: 'upstream',
      uri: toUri(server.name, head.remoteName),
      directory: null,
      source: server.place.file,
      digest: null,
      server: server.name,
      owner: 'upstream',
      ...(server.owner === 'workspace' ? { configuredBy: 'workspace' as const } : {}),
    },
    get input() {
      return createJsonSchema(kept().input, { closed: true });
    },
    get output() {
      const { output } = kept();
      return output && createJsonSchema(output);
    },
    get action(): RemoteAction {
      const { definition, described } = kept();
      return {
        kind: 'remote',
        server: server.name,
        tool: head.remoteName,
        target: place.target,
        configuration: place.configuration,
        definition,
        ...(described === undefined ? {} : { described }),
      };
    },
  } as Tool;
}

/** What a listing shows of a tool. */
export type KeptHead = Pick<KeptTool, 'name' | 'remoteName' | 'description' | 'traits' | 'changed'>;

/** The server that a tool is of. */
export interface ToolPlace {
  readonly server: ServerEntry;
  readonly configuration: string;
  readonly target: string;
}

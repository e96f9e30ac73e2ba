// Skills over MCP (SEP-2640): `skills/list`, `skills/get` and `resources/directory/read`.

import { createTurns } from '../core/async.js';
import { isRecord, type JsonObject } from '../core/json.js';
import type { SkillOffer } from '../core/resource.js';
import type { Infer } from '../core/shape.js';
import { isSkillEntry, MAIN_FILE } from '../core/skill-entry.js';
import { quoteOutside } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { ERROR, RpcError } from '../net/mcp.js';
import type { PARAM_SHAPES } from './message.js';
import { toPage } from './pages.js';
import { callerOf, type RequestScope } from './request.js';

type Params<Name extends keyof typeof PARAM_SHAPES> = Infer<(typeof PARAM_SHAPES)[Name]>;

const DIRECTORY = 'inode/directory';
const TYPES: Readonly<Record<string, string>> = { md: 'text/markdown', json: 'application/json', html: 'text/html' };

export function createSkillHandlers({ catalog }: Toolbox) {
  const list = (scope: RequestScope) => catalog.skills.list({ caller: callerOf(scope) });
  return {
    async list({ cursor }: Params<'list'>, scope: RequestScope): Promise<object> {
      const turn = createTurns();
      const skills: JsonObject[] = [];
      for (const offer of await list(scope)) {
        await turn();
        skills.push(...describe(offer));
      }
      return toPage('skills', skills, cursor);
    },
    async get({ uri }: Params<'resource'>, scope: RequestScope): Promise<object> {
      const offers = await list(scope);
      const [skill] = offers.filter((offer) => offer.uri === uri).flatMap(describe);
      if (skill === undefined) throw unknown(`No skill is served at ${quoteOutside(uri, 300)}`);
      return { skill };
    },
    /** Lists the files and directories directly in a directory of a skill. */
    async readDirectory({ uri, cursor }: Params<'directory'>, scope: RequestScope): Promise<object> {
      const children = new Map<string, object>();
      for (const skill of await list(scope)) {
        const root = skill.uri.slice(0, -MAIN_FILE.length);
        if (uri !== root && !uri.startsWith(`${root}/`) && !root.startsWith(`${uri}/`)) continue;
        for (const file of describe(skill).flatMap(filesOf)) {
          if (!file.startsWith(`${uri}/`)) continue;
          const [name = '', ...below] = file.slice(uri.length + 1).split('/');
          children.set(name, toChild(`${uri}/${name}`, name, below.length > 0));
        }
      }
      if (children.size === 0) throw unknown(`${quoteOutside(uri, 300)} is not a directory of a skill`);
      return toPage('resources', [...children.values()], cursor);
    },
  };
}

// Returns the fields of a skill, if they are valid.
function describe({ uri, describe }: SkillOffer): JsonObject[] {
  const fields = describe();
  return fields !== undefined && isSkillEntry(uri, fields) ? [{ ...fields, uri }] : [];
}

// A skill whose files change with every read lists none of them.
function filesOf({ uri, resources }: JsonObject): string[] {
  if (!Array.isArray(resources)) return [String(uri)];
  return resources.flatMap((entry) => (isRecord(entry) && typeof entry.uri === 'string' ? [entry.uri] : []));
}

function toChild(uri: string, encoded: string, isDirectory: boolean): object {
  const name = decodeURIComponent(encoded);
  const type = isDirectory ? DIRECTORY : TYPES[name.slice(name.lastIndexOf('.') + 1)];
  return { uri, name, ...(type === undefined ? {} : { mimeType: type }) };
}

function unknown(message: string): RpcError {
  return new RpcError(ERROR.invalidParams, message);
}

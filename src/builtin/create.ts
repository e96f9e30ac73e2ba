// The built-in tools of a workdir, each given what it looks at.

import type { Catalog } from '../catalog/catalog.js';
import type { References } from '../catalog/skill-references.js';
import type { QueryOptions } from '../context/query/run.js';
import { createContextTools } from '../context/tools/create.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';
import type { Toolbox } from '../core/toolbox.js';
import { createCapabilitiesTool } from './capabilities.js';
import { createDescribeTools } from './describe-tools.js';
import { createMcpTools } from './mcp.js';
import type { Offer } from './offer.js';
import { createReadResultTool } from './read-result.js';
import { createReadSkillTool } from './skills.js';
import { createWorkdirTool, type WorkdirToolOptions } from './workdir.js';

export interface CreateBuiltinsOptions {
  readonly workdir: WorkdirToolOptions;
  readonly queries: QueryOptions;
  readonly offer: Offer;
  readonly settings: () => Settings;
  /** These come to be after the tools that ask them. */
  readonly catalog: () => Catalog;
  readonly references: () => References;
  readonly toolbox: () => Toolbox;
}

export function createBuiltins(options: CreateBuiltinsOptions): Tool[] {
  const { workdir, queries, offer, settings, catalog, references, toolbox } = options;
  return [
    createWorkdirTool(workdir),
    createReadSkillTool(offer.skills, (reference, directory) => references().refer(reference, directory)),
    ...createDescribeTools({
      list: (caller) => catalog().list().tools.filter(offer.mayName(caller)),
      find: (name, caller) =>
        catalog().find(name, {
          visibleOnly: caller === 'model',
          mayName: offer.mayName(caller),
          namedOnly: true,
        }),
    }),
    createReadResultTool(() => settings().results.inline),
    ...createContextTools(queries),
    ...createMcpTools({
      list: (kind) => toolbox().list({ caller: { kind, door: 'library' } }),
      search: (query, limit, kind) => toolbox().search(query, limit, { caller: { kind, door: 'library' } }),
    }),
    createCapabilitiesTool({
      tools: () => toolbox().list({ caller: { kind: 'model', door: 'library' } }),
      model: () => {
        const { model } = settings();
        const key = model?.keyVariable;
        return model === undefined
          ? undefined
          : { model, key: key === undefined ? undefined : queries.world.env[key] };
      },
    }),
  ];
}

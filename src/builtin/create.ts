// Creates the built-in tools of a workspace.

import type { BackgroundProcesses } from '../background/processes.js';
import type { SuspendedPrograms } from '../code/host/suspended.js';
import type { QueryOptions } from '../context/query/run.js';
import { createContextTools } from '../context/tools/create.js';
import type { SessionLabels } from '../core/label.js';
import type { Workspace } from '../core/snapshot.js';
import type { Stores } from '../core/store.js';
import type { Tool } from '../core/tool.js';
import { createBackgroundTools } from './background.js';
import type { GetParts } from './builtin.js';
import { type CapabilitiesOptions, createCapabilitiesTool } from './capabilities.js';
import { createDescribeTools } from './describe-tools.js';
import { createMcpTools } from './mcp.js';
import { createQueryResultTool } from './query-result.js';
import { createReadResultTool } from './read-result.js';
import { createRunCodeTool } from './run-code.js';
import { createSearchModeTools } from './search-tools.js';
import { createReadSkillTool, createRunScriptTool, type DescribeMissingOf } from './skills.js';
import { createWorkdirTool } from './workdir.js';

export interface CreateBuiltinsOptions extends Pick<CapabilitiesOptions, 'createFetch'> {
  readonly parts: GetParts;
  readonly workspace: Workspace;
  readonly queries: QueryOptions;
  readonly suspended: SuspendedPrograms;
  readonly stores: Pick<Stores, 'results' | 'session'>;
  readonly background: BackgroundProcesses;
  readonly labels: SessionLabels;
  readonly missing: DescribeMissingOf;
}

export function createBuiltins(options: CreateBuiltinsOptions): Tool[] {
  const { parts, workspace, queries, suspended, stores, background, labels, missing, createFetch } = options;
  const { world, beforeRun } = queries;
  return [
    createWorkdirTool(workspace),
    createReadSkillTool(parts, missing),
    createRunScriptTool(parts),
    ...createDescribeTools(parts),
    createReadResultTool(),
    createQueryResultTool(queries),
    ...createBackgroundTools(background),
    ...createSearchModeTools(parts),
    createRunCodeTool(parts, {
      ...{ world, beforeRun, suspended, labels },
      async adopt(ids, { session = stores.session }) {
        for (const id of ids) await stores.results.adopt?.(id, session);
      },
    }),
    ...createContextTools(queries),
    ...createMcpTools(parts),
    createCapabilitiesTool(parts, { env: world.env, createFetch }),
  ];
}

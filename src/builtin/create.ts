// Creates the built-in tools of a workspace.

import type { BackgroundProcesses } from '../background/processes.js';
import type { Catalog } from '../catalog/catalog.js';
import type { References } from '../catalog/skill-references.js';
import type { SuspendedPrograms } from '../code/host/suspended.js';
import type { QueryOptions } from '../context/query/run.js';
import { createContextTools } from '../context/tools/create.js';
import type { Caller } from '../core/caller.js';
import type { SessionLabels } from '../core/label.js';
import type { CascadeResolver, RemoteSkill } from '../core/skill.js';
import type { Snapshot, Workspace } from '../core/snapshot.js';
import type { Stores } from '../core/store.js';
import type { Tool } from '../core/tool.js';
import { listTools, type SearchTools } from '../runtime/list.js';
import { createBackgroundTools } from './background.js';
import { type CapabilitiesOptions, createCapabilitiesTool } from './capabilities.js';
import { createDescribeTools } from './describe-tools.js';
import { createMcpTools } from './mcp.js';
import { createQueryResultTool } from './query-result.js';
import { createReadResultTool } from './read-result.js';
import { createRunCodeTool } from './run-code.js';
import { createSearchModeTools } from './search-mode.js';
import { createReadSkillTool, createRunScriptTool, type ReadSkillOptions } from './skills.js';
import { mayName, readableRemoteSkills, readableSkills } from './visibility.js';
import { createWorkdirTool } from './workdir.js';

export interface CreateBuiltinsOptions
  extends Pick<ReadSkillOptions, 'missing'>,
    Pick<CapabilitiesOptions, 'createFetch'> {
  readonly workspace: Workspace;
  readonly queries: QueryOptions;
  /** Functions, because these are created after the built-in tools. */
  readonly catalog: () => Catalog;
  readonly references: () => References;
  readonly search: () => SearchTools;
  readonly cascade: () => CascadeResolver;
  readonly remoteSkills: (snapshot: Snapshot) => readonly RemoteSkill[];
  readonly suspended: SuspendedPrograms;
  readonly stores: Pick<Stores, 'results' | 'session'>;
  readonly background: BackgroundProcesses;
  readonly labels: SessionLabels;
}

export function createBuiltins(options: CreateBuiltinsOptions): Tool[] {
  const { workspace, queries, catalog, references, search, cascade, remoteSkills, suspended, stores, background } =
    options;
  const naming = () => ({ catalog: catalog(), cascade: cascade() });
  const list = (caller: Caller, snapshot: Snapshot) => listTools(naming(), snapshot, { caller });
  return [
    createWorkdirTool(workspace),
    createReadSkillTool({
      skills: (snapshot, name) => readableSkills(naming(), snapshot, name),
      remote: (snapshot) => readableRemoteSkills(remoteSkills(snapshot), snapshot),
      refer: (...reference) => references().refer(...reference),
      missing: options.missing,
    }),
    createRunScriptTool({
      skills: (snapshot, name) => readableSkills(naming(), snapshot, name),
      find: (name, snapshot) => catalog().find(name, { snapshot }),
    }),
    ...createDescribeTools({
      list({ kind }, snapshot) {
        const { tools, skills } = catalog().list(snapshot);
        return tools.filter((tool) => mayName(cascade(), tool, kind, snapshot, skills));
      },
      find: (name, { kind }, snapshot) =>
        catalog().find(name, {
          snapshot,
          visibleOnly: kind === 'model',
          mayName: (tool, skills) => mayName(cascade(), tool, kind, snapshot, skills),
          namedOnly: true,
        }),
    }),
    createReadResultTool(),
    createQueryResultTool(queries),
    ...createBackgroundTools(background),
    ...createSearchModeTools({
      catalog,
      cascade,
      search: (...query) => search()(...query),
      list: (caller, snapshot) => listTools(naming(), snapshot, { caller, knownOnly: true }),
    }),
    createRunCodeTool({
      world: queries.world,
      beforeRun: queries.beforeRun,
      list: (caller, snapshot, knownOnly) => listTools(naming(), snapshot, { caller, knownOnly }),
      search: (...query) => search()(...query),
      suspended,
      labels: options.labels,
      async adopt(ids, { session = stores.session }) {
        for (const id of ids) await stores.results.adopt?.(id, session);
      },
    }),
    ...createContextTools(queries),
    ...createMcpTools({ list, search: (...query) => search()(...query) }),
    createCapabilitiesTool({
      tools: (snapshot) => list({ kind: 'model', door: 'library' }, snapshot),
      env: queries.world.env,
      createFetch: options.createFetch,
    }),
  ];
}

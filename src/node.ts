// The composition root: wires formats, executors, policy and state into the toolbox of a workdir.

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AuditRecorder, createRecorder } from './audit/recorder.js';
import { createCapabilitiesTool, readCapabilities } from './builtin/capabilities.js';
import { createDescribeTools } from './builtin/describe-tools.js';
import { createReadResultTool, READ_RESULT } from './builtin/read-result.js';
import { createReadSkillTool, describeSkills, isVisible, READ_SKILL } from './builtin/skills.js';
import { createTaskTools } from './builtin/task.js';
import { createWorkdirTool } from './builtin/workdir.js';
import { type Configuration, createConfiguration } from './config/index.js';
import { createLazyDocuments } from './context/store/lazy.js';
import { createResultFiles } from './context/store/results.js';
import { CONTEXT_GROUP, CONTEXT_QUERY, createContextTools } from './context/tools/index.js';
import { ToolError } from './core/error.js';
import type { Place } from './core/format.js';
import type { Middleware, MiddlewareFunction } from './core/middleware.js';
import { DEFAULT_PATHS, fillRest, type PathEntry, readPaths } from './core/search-path.js';
import type { Settings } from './core/settings.js';
import type { Skill } from './core/skill.js';
import type { CallerKind, Owner, Tool } from './core/tool.js';
import type { Toolbox } from './core/toolbox.js';
import type { World } from './core/world.js';
import { createDelegateExecutor } from './executors/delegate.js';
import { createFunctionExecutor } from './executors/function.js';
import { createModuleExecutor } from './executors/host/index.js';
import { createProcessExecutor } from './executors/process/index.js';
import { createTextExecutor } from './executors/text.js';
import { digestParts } from './files/digest.js';
import { statOrNothing } from './files/read.js';
import { isWithin, realPath } from './files/within.js';
import type { ToolDefinition } from './formats/module/define.js';
import { createModuleFormat } from './formats/module/index.js';
import { createPackageFormat, findAlteration } from './formats/package.js';
import { createScriptFormat } from './formats/script.js';
import { createSkillFormat } from './formats/skill.js';
import { createToolsJsonFormat } from './formats/tools-json.js';
import { createConfiguredMiddleware } from './middleware/index.js';
import type { ApprovalStore } from './policy/approvals.js';
import { findDenial } from './policy/decide.js';
import { createPinStore, type PinStore } from './policy/pins.js';
import { createTrustStore, type TrustStore } from './policy/trust.js';
import { isGranted } from './process/environment.js';
import { MARK } from './process/group.js';
import { createGuard } from './process/guard.js';
import { createAuthorities } from './resolve/authority.js';
import { createCascadeResolver } from './resolve/cascade.js';
import { createCatalog, type Offered } from './resolve/catalog.js';
import { createIndexFile } from './resolve/index-file.js';
import { createReferences, isToolOf } from './resolve/references.js';
import { findMissing, findSearchPath, toDirectory } from './resolve/search-path.js';
import { createWatch, watchedDirectories } from './resolve/watch.js';
import { assembleToolbox, type Stores } from './runtime/create.js';
import { toMiddleware } from './runtime/steps.js';
import { createJsonSchema } from './schema/json.js';
import { createTracer } from './telemetry.js';
import { toRegistry } from './toolbox.js';
import { findWorkdir } from './workspace.js';

export type { Approval, ApprovalStore } from './policy/approvals.js';

export interface NodeToolboxOptions {
  /** The workdir itself; without it the nearest one from `cwd` upward is found. */
  readonly workdir?: string;
  readonly cwd?: string;
  /** Tools given by code; they win over every other of their name. */
  readonly tools?: readonly ToolDefinition[];
  /** The search path, over every configuration; `...` in it stands for what that says (RES-6). */
  readonly paths?: readonly PathEntry[];
  /** What runs are wrapped in, around what the configuration names; the first is outermost. */
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
  /** Built-in tools that are listed, by name or group; all can be called by a person or code. */
  readonly offer?: readonly string[];
  /** Trusts the workspace for the life of this toolbox (POL-22). */
  readonly trust?: boolean;
  /** Ends running tools also where this process is killed without warning; for servers. */
  readonly guard?: boolean;
  /** The environment to read; the process's own by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where debug lines go; nowhere by default. */
  readonly debug?: (message: string) => void;
  /** Where a failure is told that no call shows, such as an audit log that cannot be written; nowhere by default. */
  readonly warn?: (message: string) => void;
}

/** A toolbox with what belongs to the machine around it. */
export interface NodeToolbox extends Toolbox {
  readonly wieldHome: string;
  readonly trustStore: TrustStore;
  readonly pinStore: PinStore;
  readonly stores: Stores;
  readonly world: World;
  /** Whether this process was started by a tool: then it can neither approve nor trust anything (A44). */
  readonly insideCall: boolean;
  readonly audit: Pick<AuditRecorder, 'directory' | 'findFault'>;
  configuration(): Configuration;
  approvals(): Promise<ApprovalStore>;
  /** Writes the index that a library ships into its directory of skills (RES-22). */
  writeIndex(directory: string): Promise<{ file: string; entries: number; tools: number }>;
  /** Removes it, where there is one. */
  removeIndex(directory: string): Promise<{ file: string; removed: boolean }>;
}

// Raised whenever a line of the index means something else.
const INDEX_VERSION = '12';
const MANAGED_CONFIG = '/etc/wield/config.toml';

/** The default toolbox of a workdir. */
export function createNodeToolbox(options: NodeToolboxOptions = {}): NodeToolbox {
  const world = createWorld(options);
  const wieldHome = findWieldHome(world);
  const uid = process.getuid?.();
  let workdir =
    options.workdir === undefined
      ? findWorkdir({ cwd: options.cwd ?? process.cwd(), home: world.home, uid })
      : resolve(options.workdir);
  const firstWorkdir = workdir;
  const setWorkdir = (directory: string): void => {
    if (!isAbsolute(directory)) {
      throw new ToolError('usage', `the workdir must be an absolute path, not ${directory}`, {
        hint: 'resolve it first',
      });
    }
    workdir = directory;
    watching.refresh();
  };
  const store: Place = { directory: join(wieldHome, 'store', 'tool'), owner: 'package', kind: 'packages' };
  const namedPaths = options.paths === undefined ? undefined : assertPaths(options.paths);
  // RES-6, SCR-17: the search path first, then the workdir's scripts, then the person's own.
  const searchPath = () => ({
    entries: namedPaths === undefined ? settings().paths : fillRest(namedPaths, settings().paths),
    expected: DEFAULT_PATHS,
    workdir,
    home: world.home,
    workspaces: [...new Set([workdir, firstWorkdir, ...roots()])],
  });
  // INS-22: what is installed comes last; where nothing is, nothing is looked for.
  const places = () => [
    ...findSearchPath(searchPath()),
    ...findScriptPlaces(workdir, world.home),
    ...(statOrNothing(store.directory) === undefined ? [] : [store]),
  ];
  // Trust and the user's configuration change what is offered, so their directory is watched too.
  const watching = createWatch(() => [...places().flatMap(watchedDirectories), wieldHome], world);
  const configuration = createConfiguration({
    managed: MANAGED_CONFIG,
    wieldHome,
    workdir: () => workdir,
    now: world.now,
  });
  const settings = () => configuration().settings;
  const trustStore = createTrustStore(wieldHome);
  const pinStore = createPinStore(wieldHome);
  const trusted = (): boolean => options.trust === true || trustStore.isTrusted(workdir);
  const roots = (): readonly string[] => {
    const named = settings().roots.map(
      (root) => toDirectory(root, firstWorkdir, world.home) ?? resolve(firstWorkdir, root),
    );
    return named.length > 0 ? named : [firstWorkdir];
  };

  const isReadOnDemand = (owner: Owner): boolean =>
    settings().skills.contextMode === 'readOnDemand' || (owner === 'workspace' && !trusted());
  const isNamed = (name: string, group: string | undefined): boolean =>
    [...(options.offer ?? []), ...settings().offer].some((entry) => entry === name || entry === group);
  const isOffered = ({ name, traits }: Tool, skills: readonly Skill[]): Offered => {
    if (isNamed(name, traits.group)) return 'all';
    if (name === READ_SKILL && skills.some((skill) => isVisible(skill) && isReadOnDemand(skill.owner)))
      return 'all';
    // SRV-14: whoever is given a handle must be able to read it; a person has the whole output.
    return name === READ_RESULT ? 'models' : 'none';
  };
  const stores = createStores({
    state: () => findProjectState(wieldHome, firstWorkdir),
    settings,
    world,
    canQuery: () => isNamed(CONTEXT_QUERY, CONTEXT_GROUP),
  });

  const skillFormat = createSkillFormat();
  const packages = {
    store: store.directory,
    record: join(wieldHome, 'installed.json'),
    objects: join(wieldHome, 'objects'),
  };
  const packageFormat = createPackageFormat(packages);
  const findDenialOf = (tool: Tool, kind: CallerKind) =>
    findDenial(tool, { kind, door: 'library' }, { policy: configuration().policy, within: [] });
  const mayName = (kind: CallerKind) => (tool: Tool) => findDenialOf(tool, kind) === undefined;
  // POL-12: the texts of skills are read through one tool; only a rule that names a skill takes its text away.
  const readableSkills = (): readonly Skill[] => {
    const { tools, skills } = catalog.list();
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    return skills.filter((skill) => {
      const tool = byName.get(skill.name);
      if (tool === undefined || !isToolOf(skill, tool)) return true;
      return (findDenialOf(tool, 'model')?.rule ?? null) === null;
    });
  };
  const beforeRun = options.guard ? { beforeRun: createGuard(world) } : {};
  const modules = {
    cacheDirectory: join(wieldHome, 'cache', 'modules'),
    world,
  };
  const moduleExecutor = createModuleExecutor({ ...modules, ...beforeRun, settings, entry: findHostEntry });
  const formats = [
    createToolsJsonFormat(),
    skillFormat,
    createScriptFormat(world),
    createModuleFormat({
      ...modules,
      mayLoad: ({ owner }) => owner !== 'workspace' || trusted(),
      describe: (source) => moduleExecutor.describe(source, workdir),
    }),
    packageFormat,
  ];

  const catalog = createCatalog({
    registered: toRegistry(options.tools ?? []),
    builtin: [
      createWorkdirTool({ get: () => workdir, set: setWorkdir, roots }),
      createReadSkillTool(readableSkills, (reference, directory) => references.refer(reference, directory)),
      ...createDescribeTools({
        list: (caller) => catalog.list().tools.filter(mayName(caller)),
        find: (name, caller) =>
          catalog.find(name, { visibleOnly: caller === 'model', mayName: mayName(caller), namedOnly: true }),
      }),
      createReadResultTool(() => settings().results.inline),
      ...createContextTools({ world, entry: findQueryEntry, ...beforeRun }),
      createCapabilitiesTool({
        tools: () => toolbox.list({ caller: { kind: 'model', door: 'library' } }),
        model: () => {
          const { model } = settings();
          const key = model?.keyVariable;
          return model === undefined
            ? undefined
            : { model, key: key === undefined ? undefined : world.env[key] };
        },
      }),
    ],
    yielding: createTaskTools(),
    offered: isOffered,
    places,
    toAbsolute: (path) => toDirectory(path, workdir, world.home),
    ownerOf: (directory) => findOwner(directory, places()),
    formats,
    index: createIndexFile({
      directory: join(wieldHome, 'cache', 'index'),
      version: INDEX_VERSION,
      toSchema: (json, face) => createJsonSchema(json, { closed: face === 'input' }),
      world,
    }),
    world,
  });
  let approvalStore: ApprovalStore | undefined;
  const approvals = async (): Promise<ApprovalStore> => {
    const { createApprovalStore } = await import('./policy/approvals.js');
    approvalStore ??= createApprovalStore({ directory: join(wieldHome, 'approvals'), now: world.now });
    return approvalStore;
  };
  const recorder = createRecorder({
    wieldHome,
    look: () => {
      const now = configuration();
      return { settings: now.settings.audit, secrets: findSecrets(now, world) };
    },
    workdir: () => workdir,
    pid: process.pid,
    world,
    warn: options.warn ?? (() => {}),
  });
  const references = createReferences(catalog, mayName('model'));
  const cascade = createCascadeResolver({
    authorities: createAuthorities({
      readSkill: (directory, owner) =>
        skillFormat.read(basename(directory), { directory: dirname(directory), owner, kind: 'skills' }),
      workdir: () => workdir,
      roots: function* () {
        yield* findRoots(workdir, world.home);
        yield* places();
      },
      now: world.now,
    }),
    find: catalog.find,
    trusted,
  });
  const toolbox = assembleToolbox({
    catalog,
    approvals,
    cascade,
    references,
    executors: [
      createProcessExecutor({ world, settings, ...beforeRun }),
      moduleExecutor,
      createFunctionExecutor({ digest: digestParts, debug: world.debug }),
      createTextExecutor({ refer: references.refer }),
      createDelegateExecutor({ digest: digestParts }),
    ],
    trusted,
    instructions: ({ capabilities = false }) => {
      const skills = describeSkills(readableSkills(), {
        mode: settings().skills.contextMode,
        trusted: trusted(),
        mayRead: mayName('model')(catalog.find(READ_SKILL)),
        refer: references.refer,
      });
      // SDK-11: the text of a checkout that nobody trusts is not put into a model's mouth.
      const told = [...(world.home === undefined ? [] : [world.home]), ...(trusted() ? [workdir] : [])];
      const inventories = capabilities ? [...new Set(told)].map(readCapabilities) : [];
      return [...inventories, skills].filter((text) => text !== '').join('\n\n');
    },
    stores,
    watch: watching.add,
    rules: (tool, call) => {
      const altered = tool.origin.owner === 'package' ? findAlteration(tool, packages) : undefined;
      // A person is told, and decides by calling; the pin would only ask them about the same bytes again.
      if (altered !== undefined) {
        if (call.caller?.kind === 'person')
          options.warn?.(`${tool.name}: ${altered.reason}; ${altered.hint}`);
        return { trusted: call.trust === true || trusted(), altered };
      }
      const pin = pinStore.check(tool);
      return {
        trusted: call.trust === true || trusted(),
        changes: typeof pin === 'string' ? undefined : pin.diff,
      };
    },
    policy: () => configuration().policy,
    settings,
    middleware: joinMiddleware(options.middleware ?? []),
    paths: () => places().map((place) => place.directory),
    steadily: configuration.during,
    problems: () => [...configuration().problems, ...findMissing(searchPath())],
    secrets: () => findSecrets(configuration(), world),
    recorder,
    tracer: createTracer(world.debug),
    workdir: { get: () => workdir, set: setWorkdir },
    world,
  });
  const insideCall = world.env[MARK] !== undefined;
  return Object.assign(toolbox, {
    wieldHome,
    trustStore,
    pinStore,
    stores,
    world,
    insideCall,
    configuration,
    approvals,
    audit: recorder,
    async writeIndex(directory: string) {
      const { writeShippedIndex } = await import('./resolve/write-shipped-index.js');
      return writeShippedIndex({ directory, formats, version: INDEX_VERSION, world });
    },
    async removeIndex(directory: string) {
      const { removeShippedIndex } = await import('./resolve/write-shipped-index.js');
      return removeShippedIndex(directory);
    },
  });
}

// CTX: outside the checkout, which could ship a hostile one; by real path, so that a link to it is the same.
function findProjectState(wieldHome: string, workdir: string): string {
  return join(wieldHome, 'projects', digestParts(['project', realPath(workdir) ?? workdir]).slice(0, 32));
}

function createStores(parts: {
  readonly state: () => string;
  readonly settings: () => Settings;
  readonly world: World;
  /** Whether whoever reads of a result is offered queries. */
  readonly canQuery: () => boolean;
}): Stores {
  const { state, settings, world, canQuery } = parts;
  return {
    results: createResultFiles({
      directory: () => join(state(), 'results'),
      limits: () => settings().results,
      now: world.now,
    }),
    documents: createLazyDocuments(async () => {
      const { createDocumentFiles } = await import('./context/store/documents.js');
      return createDocumentFiles({ directory: join(state(), 'context'), now: world.now });
    }),
    ways: ({ id, kind }) => [
      `${READ_RESULT} {"id":"${id}","page":${kind === 'json' ? 2 : 1}}`,
      ...(kind === 'binary' ? [] : [`${READ_RESULT} {"id":"${id}","lines":"1-100"}`]),
      ...(kind === 'json' && canQuery()
        ? [`${CONTEXT_QUERY} {"path":"${id}","expression":"$count($)"}`]
        : []),
    ],
  };
}

// Beside the library's files, one level above the bundle's chunks, or built from the sources that run now.
function findQueryEntry(): string {
  const places = ['query/main.cjs', '../query/main.cjs', '../dist/query/main.cjs'];
  const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return files.find((file) => existsSync(file)) ?? files[0]!;
}

// What code gives stands around what the configuration names: a limit that a person sets holds for every run.
function joinMiddleware(
  given: NonNullable<NodeToolboxOptions['middleware']>,
): (settings: Settings) => readonly Middleware[] {
  const own = given.map(toMiddleware);
  const configured = createConfiguredMiddleware();
  let known: { readonly of: readonly Middleware[]; readonly all: readonly Middleware[] } | undefined;
  return ({ middleware }) => {
    const now = configured(middleware);
    if (known?.of !== now) known = { of: now, all: own.length === 0 ? now : [...own, ...now] };
    return known.all;
  };
}

// Beside the library's files, one level above the bundle's chunks, or built from the sources that run now.
function findHostEntry(): string {
  const places = ['host/main.js', '../host/main.js', '../dist/host/main.js'];
  const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return files.find((file) => existsSync(file)) ?? files[0]!;
}

// SCR-17, SCR-25: the workdir's scripts before the person's own.
function findScriptPlaces(workdir: string, home: string | undefined): Place[] {
  const own = home === undefined ? undefined : join(home, '.agents', 'tools');
  const local = join(workdir, '.agents', 'tools');
  return [
    ...(local === own ? [] : [{ directory: local, owner: 'workspace', kind: 'tools' } as const]),
    ...(own === undefined ? [] : [{ directory: own, owner: 'user', kind: 'tools' } as const]),
  ];
}

// What is named by its path alone is trusted as a checkout is, unless it lies below what is the person's own.
function findOwner(directory: string, places: readonly Place[]): Owner {
  const real = realPath(directory) ?? directory;
  const holder = places.find((place) => isWithin(realPath(place.directory) ?? place.directory, real));
  return holder?.owner === 'user' ? 'user' : 'workspace';
}

function assertPaths(paths: readonly PathEntry[]): readonly PathEntry[] {
  const read = readPaths(paths);
  if (read !== undefined) return read;
  throw new ToolError('invalid_definition', 'paths is no search path', {
    hint: 'give directories as text, { external: "…" } and { ignore: "…" }',
  });
}

// RES-16: the search for the skill that governs a tool stops at the first of these that holds the tool.
function findRoots(workdir: string, home: string | undefined): { directory: string; owner: Owner }[] {
  const own = home === undefined ? undefined : join(home, '.agents');
  return [
    { directory: workdir, owner: workdir === home ? 'user' : 'workspace' },
    ...(own === undefined ? [] : [{ directory: own, owner: 'user' as const }]),
  ];
}

// The values of variables that the configuration passes on may be credentials, as the server's token is one: none
// stands in a message or a record.
function findSecrets(configuration: Configuration, world: World): string[] {
  const { env, tools, model } = configuration.settings;
  const key = model?.keyVariable === undefined ? [] : [model.keyVariable];
  const pass = [...env.pass, ...key, ...[...tools.values()].flatMap((tool) => tool.pass ?? [])];
  if (world.env.WIELD_TOKEN) pass.push('WIELD_TOKEN');
  if (pass.length === 0) return [];
  return Object.entries(world.env).flatMap(([name, value]) =>
    value !== undefined && value.length >= 4 && isGranted(name, pass) ? [value] : [],
  );
}

function createWorld({ env = process.env, debug }: NodeToolboxOptions): World {
  return {
    env,
    home: findHome(env),
    platform: process.platform,
    now: () => Date.now(),
    // Not `performance.now()`: its module takes a millisecond to load.
    monotonic: () => {
      const [seconds, nanoseconds] = process.hrtime();
      return seconds * 1e3 + nanoseconds / 1e6;
    },
    debug: debug ?? (() => {}),
    debugging: debug !== undefined,
  };
}

function findHome(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env.HOME !== undefined && isAbsolute(env.HOME)) return resolve(env.HOME);
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

function findWieldHome(world: World): string {
  const named = world.env.WIELD_HOME;
  if (named) return resolve(named);
  if (world.home !== undefined) return join(world.home, '.wield');
  throw new ToolError('unavailable', 'there is no home directory to keep state in', {
    hint: 'set HOME, or WIELD_HOME to a directory of yours',
  });
}

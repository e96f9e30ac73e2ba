// The composition root: wires formats, executors, policy and state into the toolbox of a workdir.

import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { createCapabilitiesTool, readCapabilities } from './builtin/capabilities.js';
import { createReadSkillTool, describeSkills, READ_SKILL } from './builtin/skills.js';
import { createTaskTools } from './builtin/task.js';
import { createWorkdirTool } from './builtin/workdir.js';
import { type Configuration, createConfiguration } from './config/index.js';
import { ToolError } from './core/error.js';
import type { Place, PlaceKind } from './core/format.js';
import type { Skill } from './core/skill.js';
import type { Owner, Tool } from './core/tool.js';
import type { Caller, Toolbox } from './core/toolbox.js';
import type { World } from './core/world.js';
import { createFunctionExecutor } from './executors/function.js';
import { createProcessExecutor } from './executors/process/index.js';
import { digestParts } from './files/digest.js';
import type { ToolDefinition } from './formats/module/define.js';
import { createScriptFormat } from './formats/script.js';
import { createSkillFormat } from './formats/skill.js';
import { createToolsJsonFormat } from './formats/tools-json.js';
import type { ApprovalStore } from './policy/approvals.js';
import { findDenial } from './policy/decide.js';
import { createPinStore, type PinStore } from './policy/pins.js';
import { createTrustStore, type TrustStore } from './policy/trust.js';
import { isGranted } from './process/environment.js';
import { MARK } from './process/group.js';
import { createGuard } from './process/guard.js';
import { createCatalog } from './resolve/catalog.js';
import { createIndexFile } from './resolve/index-file.js';
import { createWatch, watchedDirectories } from './resolve/watch.js';
import { assembleToolbox } from './runtime/create.js';
import { createJsonSchema } from './schema/json.js';
import { toRegistry } from './toolbox.js';
import { findWorkdir } from './workspace.js';

export type { Approval, ApprovalStore } from './policy/approvals.js';

export interface NodeToolboxOptions {
  /** The workdir itself; without it the nearest one from `cwd` upward is found. */
  readonly workdir?: string;
  readonly cwd?: string;
  /** Tools given by code; they win over every other of their name. */
  readonly tools?: readonly ToolDefinition[];
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
}

/** A toolbox with what belongs to the machine around it. */
export interface NodeToolbox extends Toolbox {
  readonly wieldHome: string;
  readonly trustStore: TrustStore;
  readonly pinStore: PinStore;
  readonly world: World;
  /** Whether this process was started by a tool: then it can neither approve nor trust anything (A44). */
  readonly insideCall: boolean;
  configuration(): Configuration;
  approvals(): Promise<ApprovalStore>;
}

// Raised whenever a line of the index means something else.
const INDEX_VERSION = '6';
const MODEL: Caller = { kind: 'model', door: 'mcp' };
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
  const places = () => findPlaces(workdir, world.home);
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
    const named = settings().roots.map((root) => resolve(firstWorkdir, expandHome(root, world.home)));
    return named.length > 0 ? named : [firstWorkdir];
  };

  const isReadOnDemand = (owner: Owner): boolean =>
    settings().skills.contextMode === 'readOnDemand' || (owner === 'workspace' && !trusted());
  const isOffered = ({ name, traits }: Tool, skills: readonly Skill[]): boolean =>
    (name === READ_SKILL && skills.some(({ owner }) => isReadOnDemand(owner))) ||
    [...(options.offer ?? []), ...settings().offer].some((entry) => entry === name || entry === traits.group);

  const catalog = createCatalog({
    registered: toRegistry(options.tools ?? []),
    builtin: [
      createWorkdirTool({ get: () => workdir, set: setWorkdir, roots }),
      createReadSkillTool(() => catalog.list().skills),
      ...createTaskTools(),
      createCapabilitiesTool({
        tools: () => toolbox.list({ caller: MODEL }),
        model: () => {
          const { model } = settings();
          const key = model?.keyVariable;
          return model === undefined
            ? undefined
            : { model, key: key === undefined ? undefined : world.env[key] };
        },
      }),
    ],
    offered: isOffered,
    places,
    formats: [createToolsJsonFormat(), createSkillFormat(), createScriptFormat(world)],
    index: createIndexFile({
      directory: join(wieldHome, 'cache', 'index'),
      version: INDEX_VERSION,
      toSchema: (json, face) => createJsonSchema(json, { closed: face === 'input' }),
      world,
    }),
    world,
  });
  let store: ApprovalStore | undefined;
  const approvals = async (): Promise<ApprovalStore> => {
    const { createApprovalStore } = await import('./policy/approvals.js');
    store ??= createApprovalStore({ directory: join(wieldHome, 'approvals'), now: world.now });
    return store;
  };
  const toolbox = assembleToolbox({
    catalog,
    approvals,
    executors: [
      createProcessExecutor({ world, settings, ...(options.guard ? { beforeRun: createGuard(world) } : {}) }),
      createFunctionExecutor({ digest: digestParts, debug: world.debug }),
    ],
    trusted,
    instructions: ({ capabilities = false }) => {
      const { policy } = configuration();
      const skills = describeSkills(catalog.list().skills, {
        mode: settings().skills.contextMode,
        trusted: trusted(),
        mayRead: findDenial(catalog.find(READ_SKILL), MODEL, { policy, within: [] }) === undefined,
      });
      // SDK-11: the text of a checkout that nobody trusts is not put into a model's mouth.
      const told = [...(world.home === undefined ? [] : [world.home]), ...(trusted() ? [workdir] : [])];
      const inventories = capabilities ? [...new Set(told)].map(readCapabilities) : [];
      return [...inventories, skills].filter((text) => text !== '').join('\n\n');
    },
    watch: watching.add,
    rules: (tool, call) => {
      const pin = pinStore.check(tool);
      return {
        trusted: call.trust === true || trusted(),
        ...(typeof pin === 'string' ? {} : { changes: pin.diff }),
      };
    },
    policy: () => configuration().policy,
    settings,
    problems: () => configuration().problems,
    secrets: () => findSecrets(configuration(), world),
    workdir: { get: () => workdir, set: setWorkdir },
    world,
  });
  const insideCall = world.env[MARK] !== undefined;
  const around = { wieldHome, trustStore, pinStore, world, insideCall, configuration, approvals };
  return Object.assign(toolbox, around);
}

function expandHome(path: string, home: string | undefined): string {
  return home !== undefined && /^~(?=\/|$)/.test(path) ? home + path.slice(1) : path;
}

// RES-6, SCR-17, SCR-25: skills first, then scripts; in each the workdir's before the person's own.
function findPlaces(workdir: string, home: string | undefined): Place[] {
  const own = home === undefined ? undefined : join(home, '.agents');
  const local = join(workdir, '.agents');
  const find = (kind: PlaceKind, more: readonly string[]): Place[] => [
    ...[...(local === own ? [] : [join(local, kind)]), ...more].map(
      (directory): Place => ({ directory, owner: 'workspace', kind }),
    ),
    ...(own === undefined ? [] : [{ directory: join(own, kind), owner: 'user', kind } as const]),
  ];
  return [...find('skills', [join(workdir, 'skills')]), ...find('tools', [])];
}

// The values of variables that the configuration passes on may be credentials: none stands in a message.
function findSecrets(configuration: Configuration, world: World): string[] {
  const { env, tools, model } = configuration.settings;
  const key = model?.keyVariable === undefined ? [] : [model.keyVariable];
  const pass = [...env.pass, ...key, ...[...tools.values()].flatMap((tool) => tool.pass ?? [])];
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

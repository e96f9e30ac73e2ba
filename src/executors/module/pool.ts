// Pool of tool hosts: one per module and rights, started on first use, replaced when code changes, closed when idle.

import type { CallScope } from '../../core/executor.js';
import type { Json } from '../../core/json.js';
import type { ModulePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { InlineModule, ModuleFiles } from '../../core/tool.js';
import { reportSandbox } from '../../process/sandbox/report.js';
import { connectHost, type HostConnection, type HostOptions, type HostSettings } from './connection.js';
import { describeOnHost, runOnHost } from './run.js';

export interface HostPoolOptions extends Omit<HostOptions, 'onEnd'> {
  /** Called before a host is started. */
  readonly beforeRun?: () => void;
}

// Idle timeout of a host process.
const IDLE_MS = 5 * 60_000;
// More idle hosts are closed, the longest idle first. Running ones are limited by the calls that may run.
const MAX_IDLE = 6;
// Between closing the channel and the kill.
const CLOSE_MS = 250;

interface Slot {
  key: string;
  readonly host: Promise<HostConnection>;
  /** Hashes of loaded files by path. A file is loaded once, so changed content needs another host. */
  readonly loaded: Map<string, string>;
  users: number;
  retired: boolean;
  idle: NodeJS.Timeout | undefined;
}

export function createHostPool({ beforeRun, ...options }: HostPoolOptions) {
  const slots = new Map<string, Slot>();
  const all = new Set<Slot>();
  // In the order in which they became idle.
  const idle = new Set<Slot>();
  let closed = false;

  const drop = (slot: Slot): void => {
    clearTimeout(slot.idle);
    idle.delete(slot);
    if (slots.get(slot.key) === slot) slots.delete(slot.key);
  };

  const open = (key: string, settings: HostSettings): Slot => {
    beforeRun?.();
    const host = connectHost(settings, { ...options, onEnd: () => drop(slot) });
    const slot: Slot = { key, host, loaded: new Map(), users: 0, retired: false, idle: undefined };
    slots.set(key, slot);
    all.add(slot);
    host.then(
      (started) => {
        // The toolbox may have been closed while the host started.
        if (closed) started.kill('the toolbox was closed');
        started.ended.then(() => all.delete(slot));
      },
      () => {
        drop(slot);
        all.delete(slot);
      },
    );
    return slot;
  };

  // Accepts no new calls; the host ends with its last call.
  const retire = (slot: Slot): void => {
    slot.retired = true;
    drop(slot);
    if (slot.users === 0) end(slot);
  };

  // Finds the host of a module for rights; one that has only described the module has none yet and takes them.
  const find = (unused: string, key: string): Slot | undefined => {
    const described = slots.get(unused);
    if (slots.has(key) || described === undefined) return slots.get(key);
    slots.delete(unused);
    described.key = key;
    slots.set(key, described);
    return described;
  };

  const release = (slot: Slot): void => {
    slot.users--;
    if (slot.users > 0) return;
    if (slot.retired) {
      end(slot);
      return;
    }
    slot.idle = setTimeout(() => retire(slot), IDLE_MS).unref();
    idle.add(slot);
    if (idle.size > MAX_IDLE) retire(idle.values().next().value!);
  };

  const use = async <T>(
    settings: HostSettings,
    source: ModuleFiles | InlineModule,
    rights: string | null,
    packages: string | undefined,
    act: (host: HostConnection, onStuck: () => void) => Promise<T>,
  ): Promise<T> => {
    const key = keyOf(settings, source, rights, packages);
    let slot = find(keyOf(settings, source, null, packages), key);
    if (slot !== undefined && isOutdated(slot, source)) {
      options.world.debug(`${source.file}: changed, starting a new tool host`);
      retire(slot);
      slot = undefined;
    }
    const used = slot ?? open(key, settings);
    for (const { path, sha256 } of source.files) used.loaded.set(path, sha256);
    used.users++;
    clearTimeout(used.idle);
    idle.delete(used);
    try {
      return await act(await used.host, () => retire(used));
    } finally {
      release(used);
    }
  };

  return {
    describe: (source: ModuleFiles, settings: HostSettings): Promise<Json> =>
      use(settings, source, null, undefined, (host) => describeOnHost(host, source)),
    /** `packages` identifies those that were approved; the host must not have loaded others. */
    run: (plan: ModulePlan, scope: CallScope, packages?: string): Promise<Output> =>
      use(plan, plan.source, scope.rights(), packages, async (host, onStuck) => {
        const output = await runOnHost(host, plan, scope, onStuck);
        if (plan.sandbox === undefined) return output;
        const report = { stderr: output.error?.message ?? '', hosts: host.takeRefused() };
        return reportSandbox(output, plan, report, options.world);
      }),
    async close(): Promise<void> {
      closed = true;
      await Promise.all([...all].map(close));
    },
  };
}

// MOD-29: code can write any message to the channel of its process, so a process runs the calls of one module with one
// set of rights and nothing else.
function keyOf(
  settings: HostSettings,
  source: ModuleFiles | InlineModule,
  rights: string | null,
  packages = '',
): string {
  const { cwd, environment, sandbox } = settings;
  const code = 'inline' in source ? source.inline : null;
  const launcher = sandbox === undefined ? null : [sandbox.launcher, sandbox.network];
  return JSON.stringify([cwd, Object.entries(environment).sort(), launcher, source.file, code, rights, packages]);
}

async function close({ host, idle }: Slot): Promise<void> {
  clearTimeout(idle);
  const started = await host.catch(() => undefined);
  await started?.close(CLOSE_MS);
}

function end({ host }: Slot): void {
  host.then(
    (started) => started.kill('it was no longer needed'),
    () => {},
  );
}

function isOutdated({ loaded }: Slot, { files }: ModuleFiles | InlineModule): boolean {
  return files.some(({ path, sha256 }) => loaded.has(path) && loaded.get(path) !== sha256);
}

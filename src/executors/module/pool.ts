// Pool of tool hosts: one per workspace and environment, started on first use, replaced when code changes.

import type { RunContext } from '../../core/executor.js';
import type { Json } from '../../core/json.js';
import type { ModulePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { InlineModule, ModuleFiles } from '../../core/tool.js';
import { connectHost, type HostConnection, type HostOptions, type HostSettings } from './connection.js';
import { describeOnHost } from './describe.js';
import { runOnHost } from './run.js';

export interface HostPool {
  describe(source: ModuleFiles, settings: HostSettings): Promise<Json>;
  run(plan: ModulePlan, context: RunContext): Promise<Output>;
  close(): Promise<void>;
}

export interface HostPoolOptions extends Omit<HostOptions, 'onEnd'> {
  /** Called before a host is started. */
  readonly beforeRun?: () => void;
}

// Idle timeout of a host process.
const IDLE_MS = 5 * 60_000;
// Between closing the channel and the kill.
const CLOSE_MS = 250;

interface Slot {
  readonly host: Promise<HostConnection>;
  /** Hashes of loaded files by path. A file is loaded once, so changed content needs another host. */
  readonly loaded: Map<string, string>;
  users: number;
  retired: boolean;
  idle: NodeJS.Timeout | undefined;
}

export function createHostPool({ beforeRun, ...options }: HostPoolOptions): HostPool {
  const slots = new Map<string, Slot>();
  const all = new Set<Slot>();
  let closed = false;

  const open = (key: string, settings: HostSettings): Slot => {
    beforeRun?.();
    const onEnd = (): void => {
      clearTimeout(slot.idle);
      if (slots.get(key) === slot) slots.delete(key);
    };
    const host = connectHost(settings, { ...options, onEnd });
    const slot: Slot = { host, loaded: new Map(), users: 0, retired: false, idle: undefined };
    slots.set(key, slot);
    all.add(slot);
    host.then(
      (started) => {
        // The toolbox may have been closed while the host started.
        if (closed) started.kill('the toolbox was closed');
        started.ended.then(() => all.delete(slot));
      },
      () => {
        onEnd();
        all.delete(slot);
      },
    );
    return slot;
  };

  /** Accepts no new calls; the host ends with its last call. */
  const retire = (key: string, slot: Slot): void => {
    slot.retired = true;
    if (slots.get(key) === slot) slots.delete(key);
    if (slot.users === 0) end(slot);
  };

  const use = async <T>(
    settings: HostSettings,
    source: ModuleFiles | InlineModule,
    act: (host: HostConnection, onStuck: () => void) => Promise<T>,
  ): Promise<T> => {
    const key = JSON.stringify([settings.cwd, Object.entries(settings.environment).sort()]);
    let current = slots.get(key);
    if (current !== undefined && isOutdated(current, source)) {
      options.world.debug(`${source.file}: changed, starting a new tool host`);
      retire(key, current);
      current = undefined;
    }
    const slot = current ?? open(key, settings);
    for (const { path, sha256 } of source.files) slot.loaded.set(path, sha256);
    slot.users++;
    clearTimeout(slot.idle);
    try {
      return await act(await slot.host, () => retire(key, slot));
    } finally {
      slot.users--;
      if (slot.users === 0) {
        if (slot.retired) end(slot);
        else slot.idle = setTimeout(() => retire(key, slot), IDLE_MS).unref();
      }
    }
  };

  return {
    describe: (source, settings) => use(settings, source, (host) => describeOnHost(host, source)),
    run: (plan, context) =>
      use(plan, plan.source, (host, onStuck) => runOnHost(host, plan, context, onStuck)),
    async close() {
      closed = true;
      await Promise.all([...all].map(close));
    },
  };
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

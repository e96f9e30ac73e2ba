// The tool hosts of a toolbox: one a workspace and environment, started at first need, replaced when code changes.

import type { RunContext } from '../../core/executor.js';
import type { Json } from '../../core/json.js';
import type { ModulePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { InlineModule, ModuleFiles } from '../../core/tool.js';
import { type Host, startHost } from './host.js';
import type { ModuleExecutorOptions } from './index.js';

/** What a host is started with; another is another host. */
export type Setting = Pick<ModulePlan, 'cwd' | 'environment' | 'limits'>;

export interface ToolHost {
  describe(source: ModuleFiles, setting: Setting): Promise<Json>;
  run(plan: ModulePlan, context: RunContext): Promise<Output>;
  close(): Promise<void>;
}

// A host that nobody needed for this long ends; the next call starts another.
const IDLE_MS = 5 * 60_000;
// Between the polite end and the kill.
const CLOSE_MS = 250;

interface Slot {
  host: Promise<Host>;
  /** What it has loaded, or was asked to: a file is loaded once, so another content needs another host. */
  readonly loaded: Map<string, string>;
  users: number;
  retired: boolean;
  idle: NodeJS.Timeout | undefined;
}

export function createToolHost(options: ModuleExecutorOptions): ToolHost {
  const { world } = options;
  const slots = new Map<string, Slot>();
  const all = new Set<Slot>();
  let closed = false;

  const open = (key: string, setting: Setting): Slot => {
    options.beforeRun?.();
    const leave = (): void => {
      clearTimeout(slot.idle);
      if (slots.get(key) === slot) slots.delete(key);
    };
    const host = startHost(setting, options, leave);
    const slot: Slot = { host, loaded: new Map(), users: 0, retired: false, idle: undefined };
    slots.set(key, slot);
    all.add(slot);
    host.then(
      (started) => {
        // Nobody may have come by while it started, and a toolbox that is closed starts nothing.
        if (closed) started.kill();
        started.ended.then(() => all.delete(slot));
      },
      () => {
        leave();
        all.delete(slot);
      },
    );
    return slot;
  };

  /** No new calls; it ends with its last one. */
  const retire = (key: string, slot: Slot): void => {
    slot.retired = true;
    if (slots.get(key) === slot) slots.delete(key);
    if (slot.users === 0) end(slot);
  };

  const end = (slot: Slot): void => {
    slot.host.then(
      (host) => host.kill(),
      () => {},
    );
  };

  const use = async <T>(
    setting: Setting,
    source: ModuleFiles | InlineModule,
    act: (host: Host, onStuck: () => void) => Promise<T>,
  ): Promise<T> => {
    const key = JSON.stringify([setting.cwd, Object.entries(setting.environment).sort()]);
    let slot = slots.get(key);
    if (slot !== undefined && isOutdated(slot, source)) {
      world.debug(`${source.file}: changed, so a fresh tool host is started`);
      retire(key, slot);
      slot = undefined;
    }
    slot ??= open(key, setting);
    const mine = slot;
    for (const { path, sha256 } of source.files) mine.loaded.set(path, sha256);
    mine.users++;
    clearTimeout(mine.idle);
    try {
      return await act(await mine.host, () => retire(key, mine));
    } finally {
      mine.users--;
      if (mine.users === 0) {
        if (mine.retired) end(mine);
        else mine.idle = setTimeout(() => retire(key, mine), IDLE_MS).unref();
      }
    }
  };

  return {
    describe: (source, setting) => use(setting, source, (host) => host.describe(source)),
    run: (plan, context) => use(plan, plan.source, (host, onStuck) => host.run(plan, context, onStuck)),
    async close() {
      closed = true;
      await Promise.all(
        [...all].map(async (slot) => {
          clearTimeout(slot.idle);
          const host = await slot.host.catch(() => undefined);
          await host?.close(CLOSE_MS);
        }),
      );
    },
  };
}

function isOutdated({ loaded }: Slot, { files }: ModuleFiles | InlineModule): boolean {
  return files.some(({ path, sha256 }) => {
    const known = loaded.get(path);
    return known !== undefined && known !== sha256;
  });
}

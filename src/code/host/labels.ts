// What a program has read: kept with it once it is suspended, for the session that resumes it (FLW-10).

import type { SessionLabels } from '../../core/label.js';
import { callerKey } from '../../core/name.js';
import type { CallInternals } from '../../core/tool.js';

export type ProgramLabels = ReturnType<typeof createProgramLabels>;

export function createProgramLabels(
  store: SessionLabels | undefined,
  id: string,
  { caller, enter }: Pick<CallInternals, 'caller' | 'enter'>,
  now: () => number,
) {
  const name = `program ${id}`;
  const read = new Map<string, string>();
  return {
    /** Enters what the program had read into the session that goes on with it. */
    async restore(): Promise<void> {
      const entered = (await store?.read(name)) ?? [];
      for (const { label, tool } of entered) read.set(label, tool);
      await enter([...read.keys()]);
    },
    /** Notes the labels of a result. */
    add(labels: readonly string[] = [], tool: string): void {
      for (const label of labels) read.set(label, tool);
    },
    /** Stores them, before anything of the program is. */
    async keep(): Promise<void> {
      const at = Math.round(now());
      const entered = [...read].map(([label, tool]) => ({ label, tool, at }));
      if (entered.length > 0) await store?.enter(name, callerKey(caller), entered);
    },
  };
}

// A plan and the verdict on it, before anything runs.

import { useEffect, useRef } from 'preact/hooks';
import type { Verdict } from '../../core/caller.js';
import type { PlannedCall } from '../api.js';
import { Diff, Facts, PositionText, VerdictChip } from './parts.js';

export function PlanView({ planned }: { planned: PlannedCall }) {
  const { rows, verdict, digest } = planned;
  const section = useRef<HTMLElement>(null);
  useEffect(() => section.current?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <section ref={section} class="box plan" aria-label="Plan and verdict" aria-live="polite">
      <VerdictView verdict={verdict} />
      <Facts rows={[...rows, ['plan', digest.slice(0, 16)]]} />
    </section>
  );
}

export function VerdictView({ verdict }: { verdict: Verdict }) {
  return (
    <div class="verdict">
      <VerdictChip verdict={verdict.verdict} /> <span class="prose">{verdict.reason}</span>{' '}
      {verdict.rule !== null && !verdict.reason.includes(verdict.rule) && <code>{verdict.rule}</code>}{' '}
      {verdict.source !== undefined && <PositionText position={verdict.source} />}
      {verdict.hint !== undefined && <p class="note">{verdict.hint}</p>}
      {verdict.changes !== undefined && <Diff lines={verdict.changes} />}
    </div>
  );
}

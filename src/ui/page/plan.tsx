// A plan and the verdict on it, before anything runs.

import { useEffect, useRef } from 'preact/hooks';
import type { Json } from '../../core/json.js';
import type { Verdict } from '../../core/toolbox.js';
import type { PlannedCall } from '../api.js';
import { Diff, Facts, PlaceText, VerdictChip } from './parts.js';

// Shown first; everything else follows in its order.
const FIRST = ['kind', 'argv', 'method', 'url', 'cwd', 'env'];

export function PlanView({ planned }: { planned: PlannedCall }) {
  const { plan, verdict, digest } = planned;
  const names = Object.keys(plan).filter((name) => !['tool', 'input', 'digest'].includes(name));
  const ordered = [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))];
  const section = useRef<HTMLElement>(null);
  useEffect(() => section.current?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <section ref={section} class="box plan" aria-label="Plan and verdict" aria-live="polite">
      <VerdictView verdict={verdict} />
      <Facts rows={[...ordered.map((name) => [name, format(plan[name]!)] as const), ['plan', digest.slice(0, 16)]]} />
    </section>
  );
}

export function VerdictView({ verdict }: { verdict: Verdict }) {
  return (
    <div class="verdict">
      <VerdictChip verdict={verdict.verdict} /> <span class="prose">{verdict.reason}</span>{' '}
      {verdict.rule !== null && !verdict.reason.includes(verdict.rule) && <code>{verdict.rule}</code>}{' '}
      {verdict.source !== undefined && <PlaceText place={verdict.source} />}
      {verdict.hint !== undefined && <p class="note">{verdict.hint}</p>}
      {verdict.changes !== undefined && <Diff lines={verdict.changes} />}
    </div>
  );
}

function format(value: Json): string {
  if (Array.isArray(value))
    return value.map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry))).join(' ');
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

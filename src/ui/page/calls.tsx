// Live calls as a tree: nested and delegated calls below their callers, running ones first.

import { useComputed, useSignal } from '@preact/signals';
import { formatDuration } from '../../core/text.js';
import { type AnyCall, type CallFilter, type CallNode, toCallTree } from './call-tree.js';
import { now } from './clock.js';
import { Chip, Empty, VerdictChip } from './parts.js';
import { show, view } from './route.js';
import { calls, running } from './store.js';
import { useVirtualRows } from './virtual.js';

const ROW_HEIGHT = 44;
const OUTCOMES = ['', 'running', 'allow', 'ask', 'deny', 'failed'];

export function CallsPanel() {
  const filter = useSignal<CallFilter>({ caller: '', tool: '', verdict: '' });
  const tree = useComputed(() => toCallTree(calls.value, running.value, filter.value));
  const nodes = tree.value;
  const { scroller, rows, height } = useVirtualRows(nodes.length, ROW_HEIGHT);
  const change = (part: Partial<CallFilter>): void => {
    filter.value = { ...filter.value, ...part };
  };
  return (
    <aside class="calls" aria-label="Live calls">
      <div class="search">
        <h2>Live calls {running.value.length > 0 && <Chip tone="info">{`${running.value.length} running`}</Chip>}</h2>
        <div class="filters">
          <input
            aria-label="Filter by tool"
            placeholder="tool"
            onInput={(event) => change({ tool: event.currentTarget.value })}
          />
          <input
            aria-label="Filter by caller"
            placeholder="caller"
            onInput={(event) => change({ caller: event.currentTarget.value })}
          />
          <select aria-label="Filter by verdict" onChange={(event) => change({ verdict: event.currentTarget.value })}>
            {OUTCOMES.map((outcome) => (
              <option key={outcome} value={outcome}>
                {outcome === '' ? 'all' : outcome}
              </option>
            ))}
          </select>
        </div>
      </div>
      <div ref={scroller} class="scroller">
        {nodes.length === 0 && <Empty>No calls yet.</Empty>}
        <ul style={{ height: `${height}px` }}>
          {rows.map(({ index, start }) => (
            <CallLine key={nodes[index]!.call.id} node={nodes[index]!} top={start} />
          ))}
        </ul>
      </div>
    </aside>
  );
}

function CallLine({ node: { call, depth }, top }: { node: CallNode; top: number }) {
  const isCurrent = view.value.panel === 'calls' && view.value.name === call.id;
  return (
    <li style={{ transform: `translateY(${top}px)` }}>
      <button
        type="button"
        class="item call-line"
        data-depth={depth}
        style={{ paddingLeft: `${12 + Math.min(depth, 6) * 16}px` }}
        aria-current={isCurrent ? 'true' : undefined}
        onClick={() => show({ panel: 'calls', name: call.id })}
      >
        <span class="item-name">
          {depth > 0 && <span aria-hidden="true">↳ </span>}
          {call.tool}
        </span>
        <Outcome call={call} />
        <span class="item-about">
          {call.caller} ·{' '}
          {call.isRunning ? formatDuration(Math.max(0, now.value - Date.parse(call.since))) : formatTime(call)}
        </span>
      </button>
    </li>
  );
}

export function Outcome({ call }: { call: AnyCall }) {
  if (call.isRunning) return <Chip tone="info">running</Chip>;
  return (
    <span class="chips">
      {call.verdict !== null && call.verdict !== 'allow' && <VerdictChip verdict={call.verdict} />}
      {call.code === null ? <Chip tone="good">ok</Chip> : <Chip tone="bad">{call.code}</Chip>}
    </span>
  );
}

function formatTime({ time, durationMs }: { time: string; durationMs: number }): string {
  return `${new Date(time).toLocaleTimeString()} · ${formatDuration(durationMs)}`;
}

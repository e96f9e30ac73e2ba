// Live calls as a tree: nested and delegated calls below their callers, running ones first.

import { useComputed, useSignal } from '@preact/signals';
import { formatDuration } from '../../core/text.js';
import { type AnyCall, type CallNode, toCallTree } from './call-tree.js';
import { now } from './clock.js';
import { Chip, Choice, Empty, Switch, TextInput, type Tone, VerdictChip } from './parts.js';
import { show, view } from './route.js';
import { calls, isElsewhere, running, session } from './store.js';
import { type Row, VirtualList } from './virtual-list.js';

const ROW_HEIGHT = 44;
const OUTCOMES = { '': 'all', running: 'running', allow: 'allow', ask: 'ask', deny: 'deny', failed: 'failed' };

export function CallsPanel() {
  const [tool, caller, verdict] = [useSignal(''), useSignal(''), useSignal<keyof typeof OUTCOMES>('')];
  const withOthers = useSignal(false);
  const tree = useComputed(() => {
    const workdir = withOthers.value ? undefined : session.value?.workdir;
    const filter = { tool: tool.value, caller: caller.value, verdict: verdict.value, workdir };
    return toCallTree(calls.value, running.value, filter);
  });
  const others = useComputed(() => [...calls.value, ...running.value].filter(isElsewhere).length);
  const nodes = tree.value;
  const { panel, name } = view.value;
  return (
    <aside class="calls" aria-label="Live calls">
      <div class="search">
        <h2>Live calls {running.value.length > 0 && <Chip tone="info">{`${running.value.length} running`}</Chip>}</h2>
        <div class="filters">
          <TextInput label="Filter by tool" placeholder="tool" text={tool} />
          <TextInput label="Filter by caller" placeholder="caller" text={caller} />
          <Choice label="Filter by verdict" choice={verdict} texts={OUTCOMES} />
        </div>
        {others.value > 0 && <Switch label={`${others.value} of other directories`} isOn={withOthers} />}
      </div>
      <VirtualList
        panel="calls"
        items={nodes}
        keyOf={({ call }) => call.id}
        current={panel === 'calls' ? nodes.find(({ call }) => call.id === name) : undefined}
        onShow={({ call }) => show({ panel: 'calls', name: call.id })}
        rowHeight={ROW_HEIGHT}
        render={toRow}
      >
        <Empty>
          {calls.value.length + running.value.length === others.value ? 'No calls here yet.' : 'Nothing matches.'}
        </Empty>
      </VirtualList>
    </aside>
  );
}

function toRow({ call, depth }: CallNode): Row {
  const age = call.isRunning ? formatDuration(Math.max(0, now.value - Date.parse(call.since))) : formatTime(call);
  return {
    class: 'call-line',
    title: isElsewhere(call) ? call.workdir : undefined,
    depth,
    children: (
      <>
        <span class="item-name">
          {depth > 0 && <span aria-hidden="true">↳ </span>}
          {depth > 0 && <span class="hidden-label">{`level ${depth + 1}: `}</span>}
          {call.tool}
        </span>
        <Outcome call={call} />
        <span class="item-about">
          {`${isElsewhere(call) ? `${call.workdir.split('/').slice(-2).join('/')} · ` : ''}${call.caller} · ${age}`}
        </span>
      </>
    ),
  };
}

// Codes that say what the verdict was.
const VERDICT_CODES: Readonly<Record<string, Tone>> = { denied: 'bad', needs_approval: 'warn' };

export function Outcome({ call }: { call: AnyCall }) {
  if (call.isRunning) return <Chip tone="info">running</Chip>;
  const { verdict, code } = call;
  const tone = VERDICT_CODES[code ?? ''];
  return (
    <span class="chips">
      {verdict !== null && verdict !== 'allow' && tone === undefined && <VerdictChip verdict={verdict} />}
      {code === null ? <Chip tone="good">ok</Chip> : <Chip tone={tone ?? 'bad'}>{code.replaceAll('_', ' ')}</Chip>}
    </span>
  );
}

function formatTime({ time, durationMs }: { time: string; durationMs: number }): string {
  return `${new Date(time).toLocaleTimeString()} · ${formatDuration(durationMs)}`;
}

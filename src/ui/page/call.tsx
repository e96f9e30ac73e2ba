// One call: who made it and why it was allowed or denied; edit and resend, save as a case, export.

import { useComputed, useSignal } from '@preact/signals';
import { formatBytes, formatDuration } from '../../core/text.js';
import type { CallExport, CallRow, Explained, RecordedCall, SavedCase } from '../api.js';
import { Outcome } from './calls.js';
import { request } from './client.js';
import { Answer } from './explain.js';
import { Button, Code, Empty, ErrorBox, Facts, TextInput } from './parts.js';
import { ResultView } from './result.js';
import { show, view } from './route.js';
import { calls, running } from './store.js';
import { useFetch, useTask } from './use-request.js';

export function CallPanel() {
  const row = useComputed(() => calls.value.find(({ id }) => id === view.value.name)).value;
  if (row === undefined) {
    const live = running.value.find(({ id }) => id === view.value.name);
    return (
      <Empty>
        {live === undefined ? 'Pick a call.' : `${live.tool} is running for ${live.caller} in ${live.workdir}.`}
      </Empty>
    );
  }
  return <Call key={row.id} row={row} />;
}

function Call({ row }: { row: CallRow }) {
  const recording = useFetch(async () => {
    if (row.recorded === undefined) return undefined;
    return (await request('GET /api/recording')).calls.find(({ call }) => call === row.recorded);
  }, [row.recorded]);
  const recorded = recording.value.value;
  return (
    <article aria-label={`Call of ${row.tool}`}>
      <header class="tool-head">
        <h1>{row.tool}</h1>
        <Outcome call={{ ...row, isRunning: false }} />
      </header>
      <Facts
        rows={[
          ['Caller', `${row.kind} ${row.caller}`],
          ['User', row.user],
          ['Session', row.session],
          ['Door', row.door],
          ['Time', new Date(row.time).toLocaleString()],
          ['Took', formatDuration(row.durationMs)],
          ['Rule', row.rule],
          ['Reason', row.reason],
          ['Approval', row.approval && `${row.approval.id} (${row.approval.by})`],
          ['Input', row.inputBytes === null ? undefined : formatBytes(row.inputBytes)],
          ['Output', formatBytes(row.outputBytes)],
          ['Sandbox', row.sandbox],
          ['Directory', row.workdir],
          ['Process', String(row.pid)],
        ]}
      />
      <Why row={row} recorded={recorded} />
      <ErrorBox error={recording.error.value} />
      {row.recorded === undefined && (
        <p class="note">Another process made this call, so its input and result are not here.</p>
      )}
      {recorded !== undefined && <Recorded recorded={recorded} />}
    </article>
  );
}

function Why({ row, recorded }: { row: CallRow; recorded: RecordedCall | undefined }) {
  const { value, error, run } = useTask<Explained>();
  const why = (): Promise<void> => {
    const caller = recorded?.caller ?? { kind: row.kind, door: row.door, name: row.caller };
    return run(() => request('POST /api/explain', { body: { tool: row.tool, caller, input: recorded?.input } }));
  };
  return (
    <>
      <div class="actions">
        <Button onClick={why}>Why?</Button>
      </div>
      <ErrorBox error={error.value} />
      {value.value !== undefined && <Answer explained={value.value} />}
    </>
  );
}

function Recorded({ recorded }: { recorded: RecordedCall }) {
  const name = useSignal(recorded.tool);
  const saved = useTask<SavedCase>();
  const exported = useTask<CallExport>();
  const { call, tool, input, result } = recorded;
  const save = () => saved.run(() => request('POST /api/cases', { body: { call, name: name.value } }));
  return (
    <section aria-label="Recording">
      <h2>Input</h2>
      <Code label="Input" value={input} />
      <div class="actions">
        <Button onClick={() => show({ panel: 'tools', name: tool, input })}>Edit and resend</Button>
        <Button onClick={() => exported.run(() => request('GET /api/recording/:call/export', { params: [call] }))}>
          Export
        </Button>
        <TextInput label="Name of the case" text={name} />
        <Button task={saved} onClick={save}>
          Save as a case
        </Button>
      </div>
      <ErrorBox error={saved.error.value ?? exported.error.value} />
      {saved.value.value !== undefined && <p class="box">{`Saved as ${saved.value.value.file}`}</p>}
      {exported.value.value !== undefined && (
        <>
          <h3>Shell</h3>
          <Code label="Shell line" value={exported.value.value.line} />
          <h3>Test</h3>
          <Code label="Test" value={exported.value.value.test} />
        </>
      )}
      <ResultView result={result} />
    </section>
  );
}

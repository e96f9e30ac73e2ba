// The token ledger: definitions, inputs and results as bars per tool, server and client.

import { count, formatDuration } from '../../core/text.js';
import type { TokenRow } from '../api.js';
import { request } from './client.js';
import { Empty, Fetched } from './parts.js';
import { calls, catalog } from './store.js';
import { useFetch } from './use-request.js';

type Row = Omit<TokenRow, 'definition'> & { readonly definition?: number };

const PARTS = ['definition', 'inputs', 'results'] as const;
const MAX_ROWS = 100;

export function TokensPanel() {
  const ledger = useFetch(() => request('GET /api/tokens'), [calls.value.length, catalog.value]);
  return (
    <section aria-label="Tokens">
      <h1>Tokens</h1>
      <p class="legend">
        {PARTS.map((part) => (
          <span key={part}>
            <i class={`swatch ${part}`} aria-hidden="true" /> {part}
          </span>
        ))}
      </p>
      <Fetched task={ledger}>
        {({ servers, clients, tools }) => (
          <>
            <Bars title="Servers" rows={servers} />
            <Bars title="Clients" rows={clients} />
            <Bars title="Tools" rows={tools} />
          </>
        )}
      </Fetched>
    </section>
  );
}

function Bars({ title, rows }: { title: string; rows: readonly Row[] }) {
  const most = Math.max(1, ...rows.map(totalOf));
  return (
    <>
      <h2>{title}</h2>
      {rows.length === 0 && <Empty>None yet.</Empty>}
      <table class="bars">
        <thead class="hidden-label">
          <tr>
            <th>name</th>
            <th>share</th>
            <th>tokens</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name ?? 'no server'}</th>
              <td class="bar">
                {PARTS.map((part) => (
                  <i key={part} class={part} style={{ width: `${((row[part] ?? 0) / most) * 100}%` }} />
                ))}
              </td>
              <td class="number" title={PARTS.map((part) => `${part} ${row[part] ?? 0}`).join(', ')}>
                {totalOf(row).toLocaleString()} <span class="note">{describeCalls(row)}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && <p class="note">{`and ${rows.length - MAX_ROWS} more`}</p>}
    </>
  );
}

function describeCalls({ calls, refused, p50Ms, p99Ms }: Row): string {
  const times =
    p50Ms === null || p99Ms === null ? [] : [`p50 ${formatDuration(p50Ms)}`, `p99 ${formatDuration(p99Ms)}`];
  return [count(calls, 'call'), ...(refused === 0 ? [] : [`${refused} refused`]), ...times].join(' · ');
}

function totalOf(row: Row): number {
  return PARTS.reduce((sum, part) => sum + (row[part] ?? 0), 0);
}

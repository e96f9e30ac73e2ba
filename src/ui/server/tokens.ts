// The token ledger: what definitions, inputs and results cost, per tool, server and client.

import type { AuditRecord } from '../../audit/line.js';
import { type CallStats, SumsByName } from '../../audit/stats.js';
import { compareText } from '../../core/text.js';
import type { TokenLedger, TokenRow } from '../api.js';
import type { SentDefinition } from './parts.js';

export function createLedger() {
  const tools = new SumsByName();
  const clients = new SumsByName();
  const servers = new Map<string, string | null>();
  return {
    add(record: AuditRecord): void {
      tools.add(record.tool, record);
      servers.set(record.tool, serverOf(record.origin));
      // Nested calls are part of the outer one, which the client sees.
      if (record.depth === 0) clients.add(record.user ?? record.caller, record);
    },
    /** Returns the ledger with the definitions that clients get. */
    read(definitions: readonly SentDefinition[]): TokenLedger {
      const defined = new Map(definitions.map((one) => [one.tool, one]));
      const called = new Map(tools.read());
      const rows = [...new Set([...defined.keys(), ...called.keys()])].map((name) => {
        const { tokens = 0, server = servers.get(name) ?? null } = defined.get(name) ?? {};
        return { ...toRow(name, called.get(name), tokens), server };
      });
      const bySize = (a: TokenRow, b: TokenRow): number =>
        sizeOf(b) - sizeOf(a) || compareText(a.name ?? '', b.name ?? '');
      return {
        tools: rows.sort(bySize),
        servers: sumByServer(rows).sort(bySize),
        clients: clients
          .read()
          .map(([name, stats]) => toRow(name, stats, 0))
          .sort(bySize)
          .map(({ definition: _, ...row }) => row),
      };
    },
  };
}

function serverOf(origin: string | null): string | null {
  const authority = /^mcp:\/\/([^/]+)\//.exec(origin ?? '')?.[1];
  return authority === undefined ? null : decodeURIComponent(authority);
}

function toRow(name: string, stats: CallStats | undefined, definition: number): TokenRow {
  const { calls = 0, refused = 0, p50Ms = null, p99Ms = null, inputTokens = 0, resultTokens = 0 } = stats ?? {};
  return { name, definition, calls, refused, p50Ms, p99Ms, inputs: inputTokens, results: resultTokens };
}

function sizeOf({ definition, inputs, results }: TokenRow): number {
  return definition + inputs + results;
}

function sumByServer(rows: readonly (TokenRow & { readonly server: string | null })[]): TokenRow[] {
  const sums = new Map<string | null, TokenRow>();
  const none = { definition: 0, calls: 0, refused: 0, inputs: 0, results: 0 };
  for (const { server, definition, calls, refused, inputs, results } of rows) {
    const sum = sums.get(server) ?? { name: server, ...none, p50Ms: null, p99Ms: null };
    sums.set(server, {
      ...sum,
      definition: sum.definition + definition,
      calls: sum.calls + calls,
      refused: sum.refused + refused,
      inputs: sum.inputs + inputs,
      results: sum.results + results,
    });
  }
  return [...sums.values()];
}

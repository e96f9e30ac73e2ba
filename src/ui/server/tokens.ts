// The token ledger: what definitions, inputs and results cost, per tool, server and client.

import type { AuditRecord } from '../../audit/line.js';
import { compareText } from '../../core/text.js';
import type { TokenLedger, TokenRow } from '../api.js';
import type { SentDefinition } from './parts.js';

export interface Ledger {
  add(record: AuditRecord): void;
  /** Returns the ledger with the definitions that clients get. */
  read(definitions: readonly SentDefinition[]): TokenLedger;
}

// The log has sizes, not texts.
const BYTES_PER_TOKEN = 4;

// A caller gets the beginning of a stored result, and how to read on.
const STORED_BYTES = 1000;

interface Sum {
  server: string | null;
  calls: number;
  inputBytes: number;
  outputBytes: number;
}

export function createLedger(): Ledger {
  const tools = new Map<string, Sum>();
  const clients = new Map<string, Sum>();
  const count = (sums: Map<string, Sum>, name: string, record: AuditRecord): void => {
    const { origin, inputBytes, outputBytes, handle } = record;
    const sum = sums.get(name) ?? { server: serverOf(origin), calls: 0, inputBytes: 0, outputBytes: 0 };
    sum.calls++;
    sum.inputBytes += inputBytes ?? 0;
    sum.outputBytes += handle === null ? outputBytes : Math.min(outputBytes, STORED_BYTES);
    sums.set(name, sum);
  };
  return {
    add(record) {
      count(tools, record.tool, record);
      // Nested calls are part of the outer one, which the client sees.
      if (record.depth === 0) count(clients, record.caller, record);
    },
    read(definitions) {
      const defined = new Map(definitions.map((one) => [one.tool, one]));
      const rows = [...new Set([...defined.keys(), ...tools.keys()])].map((name) => {
        const { tokens = 0, server = tools.get(name)?.server ?? null } = defined.get(name) ?? {};
        return { ...toRow(name, tools.get(name), tokens), server };
      });
      const bySize = (a: TokenRow, b: TokenRow): number =>
        sizeOf(b) - sizeOf(a) || compareText(a.name ?? '', b.name ?? '');
      return {
        tools: rows.sort(bySize),
        servers: sumByServer(rows).sort(bySize),
        clients: [...clients]
          .map(([name, sum]) => toRow(name, sum, 0))
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

function toRow(name: string, sum: Sum | undefined, definition: number): TokenRow {
  const { calls = 0, inputBytes = 0, outputBytes = 0 } = sum ?? {};
  const tokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);
  return { name, definition, calls, inputs: tokens(inputBytes), results: tokens(outputBytes) };
}

function sizeOf({ definition, inputs, results }: TokenRow): number {
  return definition + inputs + results;
}

function sumByServer(rows: readonly (TokenRow & { readonly server: string | null })[]): TokenRow[] {
  const sums = new Map<string | null, TokenRow>();
  for (const { server, definition, calls, inputs, results } of rows) {
    const sum = sums.get(server) ?? { name: server, definition: 0, calls: 0, inputs: 0, results: 0 };
    sums.set(server, {
      name: server,
      definition: sum.definition + definition,
      calls: sum.calls + calls,
      inputs: sum.inputs + inputs,
      results: sum.results + results,
    });
  }
  return [...sums.values()];
}

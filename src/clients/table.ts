// The list of known clients.

import { ToolError } from '../core/error.js';
import { nearest, quoteOutside } from '../core/text.js';
import { amazonQ, claudeCode, claudeDesktop, copilot, gemini, lmStudio, opencode, warp } from './agents.js';
import type { Client } from './client.js';
import { codex } from './codex.js';
import { cline, cursor, kiro, roo, vscode, windsurf, zed } from './editors.js';
import { goose } from './goose.js';

export const CLIENTS: readonly Client[] = [
  claudeCode,
  claudeDesktop,
  cursor,
  vscode,
  codex,
  windsurf,
  gemini,
  zed,
  opencode,
  cline,
  roo,
  copilot,
  kiro,
  amazonQ,
  lmStudio,
  warp,
  goose,
];

/** Finds a client by id. Throws `usage` with a suggestion. */
export function findClient(id: string, hint: string): Client {
  const found = CLIENTS.find((client) => client.id === id);
  if (found !== undefined) return found;
  const [close] = nearest(
    id,
    CLIENTS.map((client) => client.id),
  );
  throw new ToolError('usage', `unknown client "${quoteOutside(id, 40)}"`, {
    hint: close === undefined ? `for a list of clients: ${hint}` : `did you mean ${close}? for a list: ${hint}`,
    data: { clients: CLIENTS.map((client) => client.id) },
  });
}

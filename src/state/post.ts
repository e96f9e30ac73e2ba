// Posts to an address of the settings, with a credential that they refer to.

import { dirname } from 'node:path';
import { ToolError } from '../core/error.js';
import { addSecrets, type KnownSecrets } from '../core/redact.js';
import type { World } from '../core/snapshot.js';
import type { CreateFetch } from '../net/fetch.js';
import { expandCredentials } from '../upstream/entries/expand.js';

/** Limits of requests and programs that send something. */
export const TIMEOUT_MS = 10_000;
export const MAX_BYTES = 64 * 1024;

export interface PostOptions {
  /** The file of the settings, which references are relative to. */
  readonly file: string;
  readonly world: World;
  /** Credentials are added. */
  readonly secrets: KnownSecrets;
  readonly createFetch: CreateFetch;
}

/** Returns the credential that a key of the settings, named `name`, refers to. */
export async function readCredential(
  { name, url, secret }: { readonly name: string; readonly url: string; readonly secret: string },
  { world, file, secrets }: PostOptions,
): Promise<string> {
  const given = { name, url, values: [secret], file };
  const { values, secrets: found } = await expandCredentials(given, { world, workdir: dirname(file) });
  addSecrets(secrets, found);
  return values[0]!;
}

/** Throws unless it is accepted. Another origin is not followed, so that a redirect leads to no address inside. */
export async function post(
  url: string,
  { headers, body, signal }: { headers: Record<string, string>; body: string; signal: AbortSignal },
  { createFetch }: PostOptions,
): Promise<void> {
  const fetch = createFetch({ url, confidential: true, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  await response.body?.cancel();
  if (!response.ok) throw new ToolError('unavailable', `status ${response.status}`);
}

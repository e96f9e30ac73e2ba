// What middleware asks of the call that it is given: the served call, its places, and why it runs (HLP-7).

import { ToolError } from '../core/error.js';
import { ENVELOPE, type Envelope, type HookTrigger, type ServedCall } from '../core/middleware.js';

/** The served call: one object for all entries of a call. Throws `usage` for anything that no middleware was given. */
export function ctxTarget(ctx: object): ServedCall {
  return envelopeOf(ctx, 'ctxTarget').target;
}

/** The directories that tools are looked for in, in order. */
export function ctxPaths(ctx: object): readonly string[] {
  return envelopeOf(ctx, 'ctxPaths').target.paths;
}

/** The directory that the call works in, for middleware and for a tool's own context. */
export function ctxCwd(ctx: { readonly workdir: string }): string {
  return ctx.workdir;
}

/** What the entry runs for: `$next` or `$invoke` for a hook, undefined for one that is none. */
export function ctxHookTrigger(ctx: object): HookTrigger | undefined {
  return envelopeOf(ctx, 'ctxHookTrigger').trigger;
}

/** The name of the next entry that is no hook, which is what a `$next` hook runs around; the tool comes last. */
export function ctxHookTarget(ctx: object): string {
  return envelopeOf(ctx, 'ctxHookTarget').hookTarget;
}

function envelopeOf(ctx: object, what: string): Envelope {
  const envelope = (ctx as { readonly [ENVELOPE]?: Envelope } | undefined)?.[ENVELOPE];
  if (envelope !== undefined) return envelope;
  throw new ToolError('usage', `${what} was asked outside of middleware`, {
    hint: 'give it the call that middleware gets as its first argument',
  });
}

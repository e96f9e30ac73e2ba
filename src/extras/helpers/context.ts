// Accessors for middleware (HLP-7): the served call, its search path, what triggered a hook; and what governs a tool.

import { ToolError } from '../../core/error.js';
import type { Skill } from '../../core/skill.js';
import type { Tool } from '../../core/tool.js';
import type { Toolbox } from '../../core/toolbox.js';
import { ENVELOPE, type Envelope, type HookTrigger, type ServedCall } from '../../runtime/middleware.js';

/** Returns the main skill that governs a tool, or null. For a name, throws what `find` throws. */
export function findAuthority(toolbox: Pick<Toolbox, 'catalog'>, tool: Tool | string): Promise<Skill | null> {
  return toolbox.catalog.authority(tool);
}

/** Returns the served call, the same object for all entries of a call. Throws `usage` outside of middleware. */
export function ctxTarget(ctx: object): ServedCall {
  return envelopeOf(ctx, 'ctxTarget').target;
}

/** Returns the directories of the search path, in order. */
export function ctxPaths(ctx: object): readonly string[] {
  return envelopeOf(ctx, 'ctxPaths').target.paths;
}

/** Returns the working directory of the call; also works with the context of a tool. */
export function ctxCwd(ctx: { readonly workdir: string }): string {
  return ctx.workdir;
}

/** Returns `$next` or `$invoke` for a hook, undefined for other entries. */
export function ctxHookTrigger(ctx: object): HookTrigger | undefined {
  return envelopeOf(ctx, 'ctxHookTrigger').trigger;
}

/** Returns the name of the next entry that is not a hook, which a `$next` hook wraps; the tool comes last. */
export function ctxHookTarget(ctx: object): string {
  return envelopeOf(ctx, 'ctxHookTarget').hookTarget;
}

function envelopeOf(ctx: object, what: string): Envelope {
  const envelope = (ctx as { readonly [ENVELOPE]?: Envelope } | undefined)?.[ENVELOPE];
  if (envelope !== undefined) return envelope;
  throw new ToolError('usage', `${what} was called outside of middleware`, {
    hint: 'pass the first argument of the middleware',
  });
}

// What a running server says about its configuration: on SIGHUP, and when a file changes.

import { isDeepStrictEqual } from 'node:util';
import { quoteOutside } from '../core/text.js';
import type { NodeToolbox } from '../node.js';
import { printWarning } from './print.js';
import type { VerbCall } from './verb.js';

/** Whether calls can run: an invalid configuration denies all of them. */
export function isConfigured({ state }: NodeToolbox): boolean {
  return state.snapshot().policy.fault === undefined;
}

/**
 * Reports a configuration that is or becomes invalid, and valid again. Files are read again whenever they change, so that
 * nothing has to be reloaded: SIGHUP says what is in effect, and `onHangup` reads more. Returns a function that ends
 * the reports.
 */
export function reportReloads(call: VerbCall, toolbox: NodeToolbox, what: string, onHangup?: () => void): () => void {
  const { terminal } = call;
  const read = () => toolbox.state.configuration();
  const warn = (text: string): void => printWarning(terminal, text);
  const { serve: started } = read().settings;
  let fault: string | undefined;
  let isTold = false;
  const compare = (): void => {
    const now = read();
    if (now.fault !== undefined && now.fault !== fault)
      warn(`the configuration is invalid, so every call is denied: ${quoteOutside(now.fault, 500)}`);
    if (now.fault === undefined && fault !== undefined) terminal.err('  the configuration is valid again\n');
    fault = now.fault;
    // What clients are told about logins does not change while the server runs.
    const isOther = !isDeepStrictEqual(now.settings.serve.auth, started.auth);
    if (isOther && !isTold && fault === undefined)
      warn('the identity providers of [serve] changed: restart wield, so that clients learn of them');
    isTold = isOther;
  };
  compare();
  const unwatch = toolbox.catalog.watch(compare);
  call.onHangup(() => {
    onHangup?.();
    compare();
    terminal.err(
      fault === undefined
        ? `  SIGHUP: ${what} current\n`
        : `  SIGHUP: the configuration is invalid, so every call is denied: ${quoteOutside(fault, 500)}\n`,
    );
  });
  return unwatch;
}

// The systems that wield runs on.

import { ToolError } from './error.js';

/** Throws `unavailable` on Windows, before anything half works there (CLI-41). */
export function assertSupported(platform: string): void {
  if (platform !== 'win32') return;
  throw new ToolError('unavailable', 'wield does not run on Windows', {
    hint: 'use it in WSL: run wsl --install, then install Node and wield in its shell',
  });
}

// Types of call-path.mjs, for its gate.

export const STEPS: readonly {
  readonly name: string;
  readonly calls: string;
  readonly from: string;
  readonly errors: readonly string[];
}[];

export function drawCallPath(): string;

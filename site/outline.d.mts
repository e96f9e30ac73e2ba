// Types of outline.mjs, for tests.

export declare const API: string;
export declare function readOutline(): {
  readonly title: string;
  readonly pages: readonly { readonly path: string; readonly title: string }[];
}[];

// Types of users-soak.mjs, for its test.

export interface SoakUser {
  readonly name: string;
  readonly group: string;
  readonly token: string;
}

export interface SoakTally {
  readonly calls: number;
  readonly handles: number;
  readonly tasks: number;
  readonly approvals: number;
  readonly lists: number;
  readonly sessions: number;
  readonly foreign: number;
  readonly faults: readonly string[];
}

export function createUsers(count: number): SoakUser[];
export function writeSetup(options: { dir: string; home: string; users: readonly SoakUser[] }): void;
export function soakUsers(options: {
  url: string;
  users: readonly SoakUser[];
  clients: number;
  seconds: number;
  approve: (id: string) => Promise<unknown>;
}): Promise<SoakTally>;

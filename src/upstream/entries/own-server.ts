// Tells wield's own server among configured ones: as an upstream of itself it would start itself without end.

const PROGRAM = /(?:^|[\\/])wield(?:\.cjs)?$/;

/** Whether a command line is `wield serve`, by its name on the search path or by the file of the binary. */
export function isOwnServer(command: string, args: readonly string[]): boolean {
  const words = [command, ...args];
  const at = words.findIndex((word) => PROGRAM.test(word));
  // What stands before it starts it: `node`, `npx -y`.
  return at !== -1 && at <= 3 && words.slice(at + 1).includes('serve');
}

// Recognizes `wield serve` among configured servers, which would start itself recursively.

const PROGRAM = /(?:^|[\\/])wield(?:\.cjs)?$/;

/** Whether a command line runs `wield serve`, by name or by path. */
export function isOwnServer(command: string, args: readonly string[]): boolean {
  const words = [command, ...args];
  const at = words.findIndex((word) => PROGRAM.test(word));
  // Launchers may come first: `node`, `npx -y`.
  return at !== -1 && at <= 3 && words.slice(at + 1).includes('serve');
}

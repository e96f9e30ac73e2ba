// Loads node:crypto on first use; loading takes longer than listing the tools of a directory.

export function loadCrypto(): typeof import('node:crypto') {
  return process.getBuiltinModule('node:crypto');
}

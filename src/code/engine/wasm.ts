// Limits the memory of a WebAssembly module.

const MEMORY_SECTION = 5;
const PAGE_BYTES = 64 * 1024;

/** Returns the module with a maximum for its one memory, so that it cannot grow beyond it, whatever code asks for it. */
export function withMaximum(wasm: Uint8Array, bytes: number): Uint8Array {
  for (let at = 8; at < wasm.length; ) {
    const { value: size, end: start } = readNumber(wasm, at + 1);
    const rest = start + size;
    if (wasm[at] === MEMORY_SECTION) {
      const [count, flags] = wasm.subarray(start, rest);
      if (count !== 1 || flags !== 0) throw new Error('the module must have one memory without a maximum');
      const maximum = toNumber(Math.ceil(bytes / PAGE_BYTES));
      const section = [1, 1, ...wasm.subarray(start + 2, rest), ...maximum];
      const head = [MEMORY_SECTION, ...toNumber(section.length)];
      return Buffer.concat([wasm.subarray(0, at), Buffer.from([...head, ...section]), wasm.subarray(rest)]);
    }
    at = rest;
  }
  throw new Error('the module has no memory');
}

// Numbers are written in LEB128.
function readNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = start, shift = 0; ; at++, shift += 7) {
    const byte = bytes[at]!;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end: at + 1 };
  }
}

function toNumber(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...toNumber(value >>> 7)];
}

// The part of the binary that shows kept listings: a file of its own, without the runtime.

export { findKept, showKept } from './kept-list.js';
export { observe } from './observe.js';
export { createProcessIo } from './process-io.js';

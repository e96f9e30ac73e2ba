// The formats that files of tools are written in.

export { createScriptFormat } from './script.js';

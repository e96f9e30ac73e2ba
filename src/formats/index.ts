// The formats that files of tools are written in, and what a further one is made of.

export type { Format, Reading } from '../core/format.js';
export type { Place } from '../core/origin.js';
export { createModuleFormat, type ModuleFormatOptions } from './module/index.js';
export { createOpenApiFormat } from './openapi/index.js';
export { createScriptFormat } from './script/index.js';
export { createRootFormat, type RootCommand, type RootFormatOptions, type RootParameter } from './shared/root-file.js';
export { createSkillFormat } from './skill/index.js';
export { createToolsJsonFormat } from './tools-json/index.js';

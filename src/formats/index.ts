// The formats that files of tools are written in.

export { createModuleFormat, type ModuleFormatOptions } from './module/index.js';
export { createOpenApiFormat } from './openapi/index.js';
export { createScriptFormat } from './script/index.js';
export { createSkillFormat } from './skill/index.js';
export { createToolsJsonFormat } from './tools-json/index.js';

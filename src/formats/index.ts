// The formats that files of tools are written in.

export { createModuleFormat, type ModuleFormatOptions } from './module/index.js';
export { createScriptFormat } from './script.js';
export { createSkillFormat } from './skill.js';
export { createToolsJsonFormat } from './tools-json.js';

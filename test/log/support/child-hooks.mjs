// Lets a child process of a test run the TypeScript sources: node --conditions=pawl-source --import <this file> x.ts
import { register } from "node:module";

register("../../support/source-loader.mjs", import.meta.url);

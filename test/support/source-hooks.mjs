// Lets worker threads that tests start run the TypeScript sources, as the tests themselves do.
//
// Vitest transforms what it imports itself, but a worker thread loads its files by Node, and Node 20 knows no
// TypeScript. The sources hold only erasable syntax, so dropping the types is all there is to do; the specifiers end
// in .js and mean the .ts file beside it. Node hands --import on to worker threads (see execArgv in vitest.config.ts);
// the main thread of a test needs none of this and is left alone.
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

if (!isMainThread) register("./source-loader.mjs", import.meta.url);

// Runs the kernels in WebAssembly: node wasm.mjs FILE.wasm
import { readFileSync } from "node:fs";

const decoder = new TextDecoder();
let memory;
const host = {
  write: (start, length) =>
    process.stdout.write(decoder.decode(new Uint8Array(memory.buffer, start, length))),
};
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), { host });
memory = instance.exports.memory;
process.exitCode = instance.exports.run();

// Calls a WebAssembly module, and says where it returns something else: node calls.mjs FILE.wasm < CALLS
// A line of CALLS is a name, the parameters, "=", and the result: u and an integer, d and one of 64 bits, f and the bits of a
// float (or NaN), - for nothing.
import { readFileSync } from "node:fs";

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(process.argv[2])));
const view = new DataView(new ArrayBuffer(4));

const kinds = {
  u: { read: Number, show: (x) => x >>> 0 },
  d: { read: BigInt, show: (x) => BigInt.asUintN(64, x) },
  f: {
    read: (bits) => (bits === "NaN" ? NaN : (view.setUint32(0, Number(bits)), view.getFloat32(0))),
    show: (x) => (Number.isNaN(x) ? "NaN" : (view.setFloat32(0, x), view.getUint32(0))),
  },
  "-": { show: (x) => x ?? "" },
};

for (const line of readFileSync(0, "utf8").trimEnd().split("\n")) {
  const [name, ...words] = line.split(" ");
  const want = words.pop();
  const parameters = words.slice(0, -1).map((word) => kinds[word[0]].read(word.slice(1)));
  const got = want[0] + kinds[want[0]].show(exports[name](...parameters));
  if (got !== want) {
    console.log(`${line}, not ${got}`);
    process.exit(1);
  }
}

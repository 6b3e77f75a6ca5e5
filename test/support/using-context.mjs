// What `await using` becomes for Node.js 20, which does not know it: the helper that the transformer names and does not bring.
const nothing = {};

export function usingContext() {
  const stack = [];
  const add = (name) => (value) => {
    if (value !== null && value !== undefined) stack.push(() => value[name]());
    return value;
  };
  return {
    e: nothing,
    u: add(Symbol.dispose),
    a: add(Symbol.asyncDispose),
    async d() {
      for (const dispose of stack.splice(0).reverse()) {
        try {
          await dispose();
        } catch (error) {
          if (this.e === nothing) this.e = error;
        }
      }
      if (this.e !== nothing) throw this.e;
    },
  };
}

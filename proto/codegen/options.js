/** Reads the plugin's own options; throws for one that it does not know. */
export function parseOptions(rawOptions) {
  const options = {
    only: [],
    message: new Set(),
    opaque: new Set(),
    runtime: "../wire",
  };
  for (const { key, value } of rawOptions) {
    if (value === "")
      throw new Error(`expected a value for the option "${key}", but there is none`);
    switch (key) {
      case "only":
        options.only.push(value.replace(/\.proto$/, "").replace(/\/+$/, ""));
        break;
      case "message":
      case "opaque":
        options[key].add(value.replace(/^\./, ""));
        break;
      case "runtime":
        options.runtime = value.replace(/\/+$/, "");
        break;
      default:
        throw new Error(
          `expected one of the options only, message, opaque, runtime, but got "${key}"`,
        );
    }
  }
  return options;
}

/** Lower-case hexadecimal of the first `byteCount` bytes (default: all of them). */
export function toHex(bytes: Uint8Array, byteCount: number = bytes.length): string {
  let hex = "";
  for (const byte of bytes.subarray(0, byteCount)) hex += byte.toString(16).padStart(2, "0");
  return hex;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Makes a text fit for a protobuf string: half surrogate pairs become U+FFFD (visibly), and what is above the bound is
 * cut at a character and says how much is missing.
 */
export function boundText(text: string, bytesMax: number): string {
  const repaired = text.toWellFormed();
  if (repaired.length * 3 <= bytesMax) {
    return repaired;
  }
  const bytes = encoder.encode(repaired);
  if (bytes.length <= bytesMax) {
    return repaired;
  }
  // Room for the longest mark: "… [1234567890 bytes cut]".
  let end = Math.max(0, bytesMax - 32);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) {
    end--;
  }
  return `${decoder.decode(bytes.subarray(0, end))}… [${bytes.length - end} bytes cut]`;
}

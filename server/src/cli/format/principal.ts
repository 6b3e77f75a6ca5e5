/** A principal as people are shown it: whoever has proved nothing is told from whoever has. */
export function principalName(principal: string): string {
  return principal === "local" ? "local (unauthenticated)" : principal;
}

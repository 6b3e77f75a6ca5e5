// @connectrpc/connect names the DOM type HeadersInit, which Node's own types do not declare.
declare global {
  type HeadersInit = NonNullable<ConstructorParameters<typeof Headers>[0]>;
}

export {};

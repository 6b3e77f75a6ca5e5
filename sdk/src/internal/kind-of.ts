/** What a worker must serve to get a task: its name, unless the task says otherwise. */
export function kindOf({ kind, name }: { readonly kind?: string; readonly name: string }): string {
  return kind ?? name;
}

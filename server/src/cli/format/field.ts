/** What a named value is printed as: text on the line of its name, or lines below it, which already are safe. Of nothing nothing is printed. */
export type FieldValue = string | readonly string[] | undefined;

/** A value under its name. */
export type Field = readonly [name: string, value: FieldValue];

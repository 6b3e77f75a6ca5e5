/**
 * The bytes of a segment: one commit, the events of one turn of the kernel loop. It is a container
 * (`container.ts`) whose numbers and slices are
 *
 * ```
 * 8   first sequence        8   of the first event; the events' sequences follow one another
 * 16  time base, ms         8   kernel time of the commit; events hold their distance to it
 * 24  count                 4   events
 * 28  slice count           4
 *
 * slice: run number 8 · first event number 4 · count 4 · byte length 4 · events
 * event: length as varint · pawl.log.v1.Event
 * ```
 * One hash of the whole covers all events: a digest per event costs ten times more.
 */

/** "PWLS". */
export const SEGMENT_MAGIC: number = 0x50574c53;
/** Before the first release; a kernel reads only the formats it names. */
export const SEGMENT_FORMAT: number = 0;
/** Bytes before the events of a slice. */
export const SEGMENT_SLICE_HEADER_BYTES: number = 20;
/** A turn that would exceed this is split. One larger event may stand alone. */
export const SEGMENT_BYTES_MAX: number = 1024 * 1024;

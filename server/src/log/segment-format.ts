/**
 * The bytes of a segment: one commit, the events of one turn of the kernel loop.
 *
 * ```
 * 0   magic "PWLS"          4
 * 4   format                1   0
 * 5   flags                 1   0, reserved
 * 6   reserved              2   0
 * 8   first sequence        8   of the first event; the events' sequences follow one another
 * 16  time base, ms         8   kernel time of the commit; events hold their distance to it
 * 24  count                 4   events
 * 28  slice count           4
 * 32  previous hash        32   hash of the segment before
 * 64  slices' length        4   bytes
 * 68  crc32                 4   over all other bytes of the header and all slices
 * 72  slices
 * …   own hash             32   SHA-256 over everything before it
 *
 * slice: run number 8 · first event number 4 · count 4 · byte length 4 · events
 * event: length as varint · pawl.log.v1.Event
 * ```
 * Numbers are big-endian. One hash of the whole covers all events: a digest per event costs ten times more.
 */

/** "PWLS". */
export const SEGMENT_MAGIC: number = 0x50574c53;
/** Before the first release; a kernel reads only the formats it names. */
export const SEGMENT_FORMAT: number = 0;
export const SEGMENT_HEADER_BYTES: number = 72;
export const SEGMENT_SLICE_HEADER_BYTES: number = 20;
export const HASH_BYTES: number = 32;
/** Where the crc stands in the header. */
export const SEGMENT_CRC_OFFSET: number = 68;
/** A turn that would exceed this is split. One larger event may stand alone. */
export const SEGMENT_BYTES_MAX: number = 1024 * 1024;

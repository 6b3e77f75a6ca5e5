#!/usr/bin/env node
// A protoc plugin that writes, for chosen messages, straight-line TypeScript encoders and decoders of protobuf's
// wire format: `foo_wire.ts` beside the `foo_pb.ts` of protoc-gen-es. For the paths where reflection costs too
// much; protobuf-es stays the reader and writer of everything else, and the oracle in the tests.
//
// Options (all but `runtime` may be repeated; without `only` and `message` every message of the given files is taken):
//   only=pawl/log/v1          messages of files below this path (or of this package and those below it)
//   message=pawl.v1.StartRun  this message
//                             ... and whatever the chosen messages hold, in whichever file
//   opaque=pawl.v1.Payload    fields of this type become the encoded message's bytes and are not decoded
//   runtime=../wire           where writer.js, reader.js and well-known.js are, as seen from the output folder,
//                             or a package path; default `../wire`
// Messages may hold messages of other folders, so buf needs `strategy: all`.
//
// Refused with a message that says so: maps, groups, proto2 and editions, `jstype = JS_STRING`, and the well-known
// types other than Timestamp and Duration (protobuf-es gives some of them another shape).
import { runNodeJs } from "@bufbuild/protoplugin";
import { plugin } from "./plugin.js";

runNodeJs(plugin);
